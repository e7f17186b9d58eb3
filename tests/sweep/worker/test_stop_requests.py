"""Which runs a worker has been asked to stop."""

from __future__ import annotations

import pytest

from sweep.worker import stop_requests
from sweep.worker.stop_requests import divide, is_divided, is_stopped, name_run, take_over


def test_a_run_is_stopped_by_a_later_one_of_the_same_store_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stop_requests, "_latest", {})
    first, second, other = name_run("here:/a"), name_run("here:/a"), name_run("here:/b")
    assert len({first, second, other}) == 3
    take_over(first)
    take_over(other)
    assert not is_stopped(first)
    take_over(second)
    assert is_stopped(first)
    assert not is_stopped(second)
    assert not is_stopped(other)


def test_a_division_that_is_heard_after_a_later_one_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stop_requests, "_parts", {})
    for number in (4, 2):
        divide("run", "key", number)
        assert [is_divided("run", "key", parts) for parts in (1, 2, 4)] == [True, True, False]
    assert not is_divided("run", "key", 8)  # it may begin before its worker hears of it
    assert not is_divided("run", "another", 1)
