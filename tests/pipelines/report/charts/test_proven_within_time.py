"""The two profiles of all runs: each line has its name."""

from __future__ import annotations

import pandas as pd
import pytest

from pipelines.report.charts.proven_within_time import profile_chart

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
