"""All encodings and solvers of a dataset in small panels: quality, size, time and work.

Each panel is a picture of its own, so that a narrow page stacks them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pipelines.report.analysis.lambda_paths import LambdaPath
from pipelines.report.charts.style import Dash
from pipelines.report.charts.svg_charts import Line, Panel, as_points, unproven
from pipelines.report.data import metrics


def overview_panels(
    paths: Sequence[LambdaPath], colours: dict[str, str], dashes: dict[str, Dash]
) -> list[Panel]:
    """The panels of the paths of a dataset, all with a point or more."""
    tables = [as_points(path) for path in paths]
    columns = metrics.quality_columns(tables[0])
    tested = any(table[columns.test].notna().any() for table in tables)
    quality = columns.test if tested else columns.train
    title = f"Held-out {columns.name} (mean)" if tested else f"Training {columns.name}"

    def lines(column: str, over: str = "lam", positive: bool = False) -> list[Line]:
        found = []
        for path, table in zip(paths, tables, strict=True):
            known = table[table[column].notna()]
            known = known[known[column] > 0] if positive else known
            if over != "lam":
                known = _one_each(known, over, column)
            if known.empty:
                continue
            found.append(
                Line(
                    known[over].to_numpy(float),
                    known[column].to_numpy(float),
                    colours[path.solver],
                    f"{path.encoding}, {path.solver}",
                    dashes[path.encoding],
                    unproven(known) if column == "objective" else None,
                )
            )
        return found

    panels = [
        Panel("Objective (training)", lines("objective")),
        Panel(title, lines(quality), percent=columns.percent),
        Panel(f"{title.split(' (')[0]} by leaves", lines(quality, "leaves"),
              percent=columns.percent, over="leaves (mean)"),
        Panel("Leaves (mean)", lines("leaves")),
        Panel("Search time in s (mean)", lines("seconds", positive=True), log=True),
        Panel("Iterations (mean)", lines("iterations", positive=True), log=True),
    ]  # fmt: skip
    return [panel for panel in panels if panel.lines]


def _one_each(table: pd.DataFrame, over: str, column: str) -> pd.DataFrame:
    """The best value at each size, from small to large."""
    return table.groupby(over, as_index=False)[[column]].max()


def coinciding(panel: Panel) -> str:
    """Says which lines of a panel lie on one another, as far as floats tell; empty if none do."""
    groups: list[list[Line]] = []
    for line in panel.lines:
        for group in groups:
            if _is_same(group[0], line):
                group.append(line)
                break
        else:
            groups.append([line])
    # The legend names a solver once; where other lines are of held-out rows, its own has no name.
    several = [
        "; ".join(line.name or "training" for line in group) for group in groups if len(group) > 1
    ]
    return f"{panel.title}: one curve for {' | '.join(several)}." if several else ""


def _is_same(one: Line, other: Line) -> bool:
    return (
        len(one.lams) == len(other.lams)
        and np.allclose(one.lams, other.lams, rtol=1e-12, atol=0)
        and np.allclose(one.values, other.values, rtol=1e-12, atol=1e-15)
    )
