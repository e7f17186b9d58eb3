"""How raw columns are read, and what is inferred and refused."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.columns import ColumnSpec, infer_columns, sort_categories, text_names, values_of
from solver.errors import InputError


def kinds(frame: pd.DataFrame, **more) -> dict[str, str]:
    return {name: spec.kind for name, spec in infer_columns(frame, **more).items()}


def one(values, **more) -> ColumnSpec:
    return infer_columns(pd.DataFrame({"x": values}), **more)["x"]


def read(spec: ColumnSpec, values) -> list:
    return spec.read(pd.Series(values, name="x")).tolist()


class TestInference:
    def test_each_dtype(self):
        frame = pd.DataFrame(
            {
                "text": ["a", "b", None],
                "object": np.array(["a", "b", None], dtype=object),
                "string": pd.array(["a", "b", None], dtype="string"),
                "categorical": pd.Categorical(["a", "b", None]),
                "codes": pd.Categorical([10, 20, None]),
                "bins": pd.cut([1.0, 2.0, 3.0], [0, 1, 3]),
                "bool": [True, False, True],
                "nullable bool": pd.array([True, False, None], dtype="boolean"),
                "object bool": np.array([True, False, None], dtype=object),
                "few": [1, 2, 3],
                "few with missing": [1.0, np.nan, 2.0],
                "nullable few": pd.array([1, 2, None], dtype="Int8"),
                "nothing": [None, None, None],
                "nan": [np.nan, np.nan, np.nan],
                "measured": [0.5, 1.5, np.nan],
                "decimal": [Decimal("0.5"), Decimal("1.5"), None],
                "day": [dt.date(2024, 1, 1), dt.date(2024, 1, 2), None],
                "time": pd.to_datetime(["2024-01-01", "2024-01-02", None]),
                "zone": pd.to_datetime(["2024-01-01", "2024-01-02", None]).tz_localize(
                    "Asia/Tokyo"
                ),
            }
        )
        expected = dict.fromkeys(frame.columns, "category")
        expected |= {"measured": "number", "decimal": "number"}
        expected |= {"day": "date", "time": "date", "zone": "date"}
        assert kinds(frame) == expected

    def test_each_arrow_type(self):
        table = pa.table(
            {
                "text": ["a", "b", None],
                "dictionary": pa.array(["a", "b", None]).dictionary_encode(),
                "flag": [True, False, None],
                "whole": [1, 2, None],
                "nothing": pa.nulls(3),
                "real": [0.5, 1.5, None],
                "decimal": pa.array([None, Decimal("0.5"), 2], pa.decimal128(5, 2)),
                "day": [dt.date(2024, 1, 1), dt.date(2024, 1, 2), None],
                "time": [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2), None],
            }
        )
        expected = dict.fromkeys(table.column_names, "category")
        expected |= {"real": "number", "decimal": "number", "day": "date", "time": "date"}
        for frame in (table.to_pandas(), table.to_pandas(types_mapper=pd.ArrowDtype)):
            specs = infer_columns(frame)
            assert {name: spec.kind for name, spec in specs.items()} == expected
            assert specs["whole"].read(frame["whole"]).tolist() == [1, 2, None]
            assert specs["day"].read(frame["day"])[0] == specs["time"].read(frame["time"])[0]

    @pytest.mark.parametrize(
        "values, what",
        [
            (pa.array([[1], None]), "list"),
            (pa.array([{"a": 1}, None]), "dict"),
            (pa.array([b"a", None]), "bytes"),
            (pa.array([1, None], pa.duration("s")), "timedelta"),
        ],
    )
    def test_arrow_types_that_cannot_be_read(self, values, what):
        with pytest.raises(InputError, match=f"column 'x' holds {what}"):
            one(pd.Series(values, dtype=pd.ArrowDtype(values.type)))

    @pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "Int64", "int64[pyarrow]"])
    def test_whole_numbers_of_few_values_are_categories(self, dtype):
        assert one(pd.array(list(range(10)) * 3, dtype=dtype)).kind == "category"
        assert one(pd.array(list(range(11)) * 3, dtype=dtype)).kind == "number"
        assert one(pd.array([1, 2] * 3, dtype=dtype), few_values=0).kind == "number"

    def test_overrides(self):
        frame = pd.DataFrame({"a": [1, 2], "b": ["1", "2"], "c": [0.5, 1.5], "d": ["x", "y"]})
        wishes = {"a": "number", "b": "number", "c": "category", "d": "drop"}
        assert kinds(frame, overrides=wishes) == {"a": "number", "b": "number", "c": "category"}

    def test_a_finished_spec_is_taken_as_it_is(self):
        spec = ColumnSpec("number", missing=(-1,))
        assert one([1, 2], overrides={"x": spec}) is spec

    @pytest.mark.parametrize(
        "overrides, message",
        [
            ({"aeg": "number"}, "'aeg', which is not a feature of the table; did you mean 'age'?"),
            ({"zzz": "number"}, "'zzz', which is not a feature of the table; there are: age"),
            ({"age": "ordinal"}, "no kind 'ordinal'; there are: category, number, date, drop"),
            ({"age": {"type": "number"}}, "age: no key 'type'; there are: kind, missing"),
        ],
    )
    def test_wrong_overrides_are_refused(self, overrides, message):
        with pytest.raises(InputError, match=message.replace("?", r"\?")):
            infer_columns(pd.DataFrame({"age": [1, 2]}), overrides)

    @pytest.mark.parametrize(
        "values, message",
        [
            ([["a"], ["b"]], "holds list values"),
            ([{"a": 1}, None], "holds dict values"),
            ([b"a", b"b"], "holds bytes"),
            ([1 + 2j, 2j], "holds complex"),
            (pd.to_timedelta([1, 2], unit="s"), "holds timedelta"),
            ([dt.time(1), dt.time(2)], "holds time"),
            (["a", 1, None], "mixes text and numbers, e.g. 'a' and 1"),
            ([True, "a"], "mixes text and numbers"),
            ([0.5, np.inf], "has an infinite value"),
            (pd.Categorical([0.5, np.inf]), "has an infinite value"),
        ],
    )
    def test_what_cannot_be_read_is_refused_by_name(self, values, message):
        with pytest.raises(InputError, match=f"column 'x' {message}"):
            one(values)

    def test_what_cannot_be_read_can_be_dropped(self):
        frame = pd.DataFrame({"x": [["a"], ["b"]], "y": [1, 2]})
        assert kinds(frame, overrides={"x": "drop"}) == {"y": "category"}

    def test_mixed_values_can_be_read_as_text(self):
        spec = one(["a", 1, None], overrides={"x": "category"})
        assert read(spec, ["a", 1, 1.0, "1", 0.5, None]) == ["a", "1", "1", "1", "0.5", None]
        assert read(spec, ["a", True]) == ["a", "True"]

    def test_identifiers_are_refused(self):
        names = [f"user {i}" for i in range(101)]
        with pytest.raises(InputError, match=r"101 different texts in 150 rows, like an identif"):
            one(names + names[:49])
        assert one(names + names).kind == "category"
        assert one(names[:100]).kind == "category"
        assert one(names, overrides={"x": "category"}).kind == "category"
        assert one(pd.Categorical(names)).kind == "category"

    def test_text_dates_that_look_like_identifiers_are_pointed_out(self):
        days = pd.date_range("2024-01-01", periods=200).strftime("%Y-%m-%d")
        with pytest.raises(InputError, match=r"columns: \{x: date\}"):
            one(days)
        assert one(days, overrides={"x": "date"}).kind == "date"


class TestCategories:
    def test_types_agree(self):
        spec = ColumnSpec("category")
        for values in ([1, 0], [1.0, 0.0], np.array([1, 0], np.int8), pd.Categorical([1, 0])):
            found = read(spec, values)
            assert found == [1, 0]
            assert all(type(value) is int for value in found)
        assert read(spec, [0.5, np.nan]) == [0.5, None]
        assert read(spec, pd.array([1, None], dtype="Int64")) == [1, None]
        assert [type(v) for v in read(spec, np.array(["a", 2, 0.5, True], dtype=object))] == [
            str, int, float, bool,
        ]  # fmt: skip

    def test_other_scalars_become_text(self):
        spec = ColumnSpec("category")
        assert read(spec, [dt.date(2024, 1, 31)]) == ["2024-01-31"]
        assert read(spec, pd.to_datetime(["2024-01-31"])) == ["2024-01-31"]
        assert read(spec, pd.to_datetime(["2024-01-31 12:00"])) == ["2024-01-31 12:00:00"]
        assert read(spec, pd.cut([1.0], [0, 2])) == ["(0, 2]"]
        assert read(spec, pd.PeriodIndex(["2024-01"], freq="M")) == ["2024-01"]

    def test_text_survives_a_csv_file_without_its_texts(self):
        spec = one(["2", "3", "5more", None])
        part = pd.read_csv(io.StringIO("x\n2\n3\n"))
        assert part["x"].dtype == "int64"
        assert spec.read(part["x"]).tolist() == ["2", "3"]
        with_gap = pd.read_csv(io.StringIO("x,y\n2,1\n,1\n"))
        assert spec.read(with_gap["x"]).tolist() == ["2", None]

    def test_numbers_survive_a_csv_file_with_a_text(self):
        spec = one([1, 2, 3])
        part = pd.read_csv(io.StringIO("x\n1\n2.0\nunknown\n"))
        assert spec.read(part["x"]).tolist() == [1, 2, "unknown"]

    def test_booleans_survive_a_text_column(self):
        spec = one([True, False])
        assert read(spec, ["True", "False", "maybe"]) == [True, False, "maybe"]
        assert read(spec, [1, 0]) == [True, False]

    @pytest.mark.parametrize("text", ["1_000", "nan", "inf", "", " ", "1e", "0x1", "١٢"])
    def test_only_plain_numbers_are_unquoted(self, text):
        found = read(ColumnSpec("category", "number"), [text, "+1.50", "1e3", "123456789012345678"])
        assert found[1:] == [1.5, 1000, 123456789012345678]
        assert found[0] == (12 if text == "١٢" else text)

    def test_missing_values_by_wish(self):
        spec = one(["a", "?", None], overrides={"x": {"missing": "?"}})
        assert spec == ColumnSpec("category", "text", ("?",))
        assert read(spec, ["a", "?", None]) == ["a", None, None]

    def test_order(self):
        assert sort_categories(["vhigh", None, "low", "?", "é", "Z", "low"]) == [
            "?", "Z", "low", "vhigh", "é", None,
        ]  # fmt: skip
        assert sort_categories([10, 9, None, 0.5]) == [0.5, 9, 10, None]
        assert sort_categories([True, None, False]) == [False, True, None]

    def test_values_of(self):
        assert values_of(["a", None]) == "text"
        assert values_of([1, True, 0.5]) == "number"
        assert values_of([None]) == "number"
        assert values_of(["a", 1]) == "any"


class TestNumbers:
    def test_every_source(self):
        spec = ColumnSpec("number")
        nan = [1.0, np.nan]
        for values in (
            pd.array([1, None], dtype="Int64"),
            pd.array([1.0, None], dtype="Float64"),
            pd.array([1, None], dtype="int64[pyarrow]"),
            [1.0, np.nan],
            ["1", None],
            [Decimal(1), None],
            pd.Categorical([1, None]),
        ):
            found = spec.read(pd.Series(values, name="x"))
            assert found.dtype == np.float64
            np.testing.assert_array_equal(found, nan)
        assert read(spec, [True, False]) == [1.0, 0.0]

    def test_the_raw_column_is_left_alone(self):
        raw = pd.Series([1.0, -999.0], name="x")
        assert np.isnan(ColumnSpec("number", missing=(-999,)).read(raw)[1])
        assert raw.tolist() == [1.0, -999.0]

    def test_a_missing_mark_makes_text_a_number(self):
        spec = one(["1", "?", "2.5"], overrides={"x": {"kind": "number", "missing": ["?"]}})
        np.testing.assert_array_equal(spec.read(pd.Series(["1", "?"])), [1.0, np.nan])

    def test_errors_name_column_and_value(self):
        with pytest.raises(InputError, match=r"column 'x' cannot be read as numbers.*'abc'"):
            read(ColumnSpec("number"), ["1", "abc"])
        with pytest.raises(InputError, match=r"it has dates; write columns: \{x: date\}"):
            read(ColumnSpec("number"), pd.to_datetime(["2024-01-01"]))
        with pytest.raises(InputError, match=r"column 'x' has an infinite value"):
            read(ColumnSpec("number"), [1.0, -np.inf])
        with pytest.raises(InputError, match=r"beyond 2\^53.*columns: \{x: drop\}"):
            read(ColumnSpec("number"), [2**53 + 1, 1])


class TestDates:
    def test_seconds_since_1970_in_utc(self):
        spec = ColumnSpec("date")
        expected = [0.0, 86400.5, np.nan]
        naive = pd.to_datetime(["1970-01-01", "1970-01-02 00:00:00.5", None], format="ISO8601")
        for values in (
            naive,
            naive.as_unit("ns"),
            naive.as_unit("ms"),
            naive.tz_localize("UTC").tz_convert("Asia/Tokyo"),
            ["1970-01-01", "1970-01-02T00:00:00.5", None],
            ["1970-01-01T01:00:00+01:00", "1970-01-02T00:00:00.5Z", None],
            [dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 2, microsecond=500000), None],
        ):
            np.testing.assert_array_equal(spec.read(pd.Series(values, name="x")), expected)
        np.testing.assert_array_equal(read(spec, [dt.date(1970, 1, 2)]), [86400.0])

    def test_far_dates(self):
        seconds = read(ColumnSpec("date"), ["9999-12-31", "0001-01-01"])
        assert seconds == [253402214400.0, -62135596800.0]

    def test_missing_marks(self):
        spec = ColumnSpec("date", missing=("never",))
        np.testing.assert_array_equal(read(spec, ["1970-01-01", "never"]), [0.0, np.nan])

    @pytest.mark.parametrize("values", [["01/02/2024"], ["soon"], ["2024-13-01"]])
    def test_only_iso_dates_are_read(self, values):
        with pytest.raises(InputError, match=r"column 'x' cannot be read as dates.*YYYY-MM-DD"):
            read(ColumnSpec("date"), values)

    def test_numbers_are_no_dates(self):
        with pytest.raises(InputError, match="'x' cannot be read as dates: it has numbers"):
            read(ColumnSpec("date"), [2024])


class TestNames:
    def test_become_text(self):
        frame = text_names(pd.DataFrame([[1, 2]], columns=[0, "b"]))
        assert list(frame.columns) == ["0", "b"]
        assert list(infer_columns(pd.DataFrame([[1, 2]]))) == ["0", "1"]

    def test_no_two_alike(self):
        for columns in (["a", "a"], [1, "1"]):
            with pytest.raises(InputError, match="two columns named"):
                infer_columns(pd.DataFrame([[1, 2]], columns=columns))


class TestPlainForm:
    @pytest.mark.parametrize(
        "spec, plain",
        [
            (ColumnSpec("category"), {"kind": "category"}),
            (ColumnSpec("category", "text"), {"kind": "category", "values": "text"}),
            (ColumnSpec("number", missing=(-1, "?")), {"kind": "number", "missing": [-1, "?"]}),
        ],
    )
    def test_there_and_back(self, spec, plain):
        assert spec.to_dict() == plain
        assert ColumnSpec.from_dict(plain) == spec

    @pytest.mark.parametrize("data", [{"kind": "colour"}, {"kind": "category", "values": "odd"}])
    def test_later_versions(self, data):
        with pytest.raises(InputError, match="upgrade"):
            ColumnSpec.from_dict(data)


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(-3, 3), st.text(max_size=3)
)


@given(st.lists(scalars, min_size=1, max_size=12), st.sampled_from(["any", "text", "number"]))
def test_factorize_is_read(values, mode):
    column = pd.Series(np.array([*values, None], dtype=object)[:-1], name="x")
    spec = ColumnSpec("category", mode)
    codes, found = spec.factorize(column)
    assert found[codes].tolist() == spec.read(column).tolist()
    for raw, value in zip(values, spec.read(column).tolist(), strict=True):
        assert value is None or type(value) in (str, int, float, bool)
        assert not isinstance(value, float) or not value.is_integer()
        if mode == "any":
            assert value == raw
        if mode == "text" and raw is not None:
            assert isinstance(value, str)


@given(st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), min_size=1, max_size=12))
def test_numbers_factorize(values):
    column = pd.Series(values, dtype="float64", name="x")
    codes, found = ColumnSpec("number").factorize(column)
    np.testing.assert_array_equal(found[codes], column.to_numpy())
