"""Tests of sweep/graph/backlog.py."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sweep.graph.backlog import Backlog


def backlog(cells: list[tuple[int, float]]) -> Backlog:
    nodes = np.array([node for node, _ in cells], dtype=np.int64)
    costs = np.array([cost for _, cost in cells])
    return Backlog(np.arange(len(cells)), nodes, costs)


def test_the_longest_are_first_and_a_node_stays_together() -> None:
    waiting = backlog([(0, 1.0), (1, 1.1), (0, 1000.0), (1, 1001.0), (0, 1.2)])
    taken = []
    while len(waiting):
        taken += waiting.take(lambda node: 10)
    assert taken == [2, 3, 4, 0, 1]


def test_nodes_of_a_bucket_take_turns() -> None:
    waiting = backlog([(node, 1.0) for node in range(6) for _ in range(2)] + [(9, 100.0)])
    taken = [waiting.take(lambda node: 1)[0] for _ in range(13)]
    assert [number // 2 for number in taken] == [6, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 4, 5]


def test_tasks_given_back_are_next() -> None:
    waiting = backlog([(0, 5.0), (1, 1.0), (1, 1.0)])
    assert waiting.head == 0
    assert waiting.take(lambda node: 5) == [0]
    assert waiting.take(lambda node: 5) == [1, 2]
    waiting.give_back(1, [2])
    waiting.give_back(1, [])
    assert (len(waiting), waiting.head) == (1, 2)
    assert waiting.take(lambda node: 5) == [2]
    assert (len(waiting), waiting.head) == (0, None)


def test_a_node_can_be_taken_out() -> None:
    waiting = backlog([(0, 1.0), (1, 100.0), (0, 10000.0)])
    assert sorted(waiting.remove_node(0)) == [0, 2]
    assert len(waiting) == 1
    assert waiting.take(lambda node: 5) == [1]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.floats(1e-3, 1e9)), max_size=60),
    st.integers(1, 7),
)
def test_every_task_comes_once_and_no_much_longer_one_waits(
    cells: list[tuple[int, float]], most: int
) -> None:
    waiting = backlog(cells)
    taken: list[int] = []
    while len(waiting):
        part = waiting.take(lambda node: most)
        assert 0 < len(part) <= most
        assert len({cells[i][0] for i in part}) == 1
        taken += part
    assert sorted(taken) == list(range(len(cells)))
    costs = [cells[i][1] for i in taken]
    for i, cost in enumerate(costs):
        assert all(later < 4.001 * cost for later in costs[i:])
