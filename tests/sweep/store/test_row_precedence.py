"""Tests of sweep/store/row_precedence.py: the rule by columns is that of a plain loop."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.solution import Status
from sweep.store.row_precedence import called_today, of_tasks, rows_of_tasks

Row = dict[str, Any]

RUNS = st.lists(
    st.builds(
        lambda key, status, attempt: {"key": key, "status": status.value, "attempt": attempt},
        st.sampled_from("abc"), st.sampled_from(Status), st.integers(1, 3),
    ),
    max_size=12,
)  # fmt: skip
TASKS = st.lists(
    st.builds(
        lambda key, other: {"key": key, "answered_by": other},
        st.sampled_from("abcd"), st.sampled_from([None, *"abcd"]),
    ),
    max_size=6,
)  # fmt: skip


def worth(row: Row) -> int:
    if row["status"] in ("error", "killed"):
        return 0
    return 2 if row["status"] in ("optimal", "heuristic") else 1


def best(rows: list[Row], key: str) -> int | None:
    own = [i for i, row in enumerate(rows) if row["key"] == key]
    return max(own, key=lambda i: (worth(rows[i]), rows[i]["attempt"], i), default=None)


@settings(deadline=None)
@given(RUNS, TASKS, st.integers(1, 4))
def test_the_row_of_each_task_is_that_of_a_plain_loop(
    rows: list[Row], tasks: list[Row], size: int
) -> None:
    kinds = pa.schema([("key", pa.string()), ("status", pa.string()), ("attempt", pa.int32())])
    table = pa.Table.from_pylist(rows, schema=kinds)
    chunks = [table.slice(i, size) for i in range(0, len(table), size)]
    table = pa.concat_tables([kinds.empty_table(), *chunks])
    plan = pa.table(
        {name: pa.array([t[name] for t in tasks], pa.string()) for name in ("key", "answered_by")}
    )
    expected = [best(rows, task["answered_by"] or task["key"]) for task in tasks]
    found = rows_of_tasks(plan, table).tolist()
    assert found == [-1 if place is None else place for place in expected]


def test_rows_are_called_what_the_plan_calls_their_tasks() -> None:
    """Also where two tasks have one row, and where a row answers a task of larger limits."""
    tasks = [
        {"key": "k", "answered_by": "k", "dataset": "one", "lam_label": "0.1", "limits": "{}"},
        {"key": "k", "answered_by": "k", "dataset": "two", "lam_label": "2/n", "limits": "{}"},
        {"key": "l", "answered_by": "m", "dataset": "one", "lam_label": "0.2", "limits": "more"},
    ]
    old = {"dataset": "old", "sweep": "before", "lam_label": "0.10", "limits": "less"}
    rows = [{"key": key, "status": "optimal", "attempt": 1, **old} for key in "kmx"]
    plan, stored = pa.Table.from_pylist(tasks), pa.Table.from_pylist(rows)
    place = rows_of_tasks(plan, stored)
    assert place.tolist() == [0, 0, 1]
    found = of_tasks(pd.DataFrame(rows).iloc[place], pd.DataFrame(tasks), "today")
    names = ["key", "dataset", "lam_label", "limits", "sweep"]
    assert found[names].to_numpy().tolist() == [
        ["k", "one", "0.1", "{}", "today"],
        ["k", "two", "2/n", "{}", "today"],
        ["l", "one", "0.2", "more", "today"],
    ]
    called = called_today(stored, plan).select(["key", "dataset", "lam_label", "limits", "planned"])
    assert [[*row.values()] for row in called.to_pylist()] == [
        ["k", "one", "0.1", "less", True],
        ["m", "one", "0.2", "less", True],
        ["x", "old", "0.10", "less", False],
    ]
