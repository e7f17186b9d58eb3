"""The oracle of a million problems against slower ones, and that no wrong answer gets past it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from solver import Solution
from tests import naive, naive_geometry
from tests.solver.million import modes
from tests.solver.million.__main__ import Counts, ask, ask_all
from tests.solver.million.modes import MODES, Run, proves
from tests.solver.million.oracle import Oracle
from tests.solver.million.random_problems import Question, Table, draw, draw_table


def counts_of(table: Table) -> list[list[int]]:
    """The weight of each class, by row."""
    return [
        [table.row_weights[row] if table.target[row] == k else 0 for k in range(table.n_classes)]
        for row in table.rows
    ]


def rows_of(table: Table) -> list[tuple[int, ...]]:
    """The codes of each row."""
    return [tuple(column[row] for column in table.columns) for row in table.rows]


def questions(shape: str, number: int) -> list[Question]:
    found = []
    for seed in range(number):
        chance = Random(seed)
        found.append(draw(seed, draw_table(shape, chance, harder=False), chance))
    return found


@pytest.mark.parametrize("shape", ["binary", "multiway"])
def test_the_oracle_of_codes_agrees_with_the_naive_one(shape: str) -> None:
    for asked in questions(shape, 100):
        table = asked.table
        every = naive.least_errors(
            rows_of(table), counts_of(table), table.arities,
            depth=asked.depth, splits=asked.splits, min_leaf_size=asked.min_leaf,
        )  # fmt: skip
        weight = sum(table.row_weights)
        assert asked.oracle.path(asked.lam, asked.splits) == [
            (step.lam, step.errors, step.splits) for step in naive.path(every, weight, asked.lam)
        ]
        best = asked.oracle.optimum(asked.lam, asked.splits)
        assert best == min((Fraction(e, weight) + asked.lam * s, s) for s, e in every.items())


def test_the_oracle_of_numbers_agrees_with_the_naive_one() -> None:
    for asked in questions("numbers", 60):
        table, depth = asked.table, min(asked.depth or 2, 2)
        error, split = asked.lam.denominator, asked.lam.numerator * sum(table.row_weights)
        least = naive.least_numeric_cost(
            rows_of(table), [table.target[row] for row in table.rows],
            [table.row_weights[row] for row in table.rows], depth, error, split,
            max(asked.min_leaf or 0, 1),
        )  # fmt: skip
        found = table.oracle(depth, asked.min_leaf).optimum(asked.lam)[0]
        assert found * error * sum(table.row_weights) == least


def test_the_oracle_of_targets_agrees_with_the_naive_one() -> None:
    for asked in questions("targets", 30):
        table, depth = asked.table, min(asked.depth or 2, 2)
        cost, splits = naive.least_squares_cost(
            rows_of(table), [table.target[row] for row in table.rows],
            [table.row_weights[row] for row in table.rows], depth,
            asked.lam * sum(table.row_weights), max(asked.min_leaf or 0, 1),
        )  # fmt: skip
        found = table.oracle(depth, asked.min_leaf).least_squares(float(asked.lam))
        assert found[0] == pytest.approx(float(cost / sum(table.row_weights)), rel=1e-12, abs=1e-9)
        assert found[1] == splits


@pytest.mark.parametrize("shape", ["points", "curve"])
def test_the_oracle_of_points_agrees_with_the_naive_one(shape: str) -> None:
    for asked in questions(shape, 40):
        table = asked.table
        family = "hyperplane" if shape == "points" else "polynomial"
        best = naive_geometry.best_cost(
            rows_of(table), counts_of(table), asked.lam * sum(table.row_weights),
            asked.splits or 0, asked.depth, asked.min_leaf or 1, family, table.degree,
        )  # fmt: skip
        cost, splits = asked.oracle.optimum(asked.lam, asked.splits)
        assert (cost * sum(table.row_weights), splits) == (best.cost, best.splits)


def test_first_trees_are_those_of_exclusive_or() -> None:
    ways = [[0b0011, 0b1100], [0b0101, 0b1010]]
    oracle = Oracle(ways, [1, 1, 1, 1], [0, 1, 1, 0])
    assert oracle.first_tree(Fraction(1, 10)) == [0, 1, -1, -1, 1, -1, -1]
    assert oracle.first_tree(Fraction(1, 6)) == [-1]
    assert oracle.path(Fraction(0)) == [(Fraction(0), 0, 3), (Fraction(1, 6), 2, 0)]


def test_nothing_is_wrong_with_hundreds() -> None:
    counts = Counts()
    for outcome in ask_all(range(40)):
        assert not outcome.wrong, outcome
        counts.add(outcome)
    assert sum(counts.problems.values()) == 200
    assert sum(counts.with_splits.values()) > 50
    assert "all" in str(counts)


def test_all_shares_are_a_thousandth_of_something() -> None:
    assert sum(mode.share for mode in MODES) == 1000
    assert len({mode.name for mode in MODES}) == len(MODES)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_every_mode_solves(mode: modes.Mode) -> None:
    outcomes = [*ask(0, (mode,)), *ask(1, (mode,))]
    assert not any(outcome.wrong for outcome in outcomes), outcomes
    assert all(outcome.solves for outcome in outcomes)


def better(found: Solution) -> Solution:
    return replace(found, objective=found.objective - Fraction(1, 10**9))


def low_bound(found: Solution) -> Solution:
    assert found.lower_bound is not None
    return replace(found, lower_bound=found.lower_bound - Fraction(1, 10**9))


def high_bound(found: Solution) -> Solution:
    assert found.lower_bound is not None
    return replace(found, lower_bound=found.lower_bound + Fraction(1, 10**9))


def not_proven(found: Solution) -> Solution:
    return replace(found, status="node_limit")  # type: ignore[arg-type]


def other_label(found: Solution) -> Solution:
    """A leaf with rows predicts another class."""
    tree = found.tree
    at = next(i for i, node in enumerate(tree.nodes) if node.is_leaf and any(node.counts))
    other = next(k for k in range(9) if k != tree.nodes[at].prediction)
    nodes = [*tree.nodes]
    nodes[at] = replace(nodes[at], prediction=other)
    return replace(found, tree=replace(tree, nodes=tuple(nodes)))


@pytest.mark.parametrize("change", [better, low_bound, high_bound, not_proven, other_label])
@pytest.mark.parametrize("solver", ["branches", "osdt"])
def test_a_wrong_answer_is_noticed(
    monkeypatch: pytest.MonkeyPatch, solver: str, change: Any
) -> None:
    asked = next(q for q in questions("binary", 100) if q.best[1] > 1)
    proves(Run(asked, Random(3), solver, {}))
    true = Run.solve
    monkeypatch.setattr(Run, "solve", lambda *given, **more: change(true(*given, **more)))
    with pytest.raises(AssertionError):
        proves(Run(asked, Random(3), solver, {}))


@pytest.mark.parametrize("off", [-1, 1])
def test_a_wrong_oracle_is_noticed(monkeypatch: pytest.MonkeyPatch, off: int) -> None:
    """Wherever splits pay: one error less, or more."""
    true = Oracle.within
    monkeypatch.setattr(Oracle, "within", lambda *given: [max(e + off, 0) for e in true(*given)])
    plain = tuple(mode for mode in MODES if mode.name in ("branches", "branches, λ-path"))
    wrong = [outcome for outcome in ask_all(range(12), plain) if outcome.wrong]
    assert len(wrong) > 30
    assert all("optimum" in outcome.wrong or "path" in outcome.wrong for outcome in wrong)


def test_a_bound_that_is_too_high_is_noticed_at_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    limited = tuple(mode for mode in MODES if mode.name == "branches, limits")
    assert not any(outcome.wrong for outcome in ask_all(range(10), limited))
    true = Run.solve

    def solve(*given: Any, **more: Any) -> Solution:
        found = true(*given, **more)
        return replace(found, lower_bound=found.objective)

    monkeypatch.setattr(Run, "solve", solve)
    wrong = [outcome for outcome in ask_all(range(10), limited) if outcome.wrong]
    assert any("above the optimum" in outcome.wrong for outcome in wrong)
