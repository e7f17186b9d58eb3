"""Good trees under a limit on splits, against the enumeration of all trees."""

from __future__ import annotations

import random
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

from solver import InputError, Limits, Problem, solve
from solver.rashomon.build_graph import LimitError
from solver.rashomon.find_set import rashomon_set
from tests import naive
from tests.solver.rashomon.test_multiplicity import check_predictions
from tests.solver.rashomon.test_rashomon_set import (
    as_problem,
    check,
    make_larger_table,
    make_table,
)


@pytest.mark.parametrize("seed", range(60))
def test_equals_the_enumeration_of_all_trees(seed: int) -> None:
    table, chance = make_table(seed), random.Random(seed)
    limits = Limits(splits=seed % 5, depth=chance.choice((None, None, 3)))
    lam = Fraction(chance.choice(("0", "0.01", "0.02", "0.05")))
    within = Fraction(chance.choice(("0", "0.1", "0.5")))
    found = check(table, lam, within, chance.choice(("relative", "objective")), limits)
    check_predictions(table, found, limits)
    assert max(cell.splits for cell in found.histogram) <= seed % 5


@pytest.mark.parametrize("seed", range(24))
def test_counts_of_larger_tables(seed: int) -> None:
    table, chance = make_larger_table(seed), random.Random(seed)
    codes, target, weights, arities, n_classes = table
    lam, most = Fraction(chance.choice(("0", "0.002", "0.01"))), chance.choice((2, 3, 4))
    limits = Limits(splits=most, min_leaf_size=chance.choice((None, 2)))
    found = rashomon_set(as_problem(table), lam, "0.1", limits=limits)
    counts = [
        [w if k == y else 0 for k in range(n_classes)] for y, w in zip(target, weights, strict=True)
    ]
    total = sum(weights)
    expected = naive.count_within(
        codes, counts, arities, lam * total, found.most * total,
        depth=most, min_leaf_size=int(limits.min_leaf_size or 1),
    )  # fmt: skip
    few = {(e, s): trees for (e, s), trees in expected.items() if s <= most}
    assert {(c.errors, c.splits): c.trees for c in found.histogram} == few
    assert min(e + lam * total * s for e, s in few) == found.optimum * total


@pytest.mark.parametrize("seed", range(40))
def test_a_set_holds_those_of_larger_lambdas(seed: int) -> None:
    problem, limits = as_problem(make_larger_table(seed)), Limits(splits=2 + seed % 3)
    found, answered = rashomon_set(problem, "0.01", "0.5", limits=limits), 0
    for lam in ("0.01", "0.011", "0.015", "0.03", "0.2"):
        with suppress(InputError):  # not all of them were counted
            good = found.at(lam)
            again = rashomon_set(problem, lam, "0.5", limits=limits)
            assert (good.optimum, {*good.histogram}) == (again.optimum, {*again.histogram})
            answered += 1
    assert answered >= 1


def parity() -> Problem:
    """Labels that only a tree of seven splits can tell, and noise."""
    chance = np.random.default_rng(5)
    codes = chance.integers(0, 2, (120, 9))
    return Problem.from_codes(codes, codes[:, :3].sum(axis=1) % 2)


def test_a_limit_that_no_good_tree_exceeds_changes_nothing() -> None:
    problem = parity()
    free = rashomon_set(problem, "0.01", "0.2")
    assert free.histogram[0].splits == 7
    assert rashomon_set(problem, "0.01", "0.2", limits=Limits(splits=100)).histogram == (
        free.histogram
    )


@pytest.mark.parametrize("most", range(7))
def test_an_optimum_that_is_given_is_that_of_the_limit(most: int) -> None:
    problem, limits = parity(), Limits(splits=most)
    best = solve(problem, "0.005", limits=limits)
    assert best.splits <= most
    found = rashomon_set(problem, "0.005", "0.05", limits=limits, optimum=best)
    assert found.optimum == best.objective
    assert found.histogram == rashomon_set(problem, "0.005", "0.05", limits=limits).histogram
    assert all(tree.splits <= most for tree in found.trees())


def test_a_limit_of_nodes_leaves_a_smaller_tolerance() -> None:
    problem, answers = parity(), set()
    for nodes in (300, 1000, 3000, 10_000, 10**6):
        limits = Limits(splits=5, nodes=nodes)
        try:
            found = rashomon_set(problem, "0.002", "0.2", limits=limits, anytime=True)
        except LimitError:  # before the optimum was proven
            continue
        smaller = rashomon_set(problem, "0.002", found.within, limits=Limits(splits=5))
        assert found.histogram == smaller.histogram
        assert found.complete == (found.within == Fraction("0.2"))
        answers.add(found.within)
    assert Fraction("0.2") in answers
