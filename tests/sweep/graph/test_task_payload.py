"""What is sent of a task to a worker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sweep.graph.sharded_tasks import Shards
from sweep.graph.task_payload import CellMaker
from sweep.plan.plan import make_plan
from sweep.rows.result_rows import Checkpoint
from sweep.spec.spec import parse_spec

SPEC = """
name: payload
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.05]
solvers: [{solver: branches, shards: auto}]
"""


def reached(objective: str, seconds: float) -> Checkpoint:
    return Checkpoint("key", f"the tree of {objective}", objective, "0", seconds, 5)


@pytest.mark.parametrize(
    ("checkpoint", "begins_with", "incumbent"),
    [
        (None, "1/3", None),
        (reached("1/5", 0.0), "1/3", "the tree of 1/5"),  # of a shard
        (reached("1/2", 0.0), "1/3", None),
        (reached("1/5", 9.0), "1/5", None),
    ],
)
def test_a_search_that_goes_on_from_its_state_knows_the_best_tree(
    checkpoint: Checkpoint | None, begins_with: str, incumbent: str | None
) -> None:
    plan = make_plan(parse_spec(SPEC))
    held = SimpleNamespace(reached=reached("1/3", 7.0))
    store: Any = SimpleNamespace(
        states=True,
        state=lambda *_: held,
        checkpoint=lambda _: checkpoint,
        answers=SimpleNamespace(attempts=lambda _: 0),
    )
    maker = CellMaker(plan, store, Shards(store), "run")
    cell = maker.make(plan.task(0), deaths=0)
    assert cell.checkpoint is not None
    assert cell.checkpoint.objective == begins_with
    assert cell.incumbent == incumbent
    assert maker.held == {cell.key: held}
