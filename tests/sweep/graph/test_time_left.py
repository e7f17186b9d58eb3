"""Tests of sweep/graph/time_left.py."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sweep.graph.time_left import TimeLeft
from sweep.plan.plan import Plan, make_plan
from sweep.spec.spec import parse_spec

SPEC = """\
name: small
datasets: [monks-1, monks-3]
encodings: onehot
lambdas: [0.1, 0.2, 0.3, 0.4]
solvers: [branches, cart]
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(parse_spec(SPEC))


def rows(dataset: str, solver: str, *seconds: float | None) -> pa.RecordBatch:
    number = len(seconds)
    return pa.RecordBatch.from_pydict(
        {"dataset": [dataset] * number, "solver": [solver] * number, "seconds": [*seconds]}
    )


def test_equal_tasks_take_as_long_as_those_that_are_done(plan: Plan) -> None:
    left = TimeLeft(plan, np.arange(16))
    assert left.estimate(1.0) is None
    left.take(rows("monks-1", "branches", 1.0, 1.0, 1.0, 1.0))
    assert left.estimate(8.0) == pytest.approx(24.0)


def test_each_solver_and_dataset_has_its_own_tasks_as_measure(plan: Plan) -> None:
    left = TimeLeft(plan, np.arange(16))
    left.take(rows("monks-1", "branches", 9.999, 9.999))
    left.take(rows("monks-1", "cart", 0.999, 0.999))
    left.take(rows("monks-3", "cart", 1.999))
    # Left are 2 × 10 s and 4 × 10 s (branches), 2 × 1 s and 3 × 2 s (cart); 24 s were done.
    assert left.estimate(24.0) == pytest.approx(68.0)
    assert left.estimate(12.0) == pytest.approx(34.0)  # two at a time


def test_tasks_that_are_answered_or_done_take_no_more_time(plan: Plan) -> None:
    left = TimeLeft(plan, np.array([0, 1, 15]))
    left.take(rows("monks-1", "branches", 2.0, None))
    left.take(rows("monks-3", "cart", 5.0))
    assert left.estimate(7.0) == 0.0


def test_too_few_tasks_say_nothing() -> None:
    many = SPEC.replace("[0.1, 0.2, 0.3, 0.4]", "{from: 0.1, to: 0.001, count: 30}")
    plan = make_plan(parse_spec(many))
    left = TimeLeft(plan, np.arange(plan.n_tasks))
    left.take(rows("monks-1", "cart", *[1.0] * 5))
    assert left.estimate(5.0) is None
    left.take(rows("monks-1", "cart", 1.0))
    assert left.estimate(6.0) == pytest.approx(114.0)
