"""Compare what solvers of others claim with all that a sweep has found and proven."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from solver.external.base import CLAIM_SLACK
from sweep.filesystem import Place, open_folder
from sweep.plan.task_keys import allowed_trees, canonical
from sweep.store.part_files import Parts
from sweep.store.plan_file import planned_tasks
from sweep.store.row_precedence import called_today

PROBLEM = (
    "dataset", "data_hash", "encoding", "encoding_options", "fold", "repeat", "validation",
    "lam_exact",
)  # fmt: skip
"""Rows that agree in these columns and in their rules of splits are of one problem and λ."""

NEEDED = (
    *PROBLEM, "solver", "solver_options", "limits", "depth", "splits", "objective_exact",
    "lower_bound_exact", "extra",
)  # fmt: skip
"""The columns that a comparison reads."""


@dataclass(frozen=True)
class Contradiction:
    """A claim that is not true, and the row that shows it.

    Parameters
    ----------
    dataset, encoding, lam : str
    solver : str
        Whose claim it is.
    claim : str
        What it claims, with its figure.
    witness : str
        The solver of the other row.
    found : str
        What that row has, with its figure.
    """

    dataset: str
    encoding: str
    lam: str
    solver: str
    claim: str
    witness: str
    found: str

    def __str__(self) -> str:
        return (
            f"{self.dataset}, {self.encoding}, λ = {self.lam}: {self.solver} claims {self.claim}; "
            f"{self.witness} {self.found}"
        )


@dataclass(frozen=True)
class _Run:
    """What a row says of its problem."""

    solver: str
    limits: Mapping[str, Any]
    depth: int
    splits: int
    objective: Fraction
    lower_bound: Fraction | None
    claim: Mapping[str, Any]

    def keeps(self, limits: Mapping[str, Any]) -> bool:
        """Whether its tree is known to keep the limits of another run."""
        least = limits.get("min_leaf_size")
        return (
            self.depth <= limits.get("depth", self.depth)
            and self.splits <= limits.get("splits", self.splits)
            and (least is None or self.limits.get("min_leaf_size", 0) >= least or not self.splits)
        )


def refuted_claims(place: Place) -> list[Contradiction]:
    """The refuted claims of a sweep's folder, by today's names; see :func:`contradictions`."""
    folder = open_folder(place)
    parts = Parts(folder)
    if not len(parts.read(["extra"], _with_claim)):
        return []
    rows = parts.read([*NEEDED, "key", "lam_label"])
    return contradictions(called_today(rows, planned_tasks(folder)).to_pylist())


def _with_claim(table: pa.Table) -> pa.Table:
    return table.filter(pc.match_substring(table["extra"], '"claim"'))


def contradictions(rows: Iterable[Mapping[str, Any]]) -> list[Contradiction]:
    """The claims that other rows of the same problem refute.

    A claim of an optimum is refuted by a better tree within the claimant's limits, a claimed lower
    bound by any tree within them that is below it. Claims are floats, so differences up to
    ``CLAIM_SLACK`` are none.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of one store, with the columns ``NEEDED``.
    """
    problems: dict[tuple[Any, ...], list[_Run]] = defaultdict(list)
    for row in rows:
        if row["objective_exact"] is not None:
            with suppress(TypeError, ValueError, AttributeError):  # forged rows are found elsewhere
                problems[_problem(row)].append(_read(row))
    found = (
        Contradiction(str(key[0]), str(key[2]), str(key[len(PROBLEM) - 1]), *said)
        for key, runs in problems.items()
        for run in runs
        for said in _refuted(run, runs)
    )
    return [*dict.fromkeys(found)]  # a task that was run twice says the same twice


def _problem(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Equal for rows of one problem at one λ; trees of oblique splits are not those of others."""
    rules = allowed_trees({}, json.loads(row["solver_options"]))
    return (*(row[name] for name in PROBLEM), canonical(rules))


def _read(row: Mapping[str, Any]) -> _Run:
    bound = row["lower_bound_exact"]
    extra = json.loads(row["extra"]) if row["extra"] else {}
    return _Run(
        solver=row["solver"],
        limits=json.loads(row["limits"]),
        depth=row["depth"],
        splits=row["splits"],
        objective=Fraction(row["objective_exact"]),
        lower_bound=None if bound is None else Fraction(bound),
        claim=extra.get("claim", {}),
    )


def _refuted(run: _Run, runs: Iterable[_Run]) -> Iterator[tuple[str, str, str, str]]:
    """Solver, claim, witness and what it found, for each claim of a run that is not true."""
    within = [other for other in runs if other.keeps(run.limits)]
    if not run.claim or not within:
        return
    best = min(within, key=lambda other: other.objective)
    least = float(best.objective)
    found = f"has a tree of {least:.6g}"
    if best.lower_bound == best.objective:
        found += ", proven optimal"
    if run.claim.get("status") == "optimal" and float(run.objective) - least > CLAIM_SLACK:
        yield run.solver, f"the optimum {float(run.objective):.6g}", best.solver, found
    bound = run.claim.get("lower_bound")
    if bound is not None and bound - least > CLAIM_SLACK:
        yield run.solver, f"the lower bound {bound:.6g}", best.solver, found
