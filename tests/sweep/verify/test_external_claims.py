"""Claims of others against rows of the same problem."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sweep.rows.schema import SCHEMA
from sweep.spec.spec import parse_spec
from sweep.store import checksummed_parquet
from sweep.verify.external_claims import contradictions, refuted_claims
from tests.helpers import without_dask


def row(solver: str, objective: str, **more: Any) -> dict[str, Any]:
    claim = more.pop("claim", None)
    return {
        "dataset": "d", "data_hash": "h", "encoding": "onehot", "encoding_options": "{}",
        "fold": None, "repeat": None, "validation": "null", "lam_exact": "1/100",
        "solver": solver, "solver_options": "{}", "depth": 2, "splits": 3,
        "limits": json.dumps(more.pop("limits", {})), "objective_exact": objective,
        "lower_bound_exact": None, "status": "heuristic",
        "extra": json.dumps({"claim": claim}) if claim else None,
    } | more  # fmt: skip


OPTIMAL = {"status": "optimal"}
OURS = row("branches", "1/4", lower_bound_exact="1/4", status="optimal")


def test_a_better_tree_refutes_an_optimum() -> None:
    (said,) = contradictions([OURS, row("dl85", "3/10", claim=OPTIMAL)])
    assert str(said) == (
        "d, onehot, λ = 1/100: dl85 claims the optimum 0.3; branches has a tree of 0.25, proven "
        "optimal"
    )


def test_a_tree_below_a_claimed_bound_refutes_it() -> None:
    claim = {"status": "time_limit", "lower_bound": 0.26}
    (said,) = contradictions([row("cart", "1/4"), row("gosdt", "3/10", claim=claim)])
    assert said.claim == "the lower bound 0.26"
    assert said.found == "has a tree of 0.25"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {"claim": {"status": "finished"}}),
        ({}, {"claim": None}),
        ({}, {"claim": OPTIMAL, "limits": {"depth": 1}}),
        ({}, {"claim": OPTIMAL, "limits": {"splits": 2}}),
        ({}, {"claim": OPTIMAL, "limits": {"min_leaf_size": 2}}),
        ({"limits": {"min_leaf_size": 1}}, {"claim": OPTIMAL, "limits": {"min_leaf_size": 2}}),
        ({"fold": 1}, {"claim": OPTIMAL, "fold": 2}),
        ({"solver_options": '{"rules":"hyperplane"}'}, {"claim": OPTIMAL}),
        (
            {"solver_options": '{"rules":"hyperplane"}'},
            {"claim": OPTIMAL, "solver_options": '{"rules":"hyperplane","margin":0.005}'},
        ),
        ({"lam_exact": "1/99"}, {"claim": OPTIMAL}),
        ({"objective_exact": "299999/1000000"}, {"claim": OPTIMAL}),
        ({"objective_exact": None}, {"claim": OPTIMAL}),
    ],
)
def test_what_cannot_be_compared_refutes_nothing(
    ours: dict[str, Any], theirs: dict[str, Any]
) -> None:
    assert contradictions([OURS | _as_columns(ours), row("x", "3/10", **theirs)]) == []


def _as_columns(changes: dict[str, Any]) -> dict[str, Any]:
    return {k: json.dumps(v) if k == "limits" else v for k, v in changes.items()}


def test_a_tree_with_as_large_leaves_can_be_compared() -> None:
    limits = {"min_leaf_size": 2}
    ours = OURS | _as_columns({"limits": limits})
    assert len(contradictions([ours, row("x", "3/10", claim=OPTIMAL, limits=limits)])) == 1


def test_a_row_that_cannot_be_read_is_passed_over() -> None:
    theirs = row("dl85", "3/10", claim=OPTIMAL)
    for forged in ({"limits": "x"}, {"solver_options": "[]"}, {"objective_exact": "a"}):
        assert contradictions([OURS | forged, theirs]) == []


def test_a_claim_is_told_under_the_names_of_today(tmp_path: Path) -> None:
    def run(name: str) -> None:
        text = f"name: c\ndatasets: [{{name: {name}, source: monks-1}}]\nencodings: [onehot]\n"
        without_dask.run_here(
            tmp_path / "out",
            parse_spec(text + "lambdas: [0.05]\nsolvers: [branches, cart]\n"),
        )

    run("old")
    (part,) = (tmp_path / "out" / "rows").glob("*.parquet")
    rows = pq.read_table(part).to_pylist()
    next(r for r in rows if r["solver"] == "cart")["extra"] = json.dumps(
        {"claim": {"status": "time_limit", "lower_bound": 0.9}}
    )
    part.write_bytes(checksummed_parquet.to_bytes(pa.Table.from_pylist(rows, schema=SCHEMA)))
    assert {said.dataset for said in refuted_claims(tmp_path / "out")} == {"old"}
    run("new")
    assert {said.dataset for said in refuted_claims(tmp_path / "out")} == {"new"}
