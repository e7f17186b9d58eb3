"""Tests of sweep/store/read_results.py: rows by column are those that row by row would give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InputError
from sweep.store.part_files import Parts
from sweep.store.read_results import combine_codes, dictionary_codes, read_results
from tests.helpers import without_dask


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 5), min_size=1, max_size=60))
def test_groups_are_equal_where_all_parts_are(rows: list[tuple[int, ...]]) -> None:
    groups = combine_codes([np.array(column) for column in zip(*rows, strict=True)])
    pairs = set(zip(rows, groups.tolist(), strict=True))
    assert len(pairs) == len(set(rows)) == len(set(groups.tolist()))


def test_codes_tell_null_from_text_whatever_the_chunks_are() -> None:
    column = pa.chunked_array([["a", None], ["b", "a"]])
    codes, values = dictionary_codes(column)
    assert (codes.tolist(), values.to_pylist()) == ([0, 1, 2, 0], ["a", None, "b"])
    parts = [pa.array(["a"]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()]
    codes, values = dictionary_codes(pa.chunked_array(parts))
    assert [values[code].as_py() for code in codes] == ["a", "b", "a"]


def test_some_columns_are_the_same_as_all(tmp_path: Path) -> None:
    without_dask.finish(tmp_path / "out")
    whole = read_results(tmp_path / "out")
    names = ["objective_exact", "lam", "dataset"]
    pd.testing.assert_frame_equal(read_results(tmp_path / "out", columns=names), whole[names])
    with pytest.raises(InputError, match="no column 'lambda'; it has: schema_version, key"):
        read_results(tmp_path / "out", columns=["lambda"])


def test_parts_can_be_made_smaller_as_they_are_read(tmp_path: Path) -> None:
    rows = without_dask.finish(tmp_path / "out")
    seen: list[int] = []

    def short(part: pa.Table) -> pa.Table:
        seen.append(len(part))
        return part.select(["key"]).slice(0, 2)

    found = Parts(tmp_path / "out").read(["key", "tree"], short)
    assert found.column_names == ["key"]
    assert len(found) == 2
    assert sum(seen) == len(rows)
