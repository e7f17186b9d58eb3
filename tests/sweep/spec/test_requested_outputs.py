"""Tests of sweep/spec/requested_outputs.py."""

from __future__ import annotations

import pytest

from sweep.spec.requested_outputs import (
    asked_shards,
    asks_path,
    asks_proof,
    own_options,
    shown_lam,
    with_asks,
)


@pytest.mark.parametrize("lam", [None, "path"])
@pytest.mark.parametrize("proof", [False, True])
def test_what_is_asked_is_told_from_the_options(lam: str | None, proof: bool) -> None:
    options = with_asks({"mode": "full", "slack": 4.0}, lam, proof)
    assert own_options(options) == {"mode": "full", "slack": 4.0}
    assert (asks_path(options), asks_proof(options)) == (lam == "path", proof)


def test_a_task_that_asks_nothing_has_the_options_that_it_always_had() -> None:
    assert with_asks({"mode": "full"}, None, False) == {"mode": "full"}


def test_the_number_of_shards_is_asked_for() -> None:
    options = with_asks({"slack": 4.0}, None, False, shards=3)
    assert (options["shards"], asked_shards(options), own_options(options)) == (
        3,
        3,
        {"slack": 4.0},
    )
    assert asked_shards({"slack": 4.0}) == 1


def test_a_path_is_shown_by_the_lambda_that_it_starts_from() -> None:
    assert shown_lam("0.01", {}) == "0.01"
    assert shown_lam("2/n", {"lam": "path"}) == "path from 2/n"
