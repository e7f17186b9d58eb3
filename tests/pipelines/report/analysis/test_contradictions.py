"""Contradictions are found, and nothing else is called one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from pipelines.report.analysis.contradictions import find_disagreements, has_compared_proofs
from pipelines.report.data.results import failure_groups, label_results
from tests.helpers.report_rows import as_frame, failed, run_row, sweep_rows


def kinds(*rows: dict[str, Any]) -> list[str]:
    return find_disagreements(label_results(as_frame(rows), None).rows)["kind"].tolist()


def rival(row: dict[str, Any], **other: Any) -> dict[str, Any]:
    """The same run by another solver."""
    return row | {"solver": "rival", "key": "rival"} | other


def test_true_results_do_not_contradict_each_other() -> None:
    rows = [*sweep_rows(n_folds=3), *sweep_rows()]
    assert kinds(*rows) == []


def test_proofs_are_compared_if_two_solvers_prove_bounds_of_one_problem() -> None:
    def compared(*rows: dict[str, Any]) -> bool:
        return has_compared_proofs(label_results(as_frame(rows), None).rows)

    row = run_row(lam="0.05")
    assert compared(row, rival(row))
    assert not compared(*sweep_rows(n_folds=3))  # CART proves nothing
    assert not compared(row, rival(row, lower_bound_exact=None))
    assert not compared(row, failed(rival(row)))
    assert not compared(row, rival(run_row(lam="0.05", encoding="categorical")))


def test_two_optima_of_one_problem() -> None:
    row = run_row(lam="0.05")
    worse = Fraction(row["objective_exact"]) + Fraction("0.05")
    fake = rival(row, objective_exact=str(worse), lower_bound_exact=str(worse),
                 splits=row["splits"] + 1)  # fmt: skip
    assert kinds(row, fake) == ["two optima"]


def test_encodings_folds_and_shapes_are_other_problems() -> None:
    row = run_row(lam="0.05", encoding="onehot")
    other = run_row(lam="0.05", encoding="categorical")
    assert row["objective_exact"] != other["objective_exact"]
    assert kinds(row, other) == []
    worse = Fraction(row["objective_exact"]) + Fraction("0.05")
    fake = rival(row, objective_exact=str(worse), lower_bound_exact=str(worse),
                 splits=row["splits"] + 1)  # fmt: skip
    assert kinds(row, fake | {"limits": '{"depth":1}'}) == []
    assert kinds(row, fake | {"limits": '{"seconds":1.0}'}) == ["two optima"]
    assert kinds(row, fake | {"solver_options": '{"rules":"hyperplane"}'}) == []
    assert kinds(row, fake | {"solver_options": '{"mode":"fast"}'}) == ["two optima"]


@pytest.mark.parametrize("lam", ["0.05", "0.2"])
def test_a_tree_below_a_bound_of_the_same_or_another_lambda(lam: str) -> None:
    heuristic = run_row(name="cart", lam="0.05")
    bound = Fraction(heuristic["errors"], heuristic["total_weight"])
    bound += Fraction(lam) * heuristic["splits"] + Fraction(1, 1000)
    claim = rival(
        run_row(lam=lam), status="time_limit", lower_bound_exact=str(bound), errors=48, splits=0,
        objective_exact="1",
    )  # fmt: skip
    assert "below a proven bound" in kinds(heuristic, claim)


@pytest.mark.parametrize(
    "change",
    [
        {"objective_exact": "1/1000"},
        {"lower_bound_exact": "0"},
        {"lower_bound_exact": "1"},
        {"lower_bound_exact": None},
    ],
)
def test_a_run_that_contradicts_itself(change: dict[str, Any]) -> None:
    assert kinds(run_row() | change)[0] == "own figures"


def test_failures_are_put_together_by_their_reason() -> None:
    rows = [
        failed(run_row(lam="0.05")),
        failed(run_row(lam="0.2")),
        failed(run_row(lam="0.01"), "killed", "out of memory"),
        run_row(lam="0.3"),
        failed(run_row(lam="0.4")) | {"error": None},
    ]
    first, *others = failure_groups(label_results(as_frame(rows), None).rows)
    assert (first["status"], first["reason"], first["count"]) == ("error", "Boom: no luck", 2)
    assert first["text"].startswith("Traceback")
    assert first["cells"] == ["toy, onehot, branches: λ = 0.05, 0.2"]
    assert {entry["reason"] for entry in others} == {"out of memory", "no message"}
