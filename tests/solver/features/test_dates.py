"""Moments as seconds: each is rounded once, whatever it is stored as."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.errors import InputError
from solver.features.columns import ColumnSpec
from solver.problem.problem import Problem
from solver.solve_problem import solve
from sweep.datasets.dataset import Dataset

DATE, CATEGORY = ColumnSpec("date"), ColumnSpec("category")


def objects(values):
    return pd.Series(values, dtype=object, name="x")


@given(
    st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=5, unique=True),
    st.sampled_from(["s", "ms", "us"]),
)
def test_the_unit_of_storage_does_not_matter(ticks, unit):
    per_second = {"s": 1, "ms": 10**3, "us": 10**6}[unit]
    ticks = [tick % (2**32 * per_second) for tick in ticks]
    given_ = pd.Series(np.array(ticks, dtype=f"datetime64[{unit}]"), name="x")
    expected = [float(Fraction(tick, per_second)) for tick in ticks]
    finer = given_.astype("datetime64[ns]")
    for column in (
        given_,
        finer,
        finer.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        finer.astype(pd.ArrowDtype(pa.timestamp("ns"))),
        finer.astype(object),
        objects([str(value) for value in given_.to_numpy()]),
        objects([f"{value}" for value in finer.to_numpy()]),  # with nine digits
    ):
        assert DATE.read(column).tolist() == expected, column.dtype


def test_a_rule_of_dates_is_what_predict_does():
    moments = ["2020-06-27T13:10:05.297324", "2020-06-27T13:10:05.297325"]
    table = pd.DataFrame({"x": np.array(moments, "datetime64[ns]"), "t": ["a", "b"]})
    tree = solve(Problem.from_table(table, "t", "thresholds"), 0).tree
    (test,) = tree.tests.values()
    assert test.shown == moments[0].rstrip("0")
    for column in (table["x"], table["x"].astype("datetime64[us]"), objects(moments)):
        assert tree.predict(pd.DataFrame({"x": column})).tolist() == ["a", "b"]
    micro = table.astype({"x": "datetime64[us]"})
    digests = {Dataset.build("d", frame, "t").digest for frame in (table, micro)}
    assert len(digests) == 1


@pytest.mark.parametrize(
    "values",
    [
        [pd.Period("2020", "Y"), pd.Period("2020-01", "M")],
        [pd.Period("2020-01-01", "D"), dt.date(2020, 1, 1)],
        [pd.Period("2020", "Y")],
        [pd.Interval(0, 1)],
        [dt.time(12)],
        [np.datetime64(5, "ps"), np.datetime64(0, "ps")],
    ],
)
def test_what_is_no_moment_is_refused(values):
    with pytest.raises(InputError, match=r"column 'x' (cannot be read as dates|has moments that)"):
        DATE.read(objects(values))


def test_moments_of_numpy_among_objects():
    values = [np.datetime64("1970-01-02", "D"), np.datetime64(1, "ns"), np.datetime64("NaT")]
    np.testing.assert_array_equal(DATE.read(objects(values)), [86400, 1e-9, np.nan])


def test_the_hour_that_a_clock_shows_twice():
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    twice = [dt.datetime(2020, 10, 25, 2, 30, tzinfo=zone, fold=fold) for fold in (0, 1)]
    column = objects([*twice, None, 1, True])
    found = CATEGORY.read(column).tolist()
    assert found == ["2020-10-25 00:30:00", "2020-10-25 01:30:00", None, 1, True]
    assert DATE.read(objects(twice)).tolist() == [1603585800, 1603589400]
    table = pd.DataFrame({"x": objects(twice), "t": ["a", "b"]})
    problem = Problem.from_table(table, "t", "onehot", columns={"x": "category"})
    assert solve(problem, 0).objective == 0


@pytest.mark.parametrize("dtype", [object, float, "boolean", pd.ArrowDtype(pa.decimal128(9, 2))])
def test_a_column_without_values_can_be_one_of_dates(dtype):
    assert np.isnan(DATE.read(pd.Series([None, None], dtype=dtype, name="x"))).all()
