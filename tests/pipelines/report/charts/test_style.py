"""Tests of pipelines/report/charts/style.py."""

from __future__ import annotations

from pipelines.report.charts.style import PERCENT


def test_a_share_that_is_not_whole_is_not_100_percent() -> None:
    shares = 0.99996, 0.1 + 0.2, 1.0
    assert [PERCENT(value) for value in shares] == ["99.996 %", "30 %", "100 %"]
