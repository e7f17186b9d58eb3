"""Datasets and the digest of their content."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from solver.errors import InputError
from solver.problem.problem import Problem
from sweep.datasets import Dataset, table_digest

FRAME = pd.DataFrame(
    {
        "text": ["a", "é", None],
        "whole": [1, 2, 3],
        "real": [0.5, np.nan, -0.0],
        "flag": [True, False, True],
        "day": pd.to_datetime(["2024-01-01", None, "2024-01-03"]),
        "class": ["x", "y", "x"],
    }
)


def digest(frame: pd.DataFrame, target: str = "class", **columns) -> str:
    return table_digest(frame, target, columns)


class TestDigest:
    def test_is_the_same_on_every_machine(self):
        assert digest(FRAME) == "40f94e1dcd0806ba9c58a7c3dd5a644d99e89b91cee37435adc57bfd03d903b9"

    @pytest.mark.parametrize(
        "name, values",
        [
            ("text", pd.Categorical(["a", "é", None])),
            ("text", np.array(["a", "é", np.nan], dtype=object)),
            ("text", pd.array(["a", "é", None], dtype="string")),
            ("whole", np.array([1, 2, 3], dtype=np.int8)),
            ("whole", [1.0, 2.0, 3.0]),
            ("whole", pd.array([1, 2, 3], dtype="UInt16")),
            ("real", pd.array([0.5, None, 0.0], dtype="Float64")),
            ("real", np.array([0.5, np.nan, 0.0], dtype=np.float32)),
            ("flag", pd.array([True, False, True], dtype="boolean")),
            ("day", FRAME["day"].dt.as_unit("ns")),
            ("day", FRAME["day"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
        ],
    )
    def test_storage_does_not_matter(self, name, values):
        assert digest(FRAME.assign(**{name: values})) == digest(FRAME)

    @pytest.mark.parametrize(
        "change",
        [
            lambda f: f.assign(text=["a", "e", None]),
            lambda f: f.assign(text=["a", "é", "None"]),
            lambda f: f.assign(whole=[1, 2, 4]),
            lambda f: f.assign(whole=["1", "2", "3"]),
            lambda f: f.assign(whole=pd.Categorical([1, 2, 3])),
            lambda f: f.assign(flag=[1, 0, 1]),
            lambda f: f.assign(real=[0.5, 0.0, -0.0]),
            lambda f: f.assign(day=["2024-01-01", None, "2024-01-03"]),
            lambda f: f.rename(columns={"text": "texts"}),
            lambda f: f[["whole", "text", "real", "flag", "day", "class"]],
            lambda f: f.iloc[::-1],
            lambda f: f.iloc[:2],
        ],
    )
    def test_content_does_matter(self, change):
        assert digest(change(FRAME)) != digest(FRAME)

    def test_target_and_overrides_do_matter(self):
        assert digest(FRAME, "flag") != digest(FRAME)
        assert digest(FRAME, whole="number") != digest(FRAME)
        assert digest(FRAME, whole="number") != digest(FRAME, whole="category")

    def test_large_whole_numbers_are_told_apart(self):
        one, other = (FRAME.assign(whole=[2**60 + i, 0, 0]) for i in (0, 1))
        assert digest(one) != digest(other)


class TestDataset:
    def test_drops_what_is_to_be_dropped(self):
        frame = FRAME.assign(lists=[[1], [2], [3]])
        columns = {"lists": "drop", "text": {"kind": "drop"}, "whole": "number"}
        dataset = Dataset.build("d", frame, "class", columns)
        assert list(dataset.frame.columns) == ["whole", "real", "flag", "day", "class"]
        assert dataset.columns == {"whole": "number"}
        assert dataset.classes == ("x", "y")
        assert dataset.digest == table_digest(
            FRAME.drop(columns="text"), "class", {"whole": "number"}
        )
        problem = Problem.from_table(
            dataset.frame, dataset.target, "thresholds", columns=dataset.columns
        )
        assert problem.n_rows == 3

    def test_the_users_table_is_left_alone(self):
        frame = FRAME.set_index("whole")
        dataset = Dataset.build("d", frame, "class")
        assert frame.index.name == "whole"
        assert dataset.frame.index.tolist() == [0, 1, 2]

    @pytest.mark.parametrize(
        "frame, target, columns, message",
        [
            (FRAME, "klass", {}, "dataset 'd' has no column 'klass' for the target; it has 'text'"),
            (FRAME[:0], "class", {}, "dataset 'd' has no rows"),
            (FRAME[["class"]], "class", {}, "dataset 'd' has no feature"),
            (FRAME, "class", {"wole": "number"}, "dataset 'd': columns names 'wole', .*'whole'"),
            (FRAME, "class", {"whole": "integer"}, "dataset 'd': columns: whole: there is no kind"),
            (FRAME, "class", {"class": "number"}, "dataset 'd': columns names 'class', which is"),
            (
                FRAME.assign(lists=[[1], [2], [3]]), "class", {},
                r"column 'lists' holds list values.*columns=\{'lists': 'drop'\}",
            ),
            (FRAME.set_axis(["a", "a", "b", "c", "d", "class"], axis=1), "class", {}, "named 'a'"),
        ],
    )  # fmt: skip
    def test_errors(self, frame, target, columns, message):
        with pytest.raises(InputError, match=message):
            Dataset.build("d", frame, target, columns)


def test_what_differs_has_another_digest():
    big, decimal = 2**53, Decimal("0.1234567890123456789")
    moments = pd.to_datetime(["2024-01-01T00:00:00.000000000", "2024-01-01T00:00:00.000000050"])
    dates = [dt.date(2020, 1, day) for day in range(1, 9)]
    pairs = [
        (np.array([True, 1, 0], object), np.array([1, True, 0], object)),
        (np.array([True, 1], object), np.array([1, 1], object)),
        (np.array([big, 1], object), np.array([big + 1, 1], object)),
        ([big, 1], [big + 1, 1]),
        (moments, moments[::-1]),
        (pd.Series([decimal], dtype=object), pd.Series([decimal * 10], dtype=object)),
        (["1", "a"], np.array([1, "a"], object)),
        (dates, [str(date) for date in dates]),
        (pd.Categorical(dates), pd.Categorical([str(date) for date in dates])),
        (np.array([Decimal("0.5"), 3], object), np.array([0.5, 2], object)),
        (np.array([0.1], np.float32), np.array([0.1], np.float32).astype(float)),
    ]
    for one, other in pairs:
        frames = [pd.DataFrame({"x": values}) for values in (one, other)]
        assert digest(frames[0], "x") != digest(frames[1], "x")


def test_numbers_have_one_digest_whatever_their_types():
    """They are read alike."""
    types = ([Decimal("0.5"), 2], [0.5, 2], [Decimal("0.5"), Decimal(2)], [np.float32(0.5), 2.0])
    frames = [pd.DataFrame({"x": pd.Series(values, dtype=object)}) for values in types]
    assert len({digest(frame, "x") for frame in frames}) == 1


def test_moments_that_floats_merge_can_be_categories():
    day = pd.to_datetime(["2024-01-01T00:00:00.000000000", "2024-01-01T00:00:00.000000050"])
    frame = pd.DataFrame({"x": day, "y": [0, 1]})
    dataset = Dataset.build("t", frame, "y", {"x": "category"})
    problem = Problem.from_table(dataset.frame, "y", columns=dataset.columns)
    assert problem.n_features == 1
    with pytest.raises(InputError, match="'x' has moments that differ"):
        Problem.from_table(dataset.frame, "y", "thresholds")


@pytest.mark.parametrize(
    "column, value",
    [
        (["01", "02", "02"], "01"),
        ([1.0, 2.0, 2.0], 1),
        ([1, 2, 2], "1"),
        ([1, 2, 2], 1.0),
        (["1", "2", "2"], 1),
        ([True, False, False], "true"),
        (["1.0", "2.0", "x"], 1),
    ],
)
def test_test_rows_are_told_by_a_value_of_any_type(column, value):
    frame = pd.DataFrame({"part": column, "x": ["a", "b", "a"], "y": [0, 1, 1]})
    dataset = Dataset.build("t", frame, "y", test=("part", value))
    assert dataset.test_rows.tolist() == [True, False, False]


@pytest.mark.parametrize("dtype", ["float32", "Float32", "float[pyarrow]", "object", "category"])
def test_a_narrow_float_is_its_shortest_decimal(dtype):
    values = np.array([0.1, 0.2], np.float32)
    narrow = pd.Series([*values] if dtype == "object" else values, dtype=dtype)
    wide = pd.Series([0.1, 0.2], dtype=dtype if dtype in ("object", "category") else "float64")
    assert digest(pd.DataFrame({"x": narrow}), "x") == digest(pd.DataFrame({"x": wide}), "x")
