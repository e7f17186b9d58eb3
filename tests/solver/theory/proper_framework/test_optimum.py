"""sodt and odt_K find what the generators contain at best."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from solver.proper.paper import tree_recursion
from solver.proper.paper.rules import gen_rules
from solver.proper.paper.tree_recursion import Memo, Objective
from solver.theory.proper_framework.optimum import (
    additive,
    broken_monotonicity,
    min_e,
    odt_k,
    proper_space,
    sodt,
    sodt_with_memo,
)
from solver.theory.proper_framework.tree_generators import gen_dtks, gen_dts
from tests.helpers.point_samples import point_sets, samples
from tests.naive_geometry import best_cost

several = settings(deadline=None, max_examples=50)


@several
@given(samples(), st.integers(0, 2))
def test_theorem_4_13_sodt_is_the_least_of_all_trees(sample, price):
    objective = sample.objective(price)
    trees = gen_dts(sample.rules, sample.everything)
    found = sodt(sample.rules, sample.everything, objective)
    assert (found is None) == (not trees)
    if found is not None:
        assert found in trees
        assert objective(found) == objective(min_e(objective, trees))


@several
@given(samples())
def test_sodt_holds_for_other_objectives_of_the_form(sample):
    """The worst leaf, and one that prices the left more."""
    for g in (lambda _, a, b: max(a, b), lambda _, a, b: 2 * a + b):
        objective = Objective(sample.errors, g)
        assert broken_monotonicity(objective, sample.rules, range(5)) is None
        trees = gen_dts(sample.rules, sample.everything)
        found = sodt(sample.rules, sample.everything, objective)
        least = min(map(objective, trees), default=None)
        assert (None if found is None else objective(found)) == least


@several
@given(samples(most=6), st.integers(0, 3))
def test_theorem_4_3_the_best_of_k_rules(sample, k):
    objective = sample.objective()
    found = odt_k(k, sample.rules, sample.everything, objective)
    costs = [objective(tree) for tree in gen_dtks(k, sample.rules, sample.everything)]
    assert (None if found is None else objective(found)) == min(costs, default=None)


@several
@given(samples())
def test_a_memo_changes_no_answer(sample):
    objective, memo = sample.objective(1), Memo()
    for _ in range(2):
        found = sodt_with_memo(sample.rules, sample.everything, objective, memo)
        assert found == sodt(sample.rules, sample.everything, objective)
    assert 0 < memo.hits < memo.lookups
    assert memo.lookups - memo.hits == len(memo.answers)


@several
@given(samples())
def test_the_general_recursion_with_these_splits_is_sodt(sample):
    space, state = proper_space(), (tuple(sample.rules), sample.everything)
    found = tree_recursion.best(space, sample.objective(), state)
    expected = sodt(sample.rules, sample.everything, sample.objective())
    assert (None if found is None else found.tree) == expected
    assert [*tree_recursion.trees(space, state)] == gen_dts(sample.rules, sample.everything)
    assert tree_recursion.count(space, state) == len(gen_dts(sample.rules, sample.everything))


@settings(deadline=None, max_examples=30)
@given(point_sets(most=5, dimensions=2), st.data())
def test_odt_k_over_the_rules_of_points_is_the_optimum(points, data):
    """The whole of Theorem 1.1, against the naive recursion over dichotomies."""
    kinds = data.draw(st.sampled_from(["axis", "hyperplane"]))
    pairs = st.tuples(st.integers(0, 2), st.integers(0, 2))
    counts = data.draw(st.lists(pairs, min_size=len(points), max_size=len(points)))
    rules, everything = gen_rules(points, kinds), (1 << len(points)) - 1

    def errors(xs):
        chosen = [counts[i] for i in range(len(points)) if xs >> i & 1]
        return min(map(sum, zip(*chosen, strict=True)), default=0)

    objective = additive(errors, Fraction(1, 10))
    found = (odt_k(k, rules, everything, objective) for k in range(3))
    least = min(objective(tree) for tree in found if tree is not None)
    assert least == best_cost(points, counts, Fraction(1, 10), 2, min_leaf=0, family=kinds).cost


def test_monotonicity_is_checked():
    assert broken_monotonicity(additive(int, 1), [0], [0, 1, 5]) is None
    less = Objective(int, lambda _, a, b: (a + b) / 2)
    assert broken_monotonicity(less, [0], [0, 4]) == (0, 0, 4)
    assert broken_monotonicity(Objective(int, lambda _, a, b: a + b - 1), [0], [0]) == (0, 0, 0)
    turns = Objective(int, lambda _, a, b: 10 - b if a == 0 else 20)
    assert broken_monotonicity(turns, [0], [0, 1]) is not None
