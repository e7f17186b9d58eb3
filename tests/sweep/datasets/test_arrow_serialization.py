"""Tests of sweep/datasets/arrow_serialization.py."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solver.errors import InputError
from solver.features.columns import ColumnSpec, infer_columns
from solver.problem.problem import Problem
from sweep.datasets import BUILTINS, Dataset, load_dataset
from sweep.datasets.arrow_serialization import pack, unpack

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
FLOAT = st.floats(allow_infinity=False, width=64)
DATE = st.dates(dt.date(1700, 1, 1), dt.date(2200, 1, 1))
MOMENT = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))


def listed(values: Any, n: int) -> Any:
    return st.lists(values, min_size=n, max_size=n)


def column(values: Any, dtype: str = "object") -> Any:
    return values.map(lambda v: pd.Series(v, dtype=dtype))


def columns(n: int) -> Any:
    """Columns of every kind that files and OpenML give, with and without missing values."""
    few = listed(st.sampled_from(["a", "b", "2", None]), n)
    moments, floats = listed(MOMENT, n), st.floats(width=32, allow_infinity=False)
    return st.one_of(
        listed(FLOAT, n).map(np.array),
        listed(st.integers(-5, 5), n).map(lambda v: np.array(v, np.int8)),
        listed(st.integers(-(2**63), 2**63 - 1), n).map(lambda v: np.array(v, np.int64)),
        listed(st.booleans(), n).map(np.array),
        listed(floats, n).map(lambda v: np.array(v, np.float32)),
        column(few),
        column(listed(TEXT, n), "string"),
        column(few, "str"),
        few.map(pd.Categorical),
        few.map(lambda v: pd.Categorical(v, ["b", "2", "a", "unused"], ordered=True)),
        listed(st.sampled_from([1, 2, 5, None]), n).map(pd.Categorical),
        column(listed(st.sampled_from([True, False, None]), n)),
        column(listed(st.sampled_from([1, 2.5, "x", True, None]), n)),
        column(listed(st.none() | DATE, n)),
        column(listed(st.none() | MOMENT, n), "datetime64[us]"),
        moments.map(lambda v: pd.Series(pd.to_datetime(v)).dt.tz_localize("UTC")),
        column(moments, "datetime64[s]").map(lambda v: v.dt.tz_localize("+02:00")),
        column(listed(st.none() | st.integers(-9, 9), n), "Int64"),
        column(listed(st.none() | st.booleans(), n), "boolean"),
        column(listed(st.none() | st.decimals(-99, 99, places=2), n)),
    )


@st.composite
def tables(draw: Any) -> Dataset:
    n = draw(st.integers(1, 12))
    frame = pd.DataFrame({f"f{i}": draw(columns(n)) for i in range(draw(st.integers(1, 4)))})
    frame["target"] = draw(listed(st.sampled_from(["yes", "no"]), n))
    wishes = st.sampled_from(["category", "number", {"missing": ["a", 2, -1.5]}])
    return Dataset.build("t", frame, "target", {"f0": draw(wishes)} if draw(st.booleans()) else {})


def readings(dataset: Dataset) -> Any:
    """What every test of every tree would read."""
    features = dataset.frame.drop(columns=[dataset.target])
    try:
        specs = infer_columns(features, dataset.columns)
        return {name: (spec, spec.read(features[name]).tolist()) for name, spec in specs.items()}
    except InputError as error:
        return str(error)


@settings(
    max_examples=250,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(tables())
def test_a_table_comes_back_with_its_digest_and_reads_alike(
    tmp_path: Path, dataset: Dataset
) -> None:
    pack(dataset, tmp_path / "t.arrow")
    back = unpack(tmp_path / "t.arrow", "t")
    assert back.digest == dataset.digest
    assert (back.target, back.columns) == (dataset.target, dataset.columns)
    np.testing.assert_equal(readings(back), readings(dataset))
    assert back.classes == dataset.classes if len(set(dataset.frame["target"])) > 1 else True


@pytest.mark.parametrize("encoding", ["categorical", "onehot", "thresholds", "quantiles"])
def test_what_is_encoded_is_the_same(tmp_path: Path, encoding: str) -> None:
    rng = np.random.default_rng(5)
    n = 200
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n).round(1),
            "gappy": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 40, n)),
            "kind": pd.Categorical.from_codes(rng.integers(-1, 3, n), ["x", "y", "z"]),
            "text": rng.choice(["a", "b", "ü λ"], n),
            "when": pd.Timestamp("2020-02-29") + pd.to_timedelta(rng.integers(0, 30, n), "D"),
            "class": rng.integers(0, 2, n),
        }
    )
    dataset = Dataset.build("t", frame, "class")
    pack(dataset, tmp_path / "t.arrow")
    back = unpack(tmp_path / "t.arrow", "t")
    cuts = encoding in ("thresholds", "quantiles")
    names = [*frame.columns] if cuts else ["kind", "text", "class"]
    one, two = (
        Problem.from_table(d.frame[names], target="class", encoding=encoding)
        for d in (dataset, back)
    )
    np.testing.assert_array_equal(one.codes, two.codes)
    assert one.tests == two.tests


@pytest.mark.parametrize("name", ["car", "monks-1"])
def test_the_built_in_tables_come_back(tmp_path: Path, name: str) -> None:
    assert name in BUILTINS
    dataset = load_dataset(name)
    pack(dataset, tmp_path / "t.arrow")
    assert unpack(tmp_path / "t.arrow", name).digest == dataset.digest


def test_it_is_small(tmp_path: Path) -> None:
    n = 100_000
    frame = pd.DataFrame({f"f{i}": (np.arange(n) // 7 % 5).astype(str) for i in range(4)})
    dataset = Dataset.build("t", frame.assign(y=np.arange(n) % 2), "y")
    pack(dataset, tmp_path / "t.arrow")
    assert (tmp_path / "t.arrow").stat().st_size < 400_000


@pytest.mark.parametrize(
    "values",
    [[1j, 2j], [b"a", b"b"], [dt.timedelta(1), dt.timedelta(2)], [pd.Period("2020"), None]],
)
def test_what_has_no_words_is_refused_in_a_line(tmp_path: Path, values: list[Any]) -> None:
    frame = pd.DataFrame({"f": pd.Series(values, dtype=object), "y": [0, 1]})
    dataset = Dataset("t", frame, "y", {}, "0" * 64)
    with pytest.raises(InputError, match="cannot be sent to the workers") as caught:
        pack(dataset, tmp_path / "t.arrow")
    assert "\n" not in str(caught.value)


def test_decimals_stay_decimals(tmp_path: Path) -> None:
    frame = pd.DataFrame({"f": [Decimal("1.10"), None], "y": [0, 1]})
    dataset = Dataset.build("t", frame, "y")
    pack(dataset, tmp_path / "t.arrow")
    assert unpack(tmp_path / "t.arrow", "t").frame["f"][0] == Decimal("1.10")


@pytest.mark.parametrize("dtype", ["float32", "Float32", "float[pyarrow]", "object", "category"])
def test_narrow_floats_keep_their_values(tmp_path: Path, dtype: str) -> None:
    values = np.array([0.1, 0.3], np.float32)
    column = pd.Series([*values] if dtype == "object" else values, dtype=dtype)
    dataset = Dataset.build("t", pd.DataFrame({"x": column, "y": ["a", "b"]}), "y")
    pack(dataset, tmp_path / "t.arrow")
    back = unpack(tmp_path / "t.arrow", "t")
    assert ColumnSpec("number").read(back.frame["x"]).tolist() == [0.1, 0.3]


def test_damage_is_found(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    dataset = load_dataset("monks-1")
    pack(dataset, path)
    whole = path.read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError, match="is damaged, or no table of treesweep's"):
            unpack(path, "t")
    with pytest.raises(FileNotFoundError):
        unpack(tmp_path / "none.arrow", "t")


@pytest.mark.parametrize("about", [None, {"version": 2}, {"version": 1}, [1]])
def test_other_arrow_files_are_refused(tmp_path: Path, about: Any) -> None:
    metadata = {} if about is None else {"treesweep-table": json.dumps(about)}
    table = pa.table({"a": [1]}).replace_schema_metadata(metadata)
    with pyarrow.ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(InputError, match="no table of treesweep's"):
        unpack(tmp_path / "t.arrow", "t")
