"""The row of a result."""

from __future__ import annotations

import time

import pytest

from sweep.rows import result_rows


def test_a_row_lasts_as_long_as_it_took_whatever_the_clock_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = result_rows.Provenance("here", None, result_rows.now())
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 86_400)
    monkeypatch.setattr(result_rows, "now", lambda: pytest.fail("the clock is read again"))
    time.sleep(0.05)
    assert 0.05 <= (place.finished - place.started).total_seconds() < 3600
