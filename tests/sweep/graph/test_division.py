"""Which running search is divided among idle workers."""

from __future__ import annotations

import pytest

from sweep.graph import division
from sweep.graph.division import LONG, Division, Search


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as the division sees it."""
    found = [100.0]
    monkeypatch.setattr(division.time, "monotonic", lambda: found[0])
    return found


def test_the_search_that_has_run_for_longest_gets_all_idle_workers(clock: list[float]) -> None:
    chooser, searches = Division(), {"a": Search(1, 1)}
    assert chooser.choose(searches, 3, 99) is None
    clock[0] += 0.5 * LONG
    searches["b"] = Search(1, 1)
    assert chooser.choose(searches, 3, 99) is None
    clock[0] += 2 * LONG
    assert chooser.choose(searches, 3, 99) == ("a", 4, 2.5 * LONG)
    searches["a"] = Search(4, 4)
    assert chooser.choose(searches, 1, 99) == ("b", 2, 2 * LONG)


@pytest.mark.parametrize(
    ("search", "idle", "number"),
    [
        (Search(1, 1), 0, None),
        (Search(1, 1), 1, 2),
        (Search(2, 2), 1, None),
        (Search(2, 2), 2, 4),
        (Search(2, 1), 1, None),  # the other shard is done: no division without end
        (Search(2, 1), 3, 4),
        (Search(2, 2), 50, 9),
        (Search(9, 9), 50, None),
        (Search(1, 1), -5, None),
    ],
)
def test_the_number_of_shards_at_least_doubles(
    clock: list[float], search: Search, idle: int, number: int | None
) -> None:
    chooser = Division()
    assert chooser.choose({"a": search}, idle, 9) is None
    clock[0] += LONG
    found = chooser.choose({"a": search}, idle, 9)
    assert found == (None if number is None else ("a", number, LONG))


def test_a_divided_search_is_left_alone_for_a_while(clock: list[float]) -> None:
    chooser = Division()
    for parts in (1, 2, 4):
        assert chooser.choose({"a": Search(parts, parts)}, parts, 99) is None
        clock[0] += LONG
        assert chooser.choose({"a": Search(parts, parts)}, parts, 99) == ("a", 2 * parts, LONG)
    chooser.choose({}, 0, 99)
    assert chooser.choose({"a": Search(1, 1)}, 1, 99) is None  # begun again
