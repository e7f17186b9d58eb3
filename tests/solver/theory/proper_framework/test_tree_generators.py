"""The generators agree with each other: the theorems of section 4 as properties."""

from collections import Counter
from math import comb, factorial

from hypothesis import given, settings
from hypothesis import strategies as st

from solver.proper.paper.ancestry import ancestry, splits
from solver.proper.paper.rules import Axis, Plane, Rule, gen_rules
from solver.proper.paper.tree_recursion import Node
from solver.theory.proper_framework.optimum import min_e
from solver.theory.proper_framework.tree_generators import (
    enough_in_leaves,
    gen_bts,
    gen_dtfs,
    gen_dtks,
    gen_dtks_by_permutations,
    gen_dts,
    gen_dts_by_accumulation,
    gen_dtts,
    kcombs,
    kperms,
    thin,
)
from solver.theory.proper_framework.trees import depth, map_d
from tests.helpers.point_samples import Sample, cut, samples

several = settings(deadline=None, max_examples=50)


@several
@given(samples())
def test_theorem_4_10_the_accumulation_is_fused_in(sample):
    trees = gen_dts(sample.rules, sample.everything)
    assert trees == gen_dts_by_accumulation(sample.rules, sample.everything)
    assert [map_d(lambda _: None, tree) for tree in trees] == gen_bts(sample.rules, ancestry)


@several
@given(samples(most=5), st.integers(0, 3))
def test_theorem_4_2_trees_by_combinations_are_the_valid_permutations(sample, k):
    parts = k, sample.rules, sample.everything
    by_permutations = Counter(gen_dtks_by_permutations(*parts))
    assert Counter(gen_dtks(*parts)) == by_permutations
    assert max(by_permutations.values(), default=1) == 1


@several
@given(samples())
def test_lemma_4_14_at_most_k_factorial_trees(sample):
    assert len(gen_bts(sample.rules, ancestry)) <= factorial(len(sample.rules))


def test_lemma_4_14_chains_reach_it():
    """Five rules, each through the one point that all others have on their positive side."""
    rules = [Rule(Plane(), 1 << i, 0b11111 ^ 1 << i, 1 << i) for i in range(5)]
    trees = gen_dts(rules, 0b11111)
    assert len(trees) == factorial(5)  # and so Lemma 3.7 holds with ≤ only
    assert {depth(tree) for tree in trees} == {5}


def test_cuts_of_a_line_are_search_trees():
    """A root leaves the lower cuts to one side: Catalan many, of which chains are 2^(K − 1)."""
    trees = gen_dts([cut(i, 5) for i in range(4)], 0b11111)
    assert len(trees) == comb(8, 4) // 5
    assert sum(depth(tree) == 4 for tree in trees) == 2**3


def test_combinations_and_permutations():
    assert len([*kcombs(3, range(6))]) == comb(6, 3)
    assert len(set(kperms(3, range(6)))) == factorial(3) * comb(6, 3)


@several
@given(samples(), st.integers(0, 3), st.integers(0, 3))
def test_filters_are_fused_in(sample, n_min, most):
    """Equation 24 for the size of leaves and for depth (section 4.8.1)."""
    enough = enough_in_leaves(n_min)
    all_trees = gen_dts(sample.rules, sample.everything)
    for keep in (enough, lambda tree: depth(tree) <= most):
        fused = gen_dtfs(sample.rules, sample.everything, keep)
        assert fused == [tree for tree in all_trees if keep(tree)]


@several
@given(samples(), st.integers(0, 2))
def test_thinning_is_fused_in(sample, price):
    """Equation 25: the best tree of every depth remains."""
    objective = sample.objective(price)

    def better(a, b):
        return objective(a) <= objective(b) and depth(a) <= depth(b)

    all_trees = gen_dts(sample.rules, sample.everything)
    thinned = gen_dtts(sample.rules, sample.everything, better)
    front = {(objective(tree), depth(tree)) for tree in thin(better, all_trees)}
    assert {(objective(tree), depth(tree)) for tree in thinned} == front
    assert len(thinned) == len(front)
    if all_trees:
        best = min_e(objective, all_trees)
        assert min(map(objective, thinned)) == objective(best)


def test_thinning_keeps_what_cannot_be_compared():
    numbers = [(3, 1), (1, 3), (2, 2), (3, 3), (1, 3)]
    kept = thin(lambda a, b: a[0] <= b[0] and a[1] <= b[1], numbers)
    assert kept == [(3, 1), (1, 3), (2, 2)]


def test_thinning_on_all_data_loses_the_best_tree():
    """Equation 26 as it is printed, where subtrees see the data of their side too late."""

    def as_printed(rules, xs):
        if len(rules) < 2:
            return thin(better, gen_dts(rules, xs))
        return thin(
            better,
            [
                Node(map_d(root.positive.__and__, u), root, map_d(root.negative.__and__, v))
                for left, root, right in splits(rules, ancestry)
                for u in as_printed(left, xs)
                for v in as_printed(right, xs)
            ],
        )

    def better(a, b):
        return sample.objective()(a) <= sample.objective()(b)

    points = [(1, 2), (0, 3), (0, 2), (3, 2), (1, 3)]
    rules = [
        Rule(Axis(0), 0b00010, 0b00110, 0b11001),
        Rule(Axis(0), 0b10000, 0b01000, 0b10111),
        Rule(Axis(1), 0b00100, 0b10010, 0b01101),
    ]
    assert set(rules) <= set(gen_rules(points, "axis"))
    sample = Sample(points, rules, [(1, 0), (0, 1), (1, 0), (0, 1), (0, 1)])
    printed, handed_on = as_printed(rules, 0b11111), gen_dtts(rules, 0b11111, better)
    assert [sample.objective()(tree) for tree in handed_on] == [0]
    assert min(map(sample.objective(), printed)) == 1
