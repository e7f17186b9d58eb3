"""Ablations: the option sets of a solver on the same problems, each beside the first one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipelines.report.data.columns import firsts, floats, groups
from pipelines.report.data.option_sets import Variant, describe, describe_first
from pipelines.report.data.results import Results
from pipelines.report.data.solver_extras import count_of, extra_of, pruned_of, trace_of
from solver.solution import Status

_CELL = ["dataset", "encoding_label", "lam_key", "solver"]
_LIMITED = {status.value for status in Status if status.is_limit} | {Status.STOPPED.value}

MOST_CELLS = 200
"""So many are worked out."""

_USED = [
    *_CELL, "solver_label", "lam", "lam_text", "solver_options", "limits", "status", "ok",
    "seconds", "iterations", "nodes", "peak_bytes", "extra",
]  # fmt: skip


@dataclass(frozen=True)
class Execution:
    """What one run of an option set reports of its search.

    Parameters
    ----------
    trace : DataFrame
        See :func:`pipelines.report.data.solver_extras.trace_of`; it has points.
    pruned : dict
        How often each bound has pruned.
    seconds_to_optimum : float
        Missing if it is not known, or nothing is proven.
    """

    trace: pd.DataFrame
    pruned: dict[str, float]
    seconds_to_optimum: float


@dataclass(frozen=True)
class OptionSet:
    """The runs of an option set in a cell: medians over folds and repetitions.

    Parameters
    ----------
    variant : Variant
    solver : str
        The label that the rest of the report has for it.
    runs : int
        With a tree, whatever came of it.
    statuses : dict
        How many runs ended in which way.
    limited : bool
        Whether a limit, or the user, has ended one of them: then what it took is at least so much.
    measures : dict
        ``seconds``, ``iterations``, ``nodes``, ``peak_bytes``, ``trees_evaluated``; and, if all
        runs are proven, ``seconds_to_optimum`` and ``trees_to_optimum``. What is not known is
        missing (NaN).
    execution : Execution or None
        Of the first run that reports a trace.
    """

    variant: Variant
    solver: str
    runs: int
    statuses: dict[str, int]
    limited: bool
    measures: dict[str, float]
    execution: Execution | None


@dataclass(frozen=True)
class Ablation:
    """A cell (a dataset, an encoding, a λ and a solver) with several option sets, in the order of
    the sweep: the first is what the others are compared with."""

    dataset: str
    encoding: str
    lam: float
    lam_text: str
    solver: str
    sets: tuple[OptionSet, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """What the option sets differ in, in the order in which they come."""
        return tuple(dict.fromkeys(one.variant.kind for one in self.sets[1:]))

    def of_kind(self, kind: str) -> tuple[OptionSet, ...]:
        """The first option set, and those that differ from it in this."""
        return (self.sets[0], *(one for one in self.sets[1:] if one.variant.kind == kind))


class Ablations(NamedTuple):
    """The cells that were worked out, in the order of the sweep, and how many there are."""

    cells: list[Ablation]
    of: int

    def has(self, row: Any) -> bool:
        """Whether a run (a row of the results) is among them."""
        own = (row["dataset"], row["encoding_label"], row["lam_text"], row["solver"])
        return any((c.dataset, c.encoding, c.lam_text, c.solver) == own for c in self.cells)


def find_ablations(results: Results, most: int = MOST_CELLS) -> Ablations:
    """The cells with several option sets of a solver; of very many those that took longest.

    Runs that find a whole λ-path do not take part: their work is that of many λ.
    """
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
    settings = [_settings(runs[label].iloc[0]) for label in labels]
    variants = [describe_first(solver, settings[0])]
    variants += [describe(settings[0], own) for own in settings[1:]]
    sets = [
        _option_set(variant, str(label), runs[label])
        for variant, label in zip(variants, labels, strict=True)
    ]
    first = group.iloc[0]
    return Ablation(
        dataset, encoding, float(first["lam"]), str(first["lam_text"]), solver, tuple(sets)
    )


def _settings(row: pd.Series[Any]) -> dict[str, Any]:
    """The options of a run with its limits; a limit has no option's name."""
    return {**json.loads(row["limits"]), **json.loads(row["solver_options"])}


def _option_set(variant: Variant, solver: str, rows: pd.DataFrame) -> OptionSet:
    good = rows[rows["ok"].to_numpy(bool)]
    extras = [extra_of(value) for value in good["extra"]]
    limited = bool(good["status"].isin(_LIMITED).any())
    proven = len(good) > 0 and bool((good["status"] == Status.OPTIMAL.value).all())

    def median(values: Any) -> float:
        return float(pd.Series(values, dtype=float).median())

    def of_extras(name: str) -> float:
        return median([count_of(extra, name) for extra in extras])

    measures = {name: median(good[name]) for name in ("seconds", "iterations", "nodes")}
    measures["peak_bytes"] = median(good["peak_bytes"])
    measures["trees_evaluated"] = of_extras("trees_evaluated")
    for name, entry in (
        ("seconds_to_optimum", "seconds_to_optimum"),
        ("trees_to_optimum", "trees_evaluated_to_optimum"),
    ):
        measures[name] = of_extras(entry) if proven else math.nan
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
    if "trace" not in extra:
        return None
    trace = trace_of(extra)
    if trace.empty:
        return None
    reached = count_of(extra, "seconds_to_optimum") if proven else math.nan
    return Execution(trace, pruned_of(extra), reached)


def ratio(own: OptionSet, first: OptionSet, measure: str) -> tuple[str, float]:
    """How many times the first one's a measure is.

    Returns
    -------
    sign : str
        ``>`` or ``<`` where one of the two was ended by a limit.
    factor : float
        Missing if nothing can be said.
    """
    a, b = own.measures[measure], first.measures[measure]
    if not (math.isfinite(a) and math.isfinite(b) and b > 0) or (own.limited and first.limited):
        return "", math.nan
    return ">" if own.limited else "<" if first.limited else "", a / b


def ablation_table(ablations: Sequence[Ablation]) -> pd.DataFrame:
    """One row an option set, for a file."""
    records = [record for ablation in ablations for record in _records(ablation)]
    return pd.DataFrame(records) if records else pd.DataFrame({"dataset": []})


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
