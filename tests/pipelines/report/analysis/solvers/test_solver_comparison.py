"""Solvers compared on equal problems, against plain loops over the rows."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import pandas as pd
import pytest

from pipelines.report.analysis.solvers.solver_comparison import (
    SHIFT,
    compare_outcomes,
    shifted_mean,
)
from pipelines.report.data.results import label_results
from pipelines.report.write import gather, write_report_data
from solver.trees.tree import Node, Tree
from tests.helpers.report_rows import as_frame, path_row, run_row

LIMIT = 60.0

NUMBERS_TREE = Tree(
    (Node((2,), 0, value=(1.0,), squared_error=Fraction(800)),), {}, (), outputs=("y",)
).to_json()
"""Without a split; the variance of the target is 400."""


def row(
    solver: str, problem: int, status: str, objective: float, seconds: float, claim: Any = None
) -> dict[str, Any]:
    return {
        "key": f"{solver}/{problem}", "dataset": f"d{problem}", "encoding": "onehot",
        "encoding_label": "onehot", "lam_text": "0.1", "lower_bound": None, "test_accuracy": None,
        "problem": problem, "data_hash": "", "encoding_options": "{}", "validation": "null",
        "repeat": None, "fold": None, "depth": 1, "solver_options": "{}", "lam_exact": "1/10",
        "solver": solver,
        "solver_label": solver, "status": status, "objective": objective, "seconds": seconds,
        "ok": not math.isnan(objective),
        "objective_exact": None if math.isnan(objective) else str(Fraction(str(objective))),
        "splits": 1, "path": None, "task": "classification", "tolerance": None,
        "limits": json.dumps({"seconds": LIMIT}), "exact": False,
        "extra": json.dumps({"claim": claim}) if claim else None,
    }  # fmt: skip


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame([*rows])


def test_every_end_of_a_search_has_its_column() -> None:
    optimal = {"status": "optimal", "own_seconds": 0.5}
    rows = table(
        row("branches", 0, "optimal", 0.2, 1.0),
        row("gosdt", 0, "heuristic", 0.2, 3.0, optimal),
        row("streed", 0, "heuristic", 0.3, 3.0, optimal),
        row("dl85", 0, "heuristic", 0.2, 3.0, {"status": "time_limit", "lower_bound": 0.1}),
        row("contree", 0, "heuristic", 0.2, 3.0, {"status": "time_limit", "lower_bound": 0.25}),
        row("flowoct", 0, "killed", math.nan, 5.0),
        row("cart", 0, "heuristic", 0.4, 0.1),
    )  # fmt: skip
    found = compare_outcomes(rows).table.set_index("solver")
    ends = {
        "branches": "proven", "gosdt": "claimed", "streed": "refuted", "dl85": "open",
        "contree": "refuted", "flowoct": "failed", "cart": "no_proof",
    }  # fmt: skip
    for solver, end in ends.items():
        counts = found.loc[solver, ["proven", "claimed", "refuted", "open", "no_proof", "failed"]]
        assert counts[counts > 0].to_dict() == {end: 1}, solver
    # Only these two ever solve anything; gosdt's own time counts.
    assert found.loc["gosdt", "seconds"] == pytest.approx(0.5)
    assert found.loc["branches", "above_best"] == pytest.approx(2.0)
    assert found["common"].to_dict() == {s: int(s in ("branches", "gosdt")) for s in ends}
    assert found["fastest"].sum() == found.loc["gosdt", "fastest"] == 1


def test_a_better_tree_of_another_lambda_refutes_a_claim() -> None:
    claims = row("gosdt", 0, "heuristic", 0.2, 3.0, {"status": "optimal"})
    other = row("branches", 0, "optimal", 0.35, 1.0) | {"lam_exact": "3/10"}
    # Of one split each: at λ = 1/10 the other tree has the objective 0.15.
    found = compare_outcomes(table(claims, other)).table.set_index("solver")
    assert found.loc["gosdt", "refuted"] == 1
    far = other | {"objective_exact": "2/5"}
    assert compare_outcomes(table(claims, far)).table.set_index("solver")["claimed"]["gosdt"] == 1
    elsewhere = other | {"problem": 1}
    found = compare_outcomes(table(claims, elsewhere)).table.set_index("solver")
    assert found.loc["gosdt", "claimed"] == 1


def test_a_better_tree_of_a_path_refutes_a_claim() -> None:
    single = run_row(lam="0.2")
    claim = json.dumps({"claim": {"status": "optimal"}})
    theirs = single | {
        "key": "other", "solver": "gosdt", "lam": 0.01, "lam_exact": "1/100", "lam_label": "0.01",
        "objective_exact": str(Fraction(single["errors"], single["total_weight"])
                               + Fraction(single["splits"], 100)),
        "status": "heuristic", "lower_bound": None, "lower_bound_exact": None, "extra": claim,
    }  # fmt: skip
    rows = label_results(as_frame([path_row(lam="0.01"), theirs]), None).rows
    outcomes = compare_outcomes(rows).table.set_index("solver")
    assert outcomes.loc["gosdt", "refuted"] == 1


def random_rows(seed: int) -> pd.DataFrame:
    rng = random.Random(seed)
    rows = []
    for problem in range(12):
        for solver in ("branches", "osdt", "quantbnb"):
            if rng.random() < 0.85:
                status = rng.choice(["optimal", "optimal", "time_limit", "error"])
                objective = math.nan if status == "error" else 0.2
                seconds = rng.choice([0.01, 0.5, 2.0, 30.0])
                rows.append(row(solver, problem, status, objective, seconds))
    return table(*rows)


@pytest.mark.parametrize("seed", range(30))
def test_duels_and_means_are_those_of_plain_loops(seed: int) -> None:
    rows = random_rows(seed)
    outcomes = compare_outcomes(rows)
    runs = {(r["solver"], r["problem"]): r for r in rows.to_dict("records")}
    solvers = list(dict.fromkeys(rows["solver"]))

    def solved(solver: str, problem: int) -> bool:
        return runs[solver, problem]["status"] == "optimal"

    def seconds(solver: str, problem: int) -> float:
        run = runs[solver, problem]
        return float(run["seconds"]) if solved(solver, problem) else max(LIMIT, run["seconds"])

    common = [p for p in range(12) if all((s, p) in runs for s in solvers)]
    found = outcomes.table.set_index("solver")
    for solver in solvers:
        product = math.prod(seconds(solver, p) + SHIFT for p in common)
        expected = product ** (1 / len(common)) - SHIFT
        assert found.loc[solver, "seconds"] == pytest.approx(expected)
        fastest = [
            p for p in common
            if solved(solver, p)
            and all(seconds(solver, p) <= seconds(s, p) for s in solvers if solved(s, p))
        ]  # fmt: skip
        assert found.loc[solver, "fastest"] == len(fastest)
    duels = {(d.first, d.second): d for d in outcomes.duels}
    for a, b in combinations(solvers, 2):
        both = [p for p in range(12) if (a, p) in runs and (b, p) in runs]
        won = [
            sum(solved(x, p) and (not solved(y, p) or seconds(x, p) < seconds(y, p)) for p in both)
            for x, y in ((a, b), (b, a))
        ]
        duel = duels[a, b]
        assert (duel.problems, duel.wins, duel.losses) == (len(both), *won)
        n, k = sum(won), min(won)
        tail = sum(comb(n, i) for i in range(k + 1)) / 2**n
        assert duel.p == pytest.approx(min(1.0, 2 * tail))


def test_kinds_of_features_are_apart_and_paths_are_left_out() -> None:
    rows = table(
        row("branches", 0, "optimal", 0.2, 1.0),
        row("branches", 1, "optimal", 0.2, 1.0) | {"encoding": "categorical"},
        row("quantbnb", 2, "optimal", 0.2, 1.0) | {"encoding": "continuous"},
        row("branches", 3, "optimal", 0.2, 1.0) | {"exact": True, "ok": False},
    )
    outcomes = compare_outcomes(rows)
    assert sorted(outcomes.table["kind"]) == ["binary", "continuous", "multiway"]
    assert outcomes.table["runs"].sum() == 3
    assert outcomes.duels == []
    assert not outcomes.is_of_interest


def test_solvers_that_prove_nothing_or_are_missing_are_told_without_times() -> None:
    heuristics = table(
        row("cart", 0, "heuristic", 0.2, 1.0),
        row("tao", 0, "heuristic", 0.2, 1.0),
        row("branches", 1, "error", math.nan, 1.0),
    )
    found = compare_outcomes(heuristics)
    assert found.table["common"].sum() == found.table["fastest"].sum() == 0
    assert found.table["seconds"].isna().all()
    assert not found.is_of_interest
    one = table(row("branches", 0, "optimal", 0.2, 1.0), row("cart", 1, "heuristic", 0.2, 1.0))
    found = compare_outcomes(one)
    assert found.table.set_index("solver")["fastest"].to_dict() == {"branches": 1, "cart": 0}
    assert not compare_outcomes(one.iloc[:0]).is_of_interest


def test_a_limit_on_depth_that_excludes_nothing_makes_no_other_problem() -> None:
    free = row("branches", 0, "optimal", 0.2, 1.0) | {"depth": 4}
    says = row("streed", 1, "heuristic", 0.2, 3.0, {"status": "optimal"})
    for most, problems in ((20, 1), (4, 1), (3, 2)):
        limited = says | {"limits": json.dumps({"seconds": LIMIT, "depth": most})}
        limited["dataset"] = free["dataset"]
        outcomes = compare_outcomes(table(free, limited))
        assert len(outcomes.problems["binary"]) == problems
        assert len(outcomes.duels) == 2 - problems
    unproven = free | {"status": "time_limit"}
    assert len(compare_outcomes(table(unproven, limited)).problems["binary"]) == 2
    small = limited | {"limits": json.dumps({"seconds": LIMIT, "depth": 20, "splits": 9})}
    assert len(compare_outcomes(table(free, small)).problems["binary"]) == 2


def test_gaps_are_of_the_runs_without_an_answer() -> None:
    rows = table(
        row("branches", 0, "optimal", 0.2, 1.0),
        row("osdt", 0, "time_limit", 0.5, 60.0) | {"lower_bound": 0.1},
        row("osdt", 1, "optimal", 0.3, 1.0) | {"lower_bound": 0.3},
        row("gosdt", 0, "heuristic", 0.25, 60.0, {"status": "time_limit", "lower_bound": 0.05}),
        row("gosdt", 1, "error", math.nan, 60.0),
    )
    found = compare_outcomes(rows).table.set_index("solver")
    assert found["gap"].fillna(-1).to_dict() == pytest.approx(
        {"branches": -1, "osdt": 0.4, "gosdt": 0.2}
    )
    assert found["excess"].fillna(-1).to_dict() == pytest.approx(
        {"branches": -1, "osdt": 0.3, "gosdt": 0.05}
    )


def test_a_search_without_an_answer_is_not_quick_where_no_limit_of_time_says_how_long() -> None:
    rows = table(
        *(row("branches", p, "optimal", 0.2, 10.0) for p in range(3)),
        row("osdt", 0, "optimal", 0.2, 30.0),
        row("osdt", 1, "error", math.nan, math.nan),
        row("osdt", 2, "node_limit", 0.2, 0.001),
    ).assign(limits="{}")
    outcomes = compare_outcomes(rows)
    found = outcomes.table.set_index("solver")
    assert found["common"].to_dict() == {"branches": 1, "osdt": 1}
    assert found["seconds"].to_dict() == pytest.approx({"branches": 10.0, "osdt": 30.0})
    (duel,) = outcomes.duels
    assert (duel.problems, duel.wins, duel.losses) == (3, 3, 0)
    assert duel.speed_up == pytest.approx(31 / 11)


def test_a_search_without_an_answer_is_not_quick_where_others_were_given_longer() -> None:
    rows = table(
        row("branches", 0, "time_limit", 0.2, 1.0) | {"limits": '{"seconds":1.0}'},
        row("branches", 1, "optimal", 0.2, 0.5) | {"limits": '{"seconds":1.0}'},
        row("osdt", 0, "optimal", 0.2, 30.0),
        row("osdt", 1, "optimal", 0.2, 0.5),
        row("quantbnb", 0, "time_limit", 0.2, 60.5),
        row("quantbnb", 1, "optimal", 0.2, 0.5),
    )
    outcomes = compare_outcomes(rows)
    found = outcomes.table.set_index("solver")
    seconds = {"branches": 60.5, "osdt": 30.0, "quantbnb": 60.5}
    means = {name: shifted_mean([own, 0.5]) for name, own in seconds.items()}
    assert found["seconds"].to_dict() == pytest.approx(means)
    assert (found["above_best"] >= 1).all()
    duels = {(d.first, d.second): d for d in outcomes.duels}
    assert duels["branches", "osdt"].speed_up == pytest.approx(math.sqrt(31 / 61))


def test_what_ends_without_a_claim_is_not_an_answer_and_not_quick() -> None:
    finished = {"status": "finished", "own_seconds": 0.01}
    rows = table(
        row("dl85", 0, "heuristic", 0.2, 0.1, {"status": "optimal", "own_seconds": 0.0}),
        row("dl85", 1, "heuristic", 0.2, 0.1, finished),
        row("branches", 0, "optimal", 0.2, 1.0),
        row("branches", 1, "optimal", 0.2, 1.0),
    )
    found = compare_outcomes(rows).table.set_index("solver")
    # Its clock says 0 s for the first problem; the second one it did not solve.
    assert found["seconds"].to_dict() == pytest.approx(
        {"dl85": shifted_mean([0.0, LIMIT]), "branches": 1.0}
    )


def test_regression_is_apart_and_in_shares_of_the_variance() -> None:
    """Mean squared errors are in the square of a unit: no mean of them and of shares says much."""
    both = [
        row("quantbnb", 0, "optimal", 0.2, 1.0) | {"encoding": "continuous"},
        row("cart", 0, "heuristic", 0.3, 1.0) | {"encoding": "continuous"},
    ]
    numbers = [
        one | {
            "task": "regression", "tolerance": 1e-6, "problem": 1, "dataset": "n",
            "objective": value, "objective_exact": str(Fraction(value)), "tree": NUMBERS_TREE,
            "total_weight": 2, "solver": solver, "solver_label": solver, "key": f"{solver}/n",
        }
        for one, value, solver in (
            (both[0], 100.0, "quantbnb"), (both[1], 150.0, "cart"), (both[1], 100.0 + 5e-7, "tao"),
        )
    ]  # fmt: skip
    outcomes = compare_outcomes(table(*(b | {"tree": None} for b in both), *numbers))
    found = outcomes.table.set_index(["kind", "solver"])["excess"]
    assert found["continuous", "cart"] == pytest.approx(0.1)
    assert found["continuous (regression)", "cart"] == pytest.approx(50 / 400)
    assert found["continuous (regression)", "tao"] == 0


def test_the_mean_of_nothing_is_not_a_number() -> None:
    assert math.isnan(shifted_mean([]))
    assert shifted_mean([3.0, 3.0]) == pytest.approx(3.0)


def test_the_report_shows_claims_and_pairs(tmp_path: Any) -> None:
    claim = json.dumps({"claim": {"status": "optimal", "own_seconds": 0.25}})
    own = [run_row(lam="0.05"), run_row(name="osdt", lam="0.05")]
    theirs = own[0] | {
        "key": "other", "solver": "gosdt", "status": "heuristic", "lower_bound": None,
        "lower_bound_exact": None, "gap": None, "gap_exact": None, "extra": claim,
    }  # fmt: skip
    results = label_results(as_frame([*own, theirs]), None)
    report = write_report_data(gather(results), tmp_path / "report")
    page = report.page.read_text(encoding="utf-8")
    assert "Proven, claimed, open" in page
    outcomes = pd.read_csv(report.folder / "tables" / "outcomes.csv").set_index("solver")
    assert outcomes.loc["gosdt", "claimed"] == outcomes.loc["branches", "proven"] == 1
    assert len(pd.read_csv(report.folder / "tables" / "duels.csv")) == 3
