"""What a worker gives back of a slow batch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sweep.graph.submit_and_collect import Window


def a_window(tasks: list[str], is_stopping: bool = False) -> Any:
    """As much of a window as has one batch out."""
    window = SimpleNamespace(submitted=[], returned=[], _is_stopping=is_stopping)
    window._out = {"slow": SimpleNamespace(tasks=tasks, priority=-7)}
    window.shards = SimpleNamespace(is_outdated=lambda task: task == "divided meanwhile")
    window._submit = lambda part, priority: window.submitted.append((part, priority))
    window._give_back = window.returned.extend
    return window


def test_the_rest_goes_to_other_workers_before_what_was_submitted_since() -> None:
    window = a_window(["a", "b", "divided meanwhile", "c"])
    Window._take_rest(window, "slow", 1)
    assert window.submitted == [(["b"], -7), (["c"], -7)]
    assert window._out["slow"].tasks == ["a"]
    assert not window.returned


@pytest.mark.parametrize(("key", "begun"), [("slow", 3), ("slow", 9), ("gone", 0)])
def test_nothing_is_left_of_a_batch_that_has_begun_or_is_not_out(key: str, begun: int) -> None:
    window = a_window(["a", "b", "c"])
    Window._take_rest(window, key, begun)
    assert not window.submitted
    assert window._out["slow"].tasks == ["a", "b", "c"]


def test_nothing_is_submitted_once_the_run_stops() -> None:
    window = a_window(["a", "b"], is_stopping=True)
    Window._take_rest(window, "slow", 1)
    assert window.returned == ["b"]
    assert not window.submitted
