"""Small charts: what is drawn of very many points, and that it is an SVG."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.report.analysis.lambda_paths import make_paths
from pipelines.report.charts.svg_charts import Line, Panel, path_panels, small_chart, thin
from pipelines.report.data.results import label_results
from tests.helpers.report_rows import as_frame, as_plan, path_row, run_row


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(-10, 10), min_size=1, max_size=400), st.integers(3, 30))
def test_thinning_keeps_the_ends_and_the_extremes_of_every_column(
    values: list[float], columns: int
) -> None:
    places, heights = np.arange(len(values), dtype=float), np.array(values)
    kept = thin(places, heights, columns)
    assert kept[0] == 0
    assert kept[-1] == len(values) - 1
    if len(values) <= 4 * columns:
        assert len(kept) == len(values)
        return
    assert len(kept) <= 4 * columns
    column = (places / places[-1] * (columns - 1)).astype(int)
    for number in set(column.tolist()):
        own = heights[column == number]
        drawn = heights[kept[column[kept] == number]]
        assert (drawn.min(), drawn.max()) == (own.min(), own.max())


def test_a_chart_of_very_many_points_stays_small_and_is_xml() -> None:
    lams = np.geomspace(1e-4, 0.3, 100_000)
    line = Line(lams, np.sin(300 * lams), "#000", "<a> & b", open=lams < 1e-3)
    svg = small_chart([Panel("wild", [line], marks=[0.01])], 'a "chart"')
    assert len(svg) < 40_000
    root = ElementTree.fromstring(svg)
    words = [element.text for element in root.iter() if element.text]
    assert "<a> & b" in words
    assert any("not all proven" in word for word in words)


def test_paths_of_all_kinds_can_be_sketched() -> None:
    grid = [run_row(lam=lam, fold=fold) for lam in ("0.2", "0.05", "0") for fold in range(2)]
    whole = [path_row("other", fold=fold, lam="0") for fold in range(2)]
    paths = make_paths(label_results(as_frame([*grid, *whole]), as_plan([*grid, *whole])))
    assert len(paths) == 2
    for path in paths:
        svg = small_chart(path_panels(path, "#0072B2"), "a path")
        ElementTree.fromstring(svg)
        assert svg.count("<polyline") == 5
        assert "nan" not in svg


def test_one_value_everywhere_still_has_a_scale() -> None:
    svg = small_chart([Panel("flat", [Line(np.array([0.1, 0.2]), np.zeros(2), "#000")])], "flat")
    ElementTree.fromstring(svg)
    assert "nan" not in svg


@pytest.mark.parametrize("percent", [False, True])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "values",
    [[1, 1], [1, 1 + 1e-13], [0.99951, 0.99984], [0.26000001, 0.26000004], [0.2, 0.3], [2, 500]],
)
def test_labels_of_an_axis_are_different_and_true(
    values: list[float], log: bool, percent: bool
) -> None:
    """99.96 % is not 100 %, and an axis from 1 to 1 says nothing."""
    line = Line(np.array([0.1, 0.2]), np.array(values), "#000")
    svg = small_chart([Panel("p", [line], percent=percent, log=log)], "chart")
    found = re.findall(r'y="([0-9.]+)" text-anchor="end">([0-9.e-]+)', svg)
    places, labels = zip(*((float(y), float(text)) for y, text in found), strict=True)
    assert len(set(labels)) == len(labels)
    heights = np.array(labels) / (100 if percent else 1)
    drawn = re.search(r'points="([0-9., ]+)"', svg)
    assert drawn
    ends = [float(point.split(",")[1]) for point in drawn[1].split()]
    if len(labels) == 1:
        assert np.allclose(ends, places[0] - 3, atol=1)
        return
    scaled = np.log10(heights) if log else heights
    wanted = np.interp(np.log10(values) if log else values, scaled, places) - 3
    inside = (np.array(values) >= min(heights)) & (np.array(values) <= max(heights))
    assert np.allclose(np.array(ends)[inside], wanted[inside], atol=1)


def test_the_last_label_of_the_horizontal_axis_is_in_the_picture() -> None:
    line = Line(np.array([1.0, 19 / 3]), np.array([0.5, 0.6]), "#000")
    svg = small_chart([Panel("p", [line], over="leaves (mean)")], "chart")
    found = re.findall(r'<text x="([0-9.]+)" y="[0-9]+" text-anchor="middle">([0-9.]+)<', svg)
    assert [text for _, text in found] == ["1", "6.333"]
    assert float(found[-1][0]) + 3 * len("6.333") <= 310
