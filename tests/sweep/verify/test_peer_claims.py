"""Claims of others against rows of the same problem."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sweep.verify.peer_claims import contradictions


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
