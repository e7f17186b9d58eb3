"""Accuracy against the number of splits, a line a rule family."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pipelines.report.analysis.rule_families import FamilySet
from pipelines.report.charts.axes import new_figure
from pipelines.report.charts.palette import COLOURS, MARKS

_PERCENT = FuncFormatter(lambda value, _: f"{100 * value:.4g} %")


def family_chart(found: FamilySet) -> Figure:
    """Training rows at the left, and, if any were held out, these at the right."""
    points = found.points
    tested = bool(points["test_accuracy"].notna().any())
    figure = new_figure(10 if tested else 5.6, 3.2)
    panels = figure.subplots(1, 2 if tested else 1, squeeze=False, sharey=True)[0]
    _panel(panels[0], found, "train_accuracy", "Training accuracy against splits")
    if tested:
        _panel(panels[1], found, "test_accuracy", "Held-out accuracy against splits")
    panels[0].yaxis.set_major_formatter(_PERCENT)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 5))
    return figure


def _panel(axes: Axes, found: FamilySet, column: str, title: str) -> None:
    for i, (family, line) in enumerate(found.points.groupby("family", sort=False)):
        x, y = line["splits"].to_numpy(float), line[column].to_numpy(float)
        proven = (line["proven"] == line["runs"]).to_numpy(bool)
        colour, mark = COLOURS[i % len(COLOURS)], MARKS[i % len(MARKS)]
        axes.plot(x, y, color=colour, linewidth=1.0, alpha=0.45)
        for part, face in ((proven, colour), (~proven, "white")):
            axes.plot(x[part], y[part], mark, color=colour, markerfacecolor=face)
        axes.plot([], [], mark, linestyle="-", color=colour, label=str(family))
        if column == "test_accuracy" and np.isfinite(line["test_error"].to_numpy(float)).any():
            spread = line["test_error"].fillna(0).to_numpy(float)
            axes.errorbar(x, y, spread, fmt="none", ecolor=colour, elinewidth=0.8, alpha=0.5)
    axes.set_title(title)
    axes.set_xlabel("splits (mean over folds)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
