"""Tests of solver/path/path_state.py."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import solver
from solver.errors import InputError
from solver.path.path_state import Entry, PathLog, read_log
from tests.helpers.strategies import Table

XOR = Table(((0, 0), (0, 1), (1, 0), (1, 1)), (0, 1, 1, 0), (1, 1, 1, 1), (2, 2), 2)


def test_a_log_comes_back_as_it_was_but_for_time() -> None:
    problem, lam, log = XOR.problem(), Fraction(1, 7), PathLog()
    proven = solver.solve(problem, lam)
    limited = solver.solve(problem, lam, limits=solver.Limits(nodes=0))
    claims_nothing = solver.solve(problem, lam, "cart")
    assert read_log(log.to_array(), problem) == []
    entries = [
        Entry(lam, proven), Entry(lam / 3, None), Entry(lam, limited, 0, 2**40),
        Entry(lam, claims_nothing, None, 7),
    ]  # fmt: skip
    for number, entry in enumerate(entries, start=1):
        log.add(entry)
        assert len(log) == len(read_log(log.to_array(), problem)) == number
    none = {"seconds": 0.0, "compile_seconds": 0.0, "trace": ()}
    quiet = [e._replace(solution=e.solution and replace(e.solution, **none)) for e in entries]
    assert log.to_array().dtype == np.uint8
    assert read_log(log.to_array(), problem) == quiet


@pytest.mark.parametrize("text", ["", "{", "7", '[{"lam": "x"}]', '[{"lam": "1", "tree": "{}"}]'])
def test_what_is_damaged_is_no_log(text: str) -> None:
    with pytest.raises((InputError, KeyError, TypeError, ValueError)):
        read_log(np.frombuffer(text.encode(), np.uint8), XOR.problem())
