"""Tests of solver/rashomon/stored_graph.py."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import islice

import pytest

import solver
from solver.errors import ClaimError, InputError
from solver.rashomon.find_set import rashomon_set
from solver.rashomon.question import Question
from solver.rashomon.rashomon_set import RashomonSet
from solver.rashomon.stored_graph import StoredGraph
from tests.solver.rashomon.test_rashomon_set import LIMITS, as_problem, make_table


def again(found: RashomonSet, most_splits: int | None) -> RashomonSet:
    question = Question(found.lam, found.within, found.unit)
    return RashomonSet.of_graph(
        found.problem, question, found.optimum, found.graph, 1.5, most_splits
    )


@pytest.mark.parametrize("seed", range(40))
def test_a_set_is_the_same_after_it_was_stored(seed: int) -> None:
    chance = random.Random(seed)
    lam = Fraction(chance.choice(("0.02", "0.05", "1/7")))
    problem = as_problem(make_table(seed))
    limits = LIMITS[seed % len(LIMITS)]
    found = rashomon_set(problem, lam, "0.3", limits=limits)
    read = again(found, limits.splits)
    assert read.histogram == found.histogram
    assert read.to_dict() == {**found.to_dict(), "seconds": 1.5}
    assert read.sample(5, seed=3) == found.sample(5, seed=3)
    assert [*islice(read.trees(), 50)] == [*islice(found.trees(), 50)]
    for old, new in zip(found.graph, again(read, limits.splits).graph, strict=True):
        assert old.tolist() == new.tolist()


def test_a_wrong_optimum_is_found_out() -> None:
    problem = as_problem(make_table(3))
    best = solver.solve(problem, "0.02")
    assert rashomon_set(problem, "0.02", "0.3", optimum=best).optimum == best.objective
    for wrong in (best.objective * Fraction(9, 10), best.objective * Fraction(11, 10)):
        with pytest.raises(ClaimError, match="two searches disagree"):
            rashomon_set(problem, "0.02", "0.3", optimum=replace(best, objective=wrong))


@pytest.mark.parametrize("field", StoredGraph._fields)
def test_a_graph_that_is_none_of_the_problem_is_refused(field: str) -> None:
    found = rashomon_set(as_problem(make_table(5)), "0.02", "0.3")
    question, stored = Question(found.lam, found.within, found.unit), found.graph
    values = getattr(stored, field)
    refused = 0
    for at in range(len(values)):
        for value in {-2, -1, 0, 1, 2, 99} - {int(values[at])}:
            changed = values.copy()
            changed[at] = value
            graph = stored._replace(**{field: changed})
            try:
                other = RashomonSet.of_graph(found.problem, question, found.optimum, graph, 0.0)
            except (InputError, ClaimError):
                refused += 1
            else:  # a feature that divides the rows alike
                assert field == "feature"
                assert other.n_trees > 0
    assert refused > 2 * len(values)
    with pytest.raises(InputError, match="no graph of good trees"):
        empty = StoredGraph(*(values[:0] for values in stored))
        RashomonSet.of_graph(found.problem, question, found.optimum, empty, 0.0)
