"""How a single search went, beside the λ-path that it belongs to."""

from __future__ import annotations

from typing import Any

from pipelines.report.analysis.ablations import execution_of
from pipelines.report.analysis.paths import Path
from pipelines.report.analysis.report_data import Material
from pipelines.report.charts.figures import Album
from pipelines.report.charts.traces import trace_chart
from pipelines.report.data.solver_extras import extra_of
from pipelines.report.pages.ablations import PAGE, pruned_table
from solver.solution import Status


def execution_section(path: Path, material: Material, album: Album) -> dict[str, Any] | None:
    """The trace of a path's longest search that reports one; None if there is none, or in a large
    report. One that the page of ablations has is only named."""
    rows = material.results.by_lambda
    if material.is_large or not rows["extra"].notna().any():
        return None
    own = rows[
        (rows["dataset"] == path.dataset)
        & (rows["encoding_label"] == path.encoding)
        & (rows["solver_label"] == path.solver)
        & rows["extra"].notna()
    ]
    for _, row in own.sort_values("seconds", ascending=False, kind="stable").iterrows():
        found = execution_of(extra_of(row["extra"]), row["status"] == Status.OPTIMAL.value)
        if found is None:
            continue
        at = f"λ = {row['lam_text']}"
        if row["fold"] == row["fold"] and row["fold"] is not None:
            at += f", fold {int(row['fold']) + 1}"
        if material.ablations.has(row):
            return {"at": at, "link": PAGE, "chart": None, "pruned": None}
        label = f"Execution of {path.solver} on {path.dataset}, {path.encoding}, {at}"
        words = ("execution", path.dataset, path.encoding, path.solver)
        return {
            "at": at,
            "link": None,
            "chart": album.chart(trace_chart({path.solver: found}), label, *words),
            "pruned": pruned_table({path.solver: found}),
        }
    return None
