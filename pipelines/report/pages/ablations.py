"""The page of ablations: for each problem the option sets of a solver, compared with the first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pipelines.report.analysis.ablations import (
    SWITCHES,
    Ablation,
    Ablations,
    Execution,
    OptionSet,
    ratio,
)
from pipelines.report.charts.ablations import MOST_RUNS, ratio_chart, trace_chart
from pipelines.report.data import formatting
from pipelines.report.save_figures import Figures

PAGE = "ablations.html"
MOST_SHOWN = 20
"""The largest number of cells on the page; the table has all."""


def ablation_sections(ablations: Ablations, figures: Figures) -> list[dict[str, Any]]:
    """What the page shows of each cell; of too many those that took longest."""
    cells = ablations.cells
    longest = sorted(cells, key=_cost, reverse=True)[:MOST_SHOWN]
    return [_section(i, cell, figures) for i, cell in enumerate(c for c in cells if c in longest)]


def _cost(cell: Ablation) -> float:
    return math.fsum(s for one in cell.sets if math.isfinite(s := one.measures["seconds"]))


def _section(number: int, cell: Ablation, figures: Figures) -> dict[str, Any]:
    name = f"{cell.solver} on {cell.dataset}, {cell.encoding}, λ = {cell.lam_text}"
    return {
        "id": f"ablation-{number + 1}",
        "name": name,
        "first": cell.sets[0].variant.label,
        "groups": [_group(cell, kind, name, figures) for kind in cell.kinds],
    }


def _group(cell: Ablation, kind: str, name: str, figures: Figures) -> dict[str, Any]:
    """A table of option sets that differ from the first in one thing, and its charts."""
    sets = cell.of_kind(kind)
    # The work of a search is the number of trees if it counts these, otherwise its iterations.
    work = "iterations"
    if any(math.isfinite(own.measures["trees_evaluated"]) for own in sets):
        work = "trees_evaluated"
    to_best = ("seconds_to_optimum", "trees_to_optimum")
    words = (cell.dataset, cell.encoding, cell.lam_text, cell.solver, kind)
    work_words = work.replace("_", " ")
    bars = ratio_chart(sets, [("seconds", "time"), (work, work_words)])
    label = f"{name}: {_title(kind)}"
    return {
        "title": _title(kind),
        "work": work_words,
        "reached": [any(math.isfinite(own.measures[key]) for own in sets) for key in to_best],
        "rows": [_row(own, sets[0], work) for own in sets],
        "chart": None if bars is None else figures.chart(bars, label, "ablation", *words),
        **_executions(sets, label, words, figures),
    }


def _title(kind: str) -> str:
    return {SWITCHES: "One switch at a time"}.get(kind, kind.capitalize())


def _row(own: OptionSet, first: OptionSet, work: str) -> dict[str, Any]:
    measures = own.measures
    bound = ">" if own.limited else ""
    row: dict[str, Any] = {
        "label": own.variant.label,
        "solver": own.solver,
        "is_first": own is first,
        "status": _status(own),
        "good": set(own.statuses) == {"optimal"},
        "bad": bool({"error", "killed"} & set(own.statuses)),
        "runs": own.runs,
    }
    for key, value, show in (
        ("seconds", measures["seconds"], formatting.seconds),
        ("work", measures[work], formatting.mean_count),
        ("nodes", measures["nodes"], formatting.mean_count),
        ("memory", measures["peak_bytes"], formatting.size),
    ):
        there = math.isfinite(value) and not (key == "memory" and value == 0)
        row[key] = f"{bound}{show(value)}" if there else formatting.NONE
    for key, name in (("seconds_ratio", "seconds"), ("work_ratio", work)):
        sign, factor = ratio(own, first, name)
        row[key] = "" if own is first else f"{sign}{formatting.ratio(factor)}×"
        if not math.isfinite(factor):
            row[key] = formatting.NONE if own is not first else ""
    row["seconds_to_optimum"] = formatting.seconds(measures["seconds_to_optimum"])
    row["trees_to_optimum"] = formatting.mean_count(measures["trees_to_optimum"])
    return row


def _status(own: OptionSet) -> str:
    words = [(number, status.replace("_", " ")) for status, number in own.statuses.items()]
    if len(words) == 1:
        return words[0][1]
    return ", ".join(f"{number} {status}" for number, status in words)


def _executions(
    sets: Sequence[OptionSet], label: str, words: tuple[str, ...], figures: Figures
) -> dict[str, Any]:
    """The traces in one chart, and what the bounds pruned."""
    runs = {own.variant.label: own.execution for own in sets if own.execution is not None}
    if not runs:
        return {"trace": None, "pruned": None, "left_out": 0}
    drawn = dict([*runs.items()][:MOST_RUNS])
    return {
        "trace": figures.chart(trace_chart(drawn), f"{label}: execution traces", "trace", *words),
        "pruned": pruned_table(runs),
        "left_out": len(runs) - len(drawn),
    }


def pruned_table(runs: dict[str, Execution]) -> dict[str, Any] | None:
    """What each bound pruned in each run, and the sum; None if unknown."""
    bounds = list(dict.fromkeys(name for run in runs.values() for name in run.pruned))
    if not bounds:
        return None
    rows = [
        {
            "label": label,
            "counts": [formatting.whole(run.pruned.get(name, math.nan)) for name in bounds],
            "total": formatting.whole(
                math.fsum(v for v in run.pruned.values() if math.isfinite(v))
            ),
        }
        for label, run in runs.items()
    ]
    return {"bounds": [name.replace("_", " ") for name in bounds], "rows": rows}
