"""Which tasks may be done in shards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from solver.catalogue import SOLVERS
from solver.encodings.auto_encoding import AUTO
from sweep.spec.requested_outputs import AUTO_SHARDS, LAM, PROOF, SHARDS, asks_division
from sweep.spec.yaml_reader import problem

MOST_SHARDS = 10_000
"""The most shards of a task: the driver holds their rows in memory until the last one arrives."""


def is_divided(data: Mapping[str, Any]) -> bool:
    """Whether more than one shard is asked for. Invalid numbers are refused elsewhere."""
    number = data.get(SHARDS)
    return asks_division(data) or (type(number) is int and number > 1)


def check_shards(solver: str, data: Mapping[str, Any]) -> None:
    """Refuse a wrong number of shards, and shards of a task that cannot be divided."""
    _check_number(data.get(SHARDS, 1))
    if not is_divided(data):
        return
    if solver == AUTO or not SOLVERS[solver].capabilities.shards:
        able = solvers_that_can(name for name, kind in SOLVERS.items() if kind.capabilities.shards)
        raise problem(f"solver {solver!r} cannot do a task in shards; {able}", SHARDS)
    if LAM in data:
        raise problem(
            "a λ-path cannot be done in shards: which λ is next follows from the trees before; "
            "leave out one of the two",
            SHARDS,
        )
    if data.get(PROOF) is True:
        raise problem(
            "there is no certificate of a search in shards; leave out one of the two", SHARDS
        )


def _check_number(shards: Any) -> None:
    is_number = type(shards) is int and 1 <= shards <= MOST_SHARDS
    if not is_number and shards != AUTO_SHARDS:
        raise problem(
            f"{shards!r} is no number of shards; write a whole number from 1 to {MOST_SHARDS:,}, "
            "or auto",
            SHARDS,
        )


def solvers_that_can(names: Iterator[str]) -> str:
    """The end of a message: which solvers can do what is asked."""
    able = ", ".join(names)
    return f"these can: {able}" if able else "no solver here can"
