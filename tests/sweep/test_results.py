"""Tests of sweep/results.py: rows by column are those that row by row would give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InputError
from sweep.keys import BUDGETS, KEY_COLUMNS
from sweep.parts import Parts
from sweep.results import (
    codes_of,
    groups_of,
    in_order,
    last_of_each,
    latest,
    latest_by_key,
    read_results,
    tasks_of,
)

LIMITS = ['{"depth":2}', '{"seconds":1.0}', '{"seconds":2.0}', '{"depth":2,"nodes":9}', "{}"]


def rows_of(draws: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """Rows of few tasks; numbers choose λ, fold, limits, attempt and time."""
    return [
        dict.fromkeys(KEY_COLUMNS, "x")
        | {
            "lam_exact": f"1/{lam}",
            "fold": fold if fold else None,
            "repeat": None,
            "limits": LIMITS[limits],
            "attempt": attempt,
            "finished": pd.Timestamp(when, unit="s", tz="UTC"),
            "key": f"{lam}/{fold}/{limits}",
            "place": place,
        }
        for place, (lam, fold, limits, attempt, when) in enumerate(draws)
    ]


draws = st.lists(
    st.tuples(*(st.integers(0, most) for most in (2, 2, 4, 2, 3))), min_size=1, max_size=40
)


def question(row: dict[str, Any]) -> tuple[Any, ...]:
    limits = {n: v for n, v in json.loads(row["limits"]).items() if n not in BUDGETS}
    return row["lam_exact"], row["fold"], json.dumps(limits, sort_keys=True)


@settings(deadline=None, max_examples=60)
@given(draws)
def test_the_last_row_of_each_task_is_that_of_a_plain_loop(numbers: list[tuple[int, ...]]) -> None:
    rows = rows_of(numbers)
    rows.sort(key=lambda row: (row["finished"], row["attempt"]))
    last = {question(row): row["place"] for row in rows}
    table = pa.Table.from_pylist(rows_of(numbers))
    order = in_order(table)
    assert [rows_of(numbers)[i]["place"] for i in order] == [row["place"] for row in rows]
    kept = order[last_of_each(tasks_of(table)[order])]
    expected = [row["place"] for row in rows if last[question(row)] == row["place"]]
    assert table["place"].to_numpy()[kept].tolist() == expected
    assert latest(pd.DataFrame(rows))["place"].tolist() == expected


@settings(deadline=None, max_examples=60)
@given(draws)
def test_the_latest_attempt_of_each_key_is_that_of_a_plain_loop(
    numbers: list[tuple[int, ...]],
) -> None:
    rows = rows_of(numbers)
    best: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["key"] not in best or row["attempt"] >= best[row["key"]]["attempt"]:
            best[row["key"]] = row
    found = latest_by_key(pa.Table.from_pylist(rows))
    assert sorted(found["place"].to_pylist()) == sorted(row["place"] for row in best.values())


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 5), min_size=1, max_size=60))
def test_groups_are_equal_where_all_parts_are(rows: list[tuple[int, ...]]) -> None:
    groups = groups_of([np.array(column) for column in zip(*rows, strict=True)])
    pairs = set(zip(rows, groups.tolist(), strict=True))
    assert len(pairs) == len(set(rows)) == len(set(groups.tolist()))


def test_codes_tell_null_from_text_whatever_the_chunks_are() -> None:
    column = pa.chunked_array([["a", None], ["b", "a"]])
    codes, values = codes_of(column)
    assert (codes.tolist(), values.to_pylist()) == ([0, 1, 2, 0], ["a", None, "b"])
    parts = [pa.array(["a"]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()]
    codes, values = codes_of(pa.chunked_array(parts))
    assert [values[code].as_py() for code in codes] == ["a", "b", "a"]


def test_some_columns_are_the_same_as_all(tmp_path: Path, rowmaker: Any) -> None:
    rowmaker.finish(tmp_path / "out")
    whole = read_results(tmp_path / "out")
    names = ["objective_exact", "lam", "dataset"]
    pd.testing.assert_frame_equal(read_results(tmp_path / "out", columns=names), whole[names])
    with pytest.raises(InputError, match="no column 'lambda'; it has: schema_version, key"):
        read_results(tmp_path / "out", columns=["lambda"])


def test_parts_can_be_made_smaller_as_they_are_read(tmp_path: Path, rowmaker: Any) -> None:
    rows = rowmaker.finish(tmp_path / "out")
    seen: list[int] = []

    def short(part: pa.Table) -> pa.Table:
        seen.append(len(part))
        return part.select(["key"]).slice(0, 2)

    found = Parts(tmp_path / "out").read(["key", "tree"], short)
    assert found.column_names == ["key"]
    assert len(found) == 2
    assert sum(seen) == len(rows)
