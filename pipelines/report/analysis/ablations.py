"""Ablations: the option sets of a solver on the same problems, compared with the first one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipelines.report.data.group_statistics import firsts, floats, groups
from pipelines.report.data.results import Results
from pipelines.report.data.store_reader import decompress
from pipelines.variant_labels import option_text
from solver.catalogue import SOLVERS
from solver.solution import Status

SWITCHES, SEVERAL = "switches", "several options"


class Variant(NamedTuple):
    """How an option set differs from the first one; the first one, from the solver's defaults.

    Variants of one ``kind`` are in one table. The kind is :data:`SWITCHES`, the name of the one
    option that differs, or :data:`SEVERAL`; empty for the first one.
    """

    label: str  # ``no lookahead``, ``policy: entropy``
    kind: str


def describe_first_variant(
    solver: str, own: Mapping[str, Any], others: Sequence[Mapping[str, Any]] = ()
) -> Variant:
    """The option set that the others are compared with. Of its limits and other settings those
    count that an other one has otherwise."""
    usual = {k: o.default for k, o in SOLVERS[solver].options.items()} if solver in SOLVERS else {}
    differing = {k for other in others for k in _keys(own, other) if _differs(own, other, k)}
    told = usual.keys() | (differing & own.keys())
    words = _difference(usual, {**usual, **{k: v for k, v in own.items() if k in told}})
    return Variant(", ".join(words) or ("defaults" if usual else "first"), "")


def describe_variant(first: Mapping[str, Any], own: Mapping[str, Any]) -> Variant:
    """An option set compared with the first one, both with their own limits."""
    differing = [key for key in _keys(first, own) if _differs(first, own, key)]
    flags = [isinstance(own.get(key), bool) for key in differing]
    if differing and all(flags):
        kind = SWITCHES
    else:
        kind = differing[0].replace("_", " ") if len(differing) == 1 else SEVERAL
    return Variant(", ".join(_difference(first, own)) or "the same", kind)


def _difference(first: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    words = []
    for key in _keys(first, own):
        if not _differs(first, own, key):
            continue
        value, name = own.get(key), key.replace("_", " ")
        if isinstance(value, bool):
            words.append(f"{'with' if value else 'no'} {name}")
        else:
            words.append(f"{name}: {option_text(value)}")
    return words


def _keys(first: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    return sorted({*first, *own})


def _differs(first: Mapping[str, Any], own: Mapping[str, Any], key: str) -> bool:
    return json.dumps(first.get(key)) != json.dumps(own.get(key))


MEASURES = ("seconds", "objective", "lower_bound", "evaluated", "queue", "trees", "leaves")
"""Columns of an execution's trace."""


def extra_of(value: Any) -> dict[str, Any]:
    """The entries of a stored column ``extra``; none if it is missing or cannot be read."""
    if not isinstance(value, (str, bytes)):
        return {}
    try:
        found = json.loads(decompress(value))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def number(value: Any) -> float:
    """A number or a fraction as a text; anything else is missing (NaN)."""
    if isinstance(value, bool):
        return math.nan
    try:
        return float(Fraction(value)) if isinstance(value, str) else float(value)
    except (TypeError, ValueError, ArithmeticError):
        return math.nan


def count_of(extra: Mapping[str, Any], name: str) -> float:
    """A number among the entries; missing (NaN) without one."""
    return number(extra.get(name))


def trace_of(extra: Mapping[str, Any]) -> pd.DataFrame:
    """The points of a trace in the order of time, with :data:`MEASURES`; there may be none."""
    points = extra.get("trace")
    rows = [p for p in points if isinstance(p, dict)] if isinstance(points, list) else []
    table = pd.DataFrame(
        [[number(point.get(name)) for name in MEASURES] for point in rows], columns=[*MEASURES]
    )
    return table[table["seconds"].notna()].sort_values("seconds", kind="stable", ignore_index=True)


def pruned_of(extra: Mapping[str, Any]) -> dict[str, float]:
    """How often each bound pruned."""
    found = extra.get("pruned")
    if not isinstance(found, dict):
        return {}
    return {str(name): number(value) for name, value in found.items()}


_CELL = ["dataset", "encoding_label", "lam_key", "solver"]
_LIMITED = {status.value for status in Status if status.is_limit} | {Status.STOPPED.value}
MOST_CELLS = 200
"""The largest number of cells that are computed."""

_USED = [
    *_CELL, "solver_label", "lam", "lam_text", "lam_exact", "solver_options", "limits", "status",
    "ok", "seconds", "iterations", "nodes", "peak_bytes", "extra",
]  # fmt: skip


@dataclass(frozen=True)
class Execution:
    """What one run reports of its search."""

    trace: pd.DataFrame  # from :func:`trace_of`, not empty
    pruned: dict[str, float]  # how often each bound pruned
    seconds_to_optimum: float  # missing (NaN) if not known or not proven


@dataclass(frozen=True)
class OptionSet:
    """The runs of an option set in a cell.

    ``measures`` are medians over folds and repetitions: ``seconds``, ``iterations``, ``nodes``,
    ``peak_bytes``, ``trees_evaluated`` and, if all runs are proven, ``seconds_to_optimum`` and
    ``trees_to_optimum``. Unknown ones are missing (NaN).
    """

    variant: Variant
    solver: str  # its label in the rest of the report
    runs: int  # number of runs with a tree
    statuses: dict[str, int]  # number of runs by status
    limited: bool  # whether a limit or the user ended a run: measures are then lower bounds
    measures: dict[str, float]
    execution: Execution | None  # of the first run with a trace


@dataclass(frozen=True)
class Ablation:
    """A dataset, encoding, λ and solver with several option sets, in the order of the sweep. The
    others are compared with the first one."""

    dataset: str
    encoding: str
    lam: float
    lam_text: str
    solver: str
    sets: tuple[OptionSet, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of all variants, in the order in which they come."""
        return tuple(dict.fromkeys(one.variant.kind for one in self.sets[1:]))

    def of_kind(self, kind: str) -> tuple[OptionSet, ...]:
        """The first option set and all variants of a kind."""
        return (self.sets[0], *(one for one in self.sets[1:] if one.variant.kind == kind))


class Ablations(NamedTuple):
    """The computed cells in the order of the sweep, and the number of all cells."""

    cells: list[Ablation]
    of: int

    def has(self, row: Any) -> bool:
        """Whether a run (a row of the results) is among them."""
        own = (row["dataset"], row["encoding_label"], row["lam_text"], row["solver"])
        return any((c.dataset, c.encoding, c.lam_text, c.solver) == own for c in self.cells)


def find_ablations(results: Results, most: int = MOST_CELLS) -> Ablations:
    """The cells with several option sets of a solver; of too many those that took longest. Runs of
    a whole λ-path are left out: their work is that of many λ."""
    rows = results.by_lambda
    plain = rows.loc[~rows["exact"].to_numpy(bool)]
    cell = groups(plain, _CELL)
    pair = groups(plain[["solver_label"]].assign(cell=cell), ["cell", "solver_label"])
    several = np.flatnonzero(np.bincount(cell[firsts(pair)]) > 1)
    cost = np.bincount(cell, np.nan_to_num(floats(plain["seconds"])))
    longest = several[np.argsort(-cost[several], kind="stable")[:most]]
    rows = results.sort(plain.loc[np.isin(cell, longest), [*_USED, "repeat", "fold"]])
    rows[[*_CELL, "solver_label"]] = rows[[*_CELL, "solver_label"]].astype(object)
    rank = {name: i for i, name in enumerate(results.solvers)}
    found = [_ablation(names, group, rank) for names, group in rows.groupby(_CELL, sort=False)]
    return Ablations(found, len(several))


def _ablation(cell: Any, group: pd.DataFrame, rank: Mapping[str, int]) -> Ablation:
    dataset, encoding, _, solver = (str(part) for part in cell)
    labels = sorted(group["solver_label"].unique(), key=lambda label: rank[str(label)])
    runs = {label: group[group["solver_label"] == label] for label in labels}
    firsts_of = [runs[label].iloc[0] for label in labels]
    # No limit has the name of an option.
    settings = [json.loads(r["limits"]) | json.loads(r["solver_options"]) for r in firsts_of]
    variants = [describe_first_variant(solver, settings[0], settings[1:])]
    variants += [describe_variant(settings[0], own) for own in settings[1:]]
    sets = [
        _option_set(variant, str(label), runs[label])
        for variant, label in zip(variants, labels, strict=True)
    ]
    first = group.iloc[0]
    return Ablation(
        dataset, encoding, float(first["lam"]), str(first["lam_text"]), solver, tuple(sets)
    )


def _option_set(variant: Variant, solver: str, rows: pd.DataFrame) -> OptionSet:
    good = rows[rows["ok"].to_numpy(bool)]
    extras = [extra_of(value) for value in good["extra"]]
    limited = bool(good["status"].isin(_LIMITED).any())
    proven = len(good) > 0 and bool((good["status"] == Status.OPTIMAL.value).all())

    def median(values: Any) -> float:
        return float(pd.Series(values, dtype=float).median())

    def of_extras(name: str) -> float:
        return median([count_of(extra, name) for extra in extras])

    costs = ("seconds", "iterations", "nodes", "peak_bytes")
    measures = {name: median(good[name]) for name in costs}
    measures["trees_evaluated"] = of_extras("trees_evaluated")
    seconds, trees = of_extras("seconds_to_optimum"), of_extras("trees_evaluated_to_optimum")
    measures["seconds_to_optimum"] = seconds if proven else math.nan
    measures["trees_to_optimum"] = trees if proven else math.nan
    executions = (execution_of(extra, proven) for extra in extras)
    return OptionSet(
        variant=variant,
        solver=solver,
        runs=len(good),
        statuses={str(k): int(n) for k, n in rows["status"].value_counts(sort=False).items() if n},
        limited=limited,
        measures=measures,
        execution=next((found for found in executions if found is not None), None),
    )


def execution_of(extra: Mapping[str, Any], proven: bool) -> Execution | None:
    """What a run reports of its search; None without a trace."""
    trace = trace_of(extra)
    if trace.empty:
        return None
    reached = count_of(extra, "seconds_to_optimum") if proven else math.nan
    return Execution(trace, pruned_of(extra), reached)


def ratio(own: OptionSet, first: OptionSet, measure: str) -> tuple[str, float]:
    """A measure divided by that of the first option set, after ``>`` or ``<`` if a limit ended one
    of the two; missing (NaN) if it is not known."""
    a, b = own.measures[measure], first.measures[measure]
    if not (math.isfinite(a) and math.isfinite(b) and b > 0) or (own.limited and first.limited):
        return "", math.nan
    return ">" if own.limited else "<" if first.limited else "", a / b


def ablation_table(ablations: Sequence[Ablation]) -> pd.DataFrame:
    """One row an option set, for a file."""
    return pd.DataFrame([record for ablation in ablations for record in _records(ablation)])


def _records(ablation: Ablation) -> Iterator[dict[str, Any]]:
    first = ablation.sets[0]
    for own in ablation.sets:
        statuses = ", ".join(f"{number} {status}" for status, number in own.statuses.items())
        yield {
            "dataset": ablation.dataset,
            "encoding": ablation.encoding,
            "lam": ablation.lam,
            "lam_text": ablation.lam_text,
            "solver": own.solver,
            "differs_in": own.variant.kind,
            "variant": own.variant.label,
            "status": statuses,
            "runs": own.runs,
            "at_least": own.limited,
            **own.measures,
            **{f"{name}_ratio": ratio(own, first, name)[1] for name in ("seconds", *_WORK)},
        }


_WORK = ("trees_evaluated", "iterations", "nodes", "peak_bytes")
