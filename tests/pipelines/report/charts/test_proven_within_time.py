"""The two profiles of all runs: each line has its name."""

from __future__ import annotations

import pandas as pd
import pytest

from pipelines.report.charts.proven_within_time import profile_chart

LONG = "quantbnb (depth=3, splits=none, min_leaf_size=20) in 2 shards"
COLOURS = ("#000000", "#111111", "#222222", "#333333", "#444444")


@pytest.mark.parametrize("solvers", [1, 3, 5])
@pytest.mark.parametrize("encodings", [("onehot",), ("onehot", "quantiles")])
def test_every_line_has_one_name_in_a_legend(encodings, solvers):
    names = [f"solver-{i}" for i in range(solvers)]
    cells = [(encoding, name) for encoding in encodings for name in names]
    times = pd.DataFrame(cells, columns=["encoding", "solver"]).assign(seconds=0.5)
    excess = pd.DataFrame({"solver_label": names, "share": 0.1, "solvers": 2})
    figure = profile_chart(times, excess, dict(zip(names, COLOURS, strict=False)), encodings)
    shown = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert len(shown) == len(set(shown))
    assert len(figure.legends) <= 1
    for axes in figure.axes:
        inside = axes.get_legend()
        told = [text.get_text() for text in inside.get_texts()] if inside else shown
        lines = axes.get_legend_handles_labels()[1]
        assert lines
        assert set(lines) <= set(told)
        assert inside is None or told == lines


def test_a_legend_of_long_names_is_no_wider_than_the_figure() -> None:
    names = [f"{LONG}, {i}" for i in range(5)]
    times = pd.DataFrame({"encoding": "onehot", "solver": names, "seconds": 0.5})
    excess = pd.DataFrame({"solver_label": names, "share": 0.0, "solvers": 2})
    colours = dict(zip(names, COLOURS, strict=True))
    figure = profile_chart(times, excess, colours, ("onehot",))
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 10
    assert legend.get_window_extent().width <= figure.bbox.width
    right = figure.axes[1]
    assert [*right.get_xticks()] == [0]  # all are as good as the best: no digits of nothing
