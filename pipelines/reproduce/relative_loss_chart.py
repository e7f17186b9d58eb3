"""Figure 2 of the Quant-BnB paper, drawn from what ``treesweep reproduce`` found."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipelines.report.charts.style import FAINT, PERCENT, new_figure, solver_colours
from pipelines.reproduce.quantbnb_test_losses import HEURISTICS, relative_losses


def relative_loss_chart(results: pd.DataFrame) -> Figure:
    """Figure 2 of the Quant-BnB paper: bars of relative losses, a panel for each limit on depth.

    To the right of 0 the optimal tree has the smaller loss on test rows.
    """
    found = relative_losses(results)
    datasets, depths = found["dataset"].unique(), sorted(found["depth"].unique())
    figure = new_figure(10, 1.2 + 0.32 * len(datasets))
    grid = figure.subplots(1, max(len(depths), 1), sharey=True, squeeze=False)
    for depth, axes in zip(depths, grid[0], strict=False):
        axes.set_title(f"depth {depth}")
        _bars(axes, found[found["depth"] == depth], list(datasets))
    return figure


def _bars(axes: Axes, found: pd.DataFrame, datasets: list[str]) -> None:
    colours = solver_colours(HEURISTICS)
    for number, solver in enumerate(HEURISTICS):
        own = found[found["solver"] == solver]
        places = np.array([datasets.index(name) for name in own["dataset"]], float)
        places += 0.38 * (number - (len(HEURISTICS) - 1) / 2)
        axes.barh(places, own["relative"], height=0.34, color=colours[solver], label=solver)
    axes.axvline(0, color=FAINT, linewidth=1)
    axes.set_yticks(range(len(datasets)), datasets)
    axes.set_ylim(len(datasets) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.xaxis.set_major_formatter(PERCENT)
    axes.set_xlabel("test loss above that of the optimal tree")
    axes.legend(loc="best")


PAPER_FIGURES: Mapping[str, Callable[[pd.DataFrame], Figure]] = {
    "quantbnb-figure2": relative_loss_chart
}
"""By experiment: the figure of its results."""
