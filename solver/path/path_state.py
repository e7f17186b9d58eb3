"""All solves of a λ-path so far, in order, as an array from which the path can be replayed."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.objective.exact_objective import objective
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Tree


class Entry(NamedTuple):
    """One solve: its λ and what came of it; None if the λ has too many digits.

    ``nodes`` and ``bytes`` were its limits.
    """

    lam: Fraction
    solution: Solution | None
    nodes: int | None = None
    bytes: int | None = None


class PathLog:
    """The solves of a path, each written as text once."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._entries: list[Entry] = []

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: Entry) -> None:
        """Add a solve."""
        self._entries.append(entry)

    def to_array(self) -> NDArray[np.uint8]:
        """As JSON, in bytes."""
        for entry in self._entries[len(self._texts) :]:
            self._texts.append(json.dumps(_plain(entry), separators=(",", ":")))
        return np.frombuffer(f"[{','.join(self._texts)}]".encode(), np.uint8)


def read_log(array: NDArray[np.uint8], problem: Problem) -> list[Entry]:
    """The reverse of :meth:`PathLog.to_array`, with solutions that took no time.

    A damaged array raises ValueError, KeyError or TypeError.
    """
    return [_entry(plain, problem) for plain in json.loads(array.tobytes())]


def _plain(entry: Entry) -> dict[str, Any]:
    found = entry.solution
    if found is None:
        return {"lam": str(entry.lam)}
    bound = found.lower_bound
    return {
        "lam": str(entry.lam),
        "status": found.status.value,
        "lower_bound": None if bound is None else str(bound),
        "errors": found.errors if isinstance(found.errors, int) else str(found.errors),
        "tree": found.tree.to_json(),
        "solver": [found.solver, found.version],
        "effort": [found.iterations, found.nodes, found.peak_bytes],
        "limits": [entry.nodes, entry.bytes],
    }


def _entry(plain: dict[str, Any], problem: Problem) -> Entry:
    lam = Fraction(plain["lam"])
    if "tree" not in plain:
        return Entry(lam, None)
    tree, bound, errors = Tree.from_json(plain["tree"]), plain["lower_bound"], plain["errors"]
    errors = int(errors) if problem.task == "classification" else Fraction(errors)
    iterations, nodes, peak_bytes = plain["effort"]
    name, version = plain["solver"]
    solution = Solution(
        tree=tree,
        status=Status(plain["status"]),
        lam=lam,
        objective=objective(errors, tree.splits, problem.total_weight, lam),
        lower_bound=None if bound is None else Fraction(bound),
        errors=errors,
        total_weight=problem.total_weight,
        seconds=0.0,
        solver=name,
        version=version,
        iterations=iterations,
        nodes=nodes,
        peak_bytes=peak_bytes,
        tolerance=problem.tolerance if bound is not None else Fraction(0),
    )
    return Entry(lam, solution, *plain["limits"])
