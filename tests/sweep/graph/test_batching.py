"""Batches come to take what they should, whatever tasks take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweep.graph.batching import LARGEST, Batching
from sweep.plan.plan import Node, make_plan
from sweep.spec.spec import parse_spec

SPEC = """
name: batches
datasets: [monks-1, monks-2]
encodings: [onehot]
lambdas: [0.1]
solvers: [branches]
validation: {kind: kfold, folds: 2}
"""


@pytest.fixture(scope="module")
def nodes() -> list[Node]:
    return make_plan(parse_spec(SPEC)).nodes


def run(sizes: Batching, node: Node, task: float, budget: float = 0.5) -> float:
    """One batch of tasks that take so many seconds each, on a worker; what it takes."""
    sent = sizes.size(node)
    done, spent = 0, 0.0
    while done < sent and (done == 0 or spent <= budget):
        done, spent = done + 1, spent + task
    sizes.took(node, sent, done, spent)
    return spent


@pytest.mark.parametrize("task", [1e-5, 3e-4, 2e-3, 0.05, 0.3, 0.6, 20.0])
def test_they_take_about_half_a_second_or_hold_one_task(nodes: list[Node], task: float) -> None:
    sizes = Batching(0.5)
    assert sizes.size(nodes[0]) == 1
    spent = [run(sizes, nodes[0], task) for _ in range(12)]
    assert all(seconds <= max(task, 0.5 + task) for seconds in spent)
    if task > 1:
        assert sizes.size(nodes[0]) == 1
        assert sizes.last_seconds == task
    elif LARGEST * task < 0.25:
        assert sizes.size(nodes[0]) == LARGEST
    else:
        assert spent[-1] >= 0.2
        assert sizes.last_seconds == spent[-1]


def test_folds_learn_from_each_other_and_datasets_do_not(nodes: list[Node]) -> None:
    sizes = Batching(0.5)
    for _ in range(6):
        run(sizes, nodes[0], 1e-3)
    assert nodes[1].info.dataset == nodes[0].info.dataset != nodes[2].info.dataset
    assert sizes.size(nodes[1]) == sizes.size(nodes[0]) > 100
    assert sizes.size(nodes[2]) == 1


@given(st.lists(st.floats(1e-5, 5.0), min_size=1, max_size=40))
def test_sizes_stay_within_bounds(nodes: list[Node], tasks: list[float]) -> None:
    node, sizes = nodes[0], Batching(0.5)
    for task in tasks:
        before = sizes.size(node)
        run(sizes, node, task)
        assert 1 <= sizes.size(node) <= min(LARGEST, 4 * before)
