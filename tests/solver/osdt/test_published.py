"""OSDT on what its thesis and the BRANCHES paper print, on the tables of their experiments."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import solver
from solver import Limits, Problem
from solver.osdt.engine import BOUNDS

LAM = "0.005"
OURS = ("dominance", "two_steps")
OF_THE_TABLE = ("support", "incremental_accuracy", "accuracy")
"""The bounds of Table 6.2 beside the two that are far ahead."""


def read(data: Path, name: str) -> Problem:
    """A table of codes whose last column is the target."""
    table = pd.read_parquet(data / f"{name}.parquet")
    return Problem.from_codes(table.drop(columns="target"), table["target"])


@pytest.fixture(scope="module")
def compas(shared_data: Path) -> Problem:
    """6,907 people, twelve features: Table 6.1's ProPublica."""
    problem = read(shared_data, "binary/compas-binary")
    assert (problem.n_rows, problem.n_features) == (6907, 12)
    return problem


@pytest.fixture(scope="module")
def best(compas: Problem) -> solver.Solution:
    """What BRANCHES proves."""
    return solver.solve(compas, LAM)


def switched(bound: str) -> dict[str, Any]:
    """An option that takes one bound away; similar support, which is off, is added."""
    return {bound: bound == "similar_support"}


def test_the_optimum_of_figure_6_4(compas: Problem, best: solver.Solution) -> None:
    found = solver.solve(compas, LAM, "osdt")
    assert found.status == best.status == "optimal"
    assert found.objective == found.lower_bound == best.objective
    assert float(found.objective) == 0.350968582597365
    assert (found.splits, found.leaves) == (4, 5)
    by_leaves = Fraction(found.extra["objective_leaves"])
    assert float(by_leaves) == pytest.approx(0.350968582597365 + 0.005, abs=1e-15)
    assert by_leaves == found.loss + Fraction(found.leaves, 200)


def test_no_more_trees_than_table_6_2_prints(compas: Problem) -> None:
    for choice in ({}, dict.fromkeys(OURS, False)):
        extra = solver.solve(compas, LAM, "osdt", **choice).extra
        assert extra["trees_evaluated"] <= 241_306
        assert extra["trees_evaluated_to_optimum"] <= 18_195


@pytest.mark.parametrize("ours", [True, False], ids=["with ours", "without ours"])
@pytest.mark.parametrize("bound", BOUNDS)
def test_any_bound_can_be_spared(
    compas: Problem, best: solver.Solution, bound: str, ours: bool
) -> None:
    options = {**dict.fromkeys(OURS, ours), **switched(bound)}
    found = solver.solve(compas, LAM, "osdt", Limits(nodes=200_000), **options)
    assert found.lower_bound <= best.objective <= found.objective
    if bound in ("hierarchical", "equivalent_points"):
        assert found.status == "node_limit"
    else:
        assert found.status == "optimal"
        assert found.objective == best.objective
        assert found.splits == best.splits


def test_the_bounds_rank_as_in_table_6_2(compas: Problem) -> None:
    """By trees evaluated; the thesis's own bounds alone, as there."""

    def count(**options: bool) -> int:
        given = {**dict.fromkeys(OURS, False), **options}
        found = solver.solve(compas, LAM, "osdt", Limits(nodes=150_000), **given)
        return int(found.extra["trees_evaluated"])

    whole = count()
    others = max(count(**{bound: False}) for bound in OF_THE_TABLE)
    without_lookahead = count(lookahead=False)
    without_equivalent = count(equivalent_points=False)  # ends at the limit, as there
    assert whole <= others < 2.5 * whole  # there at most 2.27
    assert without_lookahead > 30 * whole
    assert without_lookahead > 15 * others
    assert without_equivalent > 5 * without_lookahead


# Table 6.2: trees evaluated, and those to the optimum.
PRINTED = {
    (): (241_306, 18_195),
    ("support",): (278_868, 21_232),
    ("incremental_accuracy",): (548_618, 24_682),
    ("accuracy",): (482_013, 23_075),
}


@pytest.mark.parametrize(
    "off", [off if not off else pytest.param(off, marks=pytest.mark.slow) for off in PRINTED]
)
def test_mode_paper_counts_the_trees_of_table_6_2(
    compas: Problem, best: solver.Solution, off: tuple[str, ...]
) -> None:
    """Within a twentieth: the order of equal trees is not printed, and the thesis's tree cache
    takes trees for equal that chapter 3 calls different."""
    found = solver.solve(compas, LAM, "osdt", mode="paper", **dict.fromkeys(off, False))
    assert found.status == "optimal"
    assert found.objective == best.objective
    counted = found.extra["trees_evaluated"], found.extra["trees_evaluated_to_optimum"]
    assert counted == pytest.approx(PRINTED[off], rel=0.05)
    assert off or counted[0] == 248_099


@pytest.mark.slow
def test_mode_paper_needs_as_many_trees_by_objective_as_by_curiosity(compas: Problem) -> None:
    """The thesis says that curiosity, whose trees the test above counts, is twice as fast."""
    found = solver.solve(compas, LAM, "osdt", mode="paper", policy="objective")
    assert found.extra["trees_evaluated"] == 243_425


def test_mode_paper_without_lookahead_finds_no_end(compas: Problem) -> None:
    """The table prints 283,712,499 trees."""
    found = solver.solve(compas, LAM, "osdt", Limits(nodes=300_000), mode="paper", lookahead=False)
    assert found.status == "node_limit"


PROVEN = [
    "monks-1-l",
    "monks-1-full",
    "monks-1-f",
    "monks-3-full",
    "monks-3-f",
    "mushroom-full",
    "mushroom-f",
    "kr-vs-kp-full",
    "zoo-full",
    "zoo-f",
]
QUICK = {"monks-1-l", "monks-1-full", "zoo-full", "zoo-f"}


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in PROVEN]
)
def test_published_rows_that_it_proves(shared_data: Path, name: str) -> None:
    """The objective published with BRANCHES, and BRANCHES' own to the last unit."""
    with (shared_data / "published-branches.csv").open() as file:
        rows = {f"{row['dataset']}-{row['encoding']}": row for row in csv.DictReader(file)}
    problem, row = read(shared_data, f"encoded/{name}"), rows[name]
    found = solver.solve(problem, row["lambda"], "osdt", Limits(bytes=2 * 2**30))
    other = solver.solve(problem, row["lambda"])
    assert found.status == other.status == "optimal"
    assert found.objective == found.lower_bound == other.objective
    assert found.splits == other.splits
    assert round(float(1 - found.objective), 6) == float(row["h_lambda"])


# Table 2 of the BRANCHES paper, OSDT's column, with λ of Table 5. Of these only monk1-l was proven
# within five minutes there. Its balance is that of `encoded` without the class B: 576 rows, as
# Table 5 has it, and of the same optimum.
TABLE_2 = [
    ("encoded/monks-1-l", "0.01", 0.93),
    ("encoded/monks-1-f", "0.001", 0.97),
    ("encoded/monks-2-l", "0.001", 0.95),
    ("encoded/monks-2-f", "0.001", 0.90),
    ("encoded/monks-3-l", "0.001", 0.979),
    ("encoded/monks-3-f", "0.001", 0.975),
    ("encoded/tic-tac-toe-f", "0.005", 0.765),
    pytest.param("encoded/mushroom-f", "0.01", 0.945, marks=pytest.mark.slow),
    pytest.param("encoded/mushroom-full", "0.01", 0.945, marks=pytest.mark.slow),
    ("encoded/kr-vs-kp-full", "0.01", 0.900),
    ("encoded/balance-scale-f", "0.01", 0.693),
]


def two_classes(data: Path) -> Problem:
    """Balance without the class B, the first one."""
    table = pd.read_parquet(data / "encoded" / "balance-scale-f.parquet")
    table = table[table["target"] > 0]
    assert len(table) == 576
    return Problem.from_codes(table.drop(columns="target"), table["target"] - 1)


@pytest.mark.parametrize("name, lam, printed", TABLE_2)
def test_it_reaches_what_osdt_reached_in_table_2(
    shared_data: Path, name: str, lam: str, printed: float
) -> None:
    """Within ten thousand trees, which is about a second."""
    problem = two_classes(shared_data) if "balance" in name else read(shared_data, name)
    found = solver.solve(problem, lam, "osdt", Limits(nodes=10_000))
    assert 1 - found.objective >= Fraction(str(printed))
    best = solver.solve(problem, lam)
    assert best.status == "optimal"
    assert found.lower_bound <= best.objective <= found.objective
    if name == "encoded/monks-1-l":
        assert found.status == "optimal"
