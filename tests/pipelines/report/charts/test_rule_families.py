"""Tests of pipelines/report/charts/rule_families.py."""

from __future__ import annotations

import warnings

import numpy as np

from pipelines.report.analysis.decision_regions import Plane, Regions, Span
from pipelines.report.charts.rule_families import _draw
from pipelines.report.charts.style import new_figure


def test_a_split_that_the_plane_does_not_reach_is_not_drawn() -> None:
    middles, classes = np.array([0.25, 0.75]), np.zeros((2, 2), np.int64)
    seen, unseen = np.array([[-1.0, 1.0], [-1.0, 1.0]]), np.full((2, 2), np.nan)
    plane = Plane(("a", "b"), (Span(0, 1), Span(0, 1)), {}, 1.0)
    axes = new_figure(3, 3).subplots()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _draw(axes, Regions(middles, middles, classes, [seen, unseen]), plane)
    assert len(axes.collections) == 1
