"""Check the stored sets of good trees."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from solver.errors import InputError
from solver.features.number_format import count
from solver.limits import Limits
from solver.problem.problem import Problem
from solver.rashomon.build_graph import LimitError
from solver.rashomon.find_set import rashomon_set
from solver.rashomon.rashomon_set import copies
from solver.solution import Status
from solver.verify.certificate_checker import Refused
from solver.verify.rashomon_checker import Rules, Subproblem, recount
from sweep.filesystem import Folder
from sweep.spec.requested_outputs import asked_rashomon
from sweep.store.rashomon_files import BYTES, StoredSet, read_set, relative_path
from sweep.verify.certificates import check_file
from sweep.verify.datasets import FoldKey, Tables


def lacks_good_trees(row: Mapping[str, Any]) -> bool:
    """Whether good trees were asked for and a limit ended the search for them, or a stop."""
    asked = asked_rashomon(json.loads(row["solver_options"]))
    return asked is not None and row["rashomon_within"] != asked["within"]


def check_presence(row: Mapping[str, Any], folder: Folder) -> Iterator[str]:
    """Check that a row that asks for good trees has them, and that the file exists."""
    name = row["rashomon"]
    if lacks_good_trees(row) and row["status"] == Status.OPTIMAL:
        why = f" ({row['error'].strip().splitlines()[-1]})" if row["error"] else ""
        has = "none" if name is None else f"those within {row['rashomon_within']}"
        yield f"it was asked for all good trees and has {has}{why}"
    if name is not None:
        what, own = "the file of its good trees", relative_path(row["key"])
        yield from check_file(folder, what, name, own, row[BYTES])


def check_good_trees(
    row: Mapping[str, Any], folder: Folder, tables: Tables, search: bool
) -> Iterator[str]:
    """Count the good trees of a row anew, after :func:`check_presence`.

    With ``search`` they are also searched for again: only that shows that none is missing.
    """
    name = row["rashomon"]
    try:
        stored = read_set(folder, name)
        problem = tables.problem(FoldKey.of(row), row["encoding"], row["encoding_options"])
        for text in _check_claims(row, stored, problem):
            yield f"{name}: {text}"
            return
        if search:
            limits = Limits(**_structural(row))
            found = rashomon_set(problem, *stored.question, limits=limits)
            if found.histogram != stored.histogram:
                trees = count(found.n_trees, "good tree")
                yield f"{name}: a new search finds {trees}, the row says {row['rashomon_trees']}"
    except LimitError as error:
        yield f"{name} could not be searched for again: {error}"
    except InputError as error:
        yield str(error)


def _structural(row: Mapping[str, Any]) -> dict[str, Any]:
    """The limits that say which trees are allowed."""
    limits = json.loads(row["limits"])
    return {name: limits[name] for name in ("depth", "splits", "min_leaf_size") if name in limits}


def _check_claims(row: Mapping[str, Any], stored: StoredSet, problem: Problem) -> Iterator[str]:
    yield from stored.disagreements(row)
    question, limits = stored.question, _structural(row)
    most = question.most(stored.optimum)
    least = math.ceil(Fraction(str(limits.get("min_leaf_size") or 0)) * problem.weight_scale)
    rules = Rules(
        question.lam, most, limits.get("depth"), limits.get("splits"), max(1, least),
        copies(problem).tolist(),
    )  # fmt: skip
    graph = [*map(Subproblem, stored.features, stored.children)]
    try:
        numbers = recount(problem, graph, rules)
    except Refused as error:
        yield f"its graph is refused: {error}"
        return
    if numbers != {(cell.errors, cell.splits): cell.trees for cell in stored.histogram}:
        found = count(sum(numbers.values()), "tree")
        yield f"its graph holds {found}, not those of its histogram"
