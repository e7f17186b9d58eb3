"""How raw columns are read, and what is inferred and refused."""

from __future__ import annotations

import datetime as dt
import enum
import io
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dateutil import tz
from hypothesis import given
from hypothesis import strategies as st

from solver.errors import InputError
from solver.features.category_values import sort_categories, values_of
from solver.features.column_inference import infer_columns
from solver.features.columns import VALUES, ColumnSpec, text_names
from sweep.spec.hints_as_yaml import find_overrides


def kinds(frame: pd.DataFrame, **more) -> dict[str, str]:
    return {name: spec.kind for name, spec in infer_columns(frame, **more).items()}


def one(values, **more) -> ColumnSpec:
    return infer_columns(pd.DataFrame({"x": values}), **more)["x"]


def read(spec: ColumnSpec, values) -> list:
    return spec.read(pd.Series(values, name="x")).tolist()


def same(expected, found):
    """Equal in type as well: True is not 1."""
    assert [(type(v), v) for v in found] == [(type(v), v) for v in expected]


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
            ([True, "a"], "mixes text and booleans, e.g. 'a' and True"),
            ([True, 1, False, 0], "mixes numbers and booleans, e.g. 1 and True"),
            ([np.True_, 0.5, None], "mixes numbers and booleans"),
            (["2024-01-01", dt.date(2024, 1, 2)], "mixes text and dates"),
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

    def test_mixed_values_can_be_read_as_categories(self):
        spec = one(["a", 1, None], overrides={"x": "category"})
        assert spec.values == "mixed"
        assert read(spec, ["a", 1, 1.0, "1", "1.0", 0.5, None]) == ["a", 1, 1, 1, 1, 0.5, None]
        spec = one([True, 1, "x", False, 0], overrides={"x": "category"})
        same([True, 1, True, 1, "x"], read(spec, [np.True_, 1.0, "True", "1", "x"]))
        with pytest.raises(InputError, match="'1' and '01' would be one value; write the whole"):
            one(["1", "01", 1], overrides={"x": "category"})

    def test_identifiers_are_refused(self):
        names = [f"user {i}" for i in range(101)]
        with pytest.raises(InputError, match=r"101 different texts in 150 rows, like an identif"):
            one(names + names[:49])
        assert one(names + names).kind == "category"
        assert one(names[:100]).kind == "category"
        assert one(names, overrides={"x": "category"}).kind == "category"
        assert one(pd.Categorical(names)).kind == "category"

    def test_text_dates_are_dates(self):
        days = pd.date_range("2024-01-01", periods=200).strftime("%Y-%m-%d")
        spec = one(days)
        assert spec.kind == "date"
        column = pd.Series(days, name="x")
        assert (spec.read(column) == one(days, overrides={"x": "date"}).read(column)).all()


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
        assert values_of([1, 0.5]) == "number"
        assert values_of([True, None]) == "boolean"
        assert values_of([1, True, 0.5]) == "mixed"
        assert values_of([None]) == "number"
        assert values_of(["a", 1]) == "mixed"


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

    @pytest.mark.parametrize(
        "values, wishes",
        [
            (["1.234,5", "2,5"], [{"decimal": ",", "thousands": "."}]),
            (["1,234", "7"], [{"thousands": ","}, {"decimal": ","}]),
            (["12 %", "7 %", "none"], [{"unit": "%", "missing": ["none"]}]),
        ],
    )
    def test_numbers_of_another_format_name_it(self, values, wishes):
        with pytest.raises(InputError, match="cannot be read as numbers") as raised:
            read(ColumnSpec("number"), values)
        found = [one.wish for one in find_overrides(str(raised.value))]
        assert found == [{"kind": "number", **wish} for wish in wishes]

    def test_errors_name_column_and_value(self):
        with pytest.raises(InputError, match=r"column 'x' cannot be read as numbers.*'abc'"):
            read(ColumnSpec("number"), ["1", "abc"])
        with pytest.raises(InputError, match=r"it has dates; write columns=\{'x': 'date'\}"):
            read(ColumnSpec("number"), pd.to_datetime(["2024-01-01"]))
        with pytest.raises(InputError, match=r"column 'x' has an infinite value"):
            read(ColumnSpec("number"), [1.0, -np.inf])
        with pytest.raises(InputError, match=r"beyond 2\^53.*columns=\{'x': 'drop'\}"):
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

    @pytest.mark.parametrize(
        "values, wishes",
        [
            (["31/07/2020", "01/08/2020", None], [{"format": "%d/%m/%Y"}]),
            (["01/02/2020"], [{"format": "%d/%m/%Y"}, {"format": "%m/%d/%Y"}]),
            (["31.07.2020 10:30", "?"], [{"format": "%d.%m.%Y %H:%M", "missing": ["never", "?"]}]),
            (["31/07/2020", "soon"], [{"format": "%d/%m/%Y"}]),
        ],
    )
    def test_texts_of_another_format_name_it(self, values, wishes):
        spec = ColumnSpec("date", missing=("never",))
        with pytest.raises(InputError, match="cannot be read as dates") as raised:
            read(spec, values)
        kept = {} if "soon" in values else {"missing": ["never"]}
        expected = [{"kind": "date", **kept, **wish} for wish in wishes]
        assert [one.wish for one in find_overrides(str(raised.value))] == expected

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


@given(st.lists(scalars, min_size=1, max_size=12), st.sampled_from(VALUES))
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
            assert isinstance(value, bool) == isinstance(raw, bool)
        if mode == "text" and raw is not None:
            assert isinstance(value, str)


@given(st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), min_size=1, max_size=12))
def test_numbers_factorize(values):
    column = pd.Series(values, dtype="float64", name="x")
    codes, found = ColumnSpec("number").factorize(column)
    np.testing.assert_array_equal(found[codes], column.to_numpy())


BIG = 2**53


class TestNothingMerges:
    """Values that differ in the table differ in canonical form, or are refused."""

    @pytest.mark.parametrize(
        "values",
        [
            [BIG, BIG + 1],
            pd.array([BIG, BIG + 1, None], dtype="Int64"),
            np.array([2**63, 2**63 + 1], dtype=np.uint64),
            [str(BIG), str(BIG + 1)],
            [f"{BIG}.0", f"{BIG + 1}.0"],
            [Decimal(BIG), Decimal(BIG + 1)],
            [10**30, 10**30 + 1],
            [float(BIG), BIG + 1],
        ],
    )
    def test_whole_numbers_beyond_2_to_the_53(self, values):
        column = pd.Series(values, name="x", dtype=object if type(values) is list else None)
        with pytest.raises(InputError, match=r"beyond 2\^53.*or columns=\{'x': 'category'\}"):
            ColumnSpec("number").read(column)
        spec = infer_columns(pd.DataFrame({"x": column}), {"x": "category"})["x"]
        assert len({v for v in spec.read(column) if v is not None}) == 2
        assert len({v for v in ColumnSpec("category", "number").read(column) if v}) == 2

    def test_floats_written_as_text_are_read(self):
        for kind in (ColumnSpec("number"), ColumnSpec("category", "number")):
            found = read(kind, ["5.713666467106233e+16"])
            assert found == read(kind, [5.713666467106233e16])

    def test_whole_numbers_that_are_floats_are_read(self):
        assert read(ColumnSpec("number"), [BIG, -(2**60)]) == [float(BIG), -(2.0**60)]

    @pytest.mark.parametrize("kind", ["number", "category"])
    def test_many_digits(self, kind):
        decimals = [Decimal("0.12345678901234567890"), Decimal("0.12345678901234567891")]
        with pytest.raises(InputError, match=r"column 'x' has the numbers 0.1.*differ by less"):
            read(ColumnSpec(kind), decimals)
        long = np.array([0.1, 0.5], np.longdouble)
        assert read(ColumnSpec(kind), long) == [0.1, 0.5]
        if np.finfo(np.longdouble).nmant > 52:
            with pytest.raises(InputError, match="more than 64 bits; round them to float64"):
                read(ColumnSpec(kind), long / 3)

    def test_many_digits_of_text(self):
        texts = ["0.3", "0.30000000000000001"]
        with pytest.raises(InputError, match=r"numbers 0.3 and 0.30000000000000001.*round them"):
            read(ColumnSpec("number"), texts)
        assert read(one(texts), texts) == texts
        assert read(ColumnSpec("number"), ["0.3", "0.30", Decimal("0.3"), 0.3]) == [0.3] * 4

    def test_too_large_for_a_float(self):
        with pytest.raises(InputError, match="beyond 2"):
            read(ColumnSpec("number"), np.array([10**400, 1], dtype=object))
        for text in ("1e400", "9" * 5000, "1e99999999999999999999"):
            assert read(ColumnSpec("category", "number"), [text]) == [text]
            with pytest.raises(InputError, match="cannot be read as numbers"):
                read(ColumnSpec("number"), [text])

    def test_dates_nanoseconds_apart(self):
        moments = pd.to_datetime(["2024-01-01 00:00:00.000000000", "2024-01-01 00:00:00.000000050"])
        texts = [str(moments[0]), str(moments[1])]
        for values in (moments, moments.tz_localize("Asia/Tokyo"), texts, list(moments)):
            with pytest.raises(InputError, match=r"'x' has moments that differ.*round them"):
                read(ColumnSpec("date"), values)
            spec = one(values, overrides={"x": "category"})
            assert len(set(read(spec, values))) == 2
        with pytest.raises(InputError, match="'x' has moments that differ"):
            read(ColumnSpec("date"), ["2024-01-01T00:00:00.0000000001"])
        apart = read(ColumnSpec("date"), moments[0] + pd.to_timedelta([0, 1], unit="us"))
        assert apart[0] < apart[1]

    def test_booleans_are_no_numbers(self):
        mixed = pd.Series([True, 1, False, 0, 1.0, None], dtype=object, name="x")
        same([True, 1, False, 0, 1, None], ColumnSpec("category").read(mixed))
        with pytest.raises(InputError, match="'x' mixes booleans and numbers"):
            ColumnSpec("number").read(mixed)
        same([True, False], read(one([True, False]), [1, 0.0]))
        same([1, 0, 2], read(one([1, 0, 2]), [True, False, 2]))
        texts = pd.Series(["True", True, "False"], dtype=object)
        assert ColumnSpec("number").read(texts).tolist() == [1, 1, 0]
        spec = one([True, 1, 0], overrides={"x": {"kind": "category", "missing": [1]}})
        same([True, None, 0], spec.read(pd.Series([True, 1, 0], dtype=object)))

    def test_texts_that_look_alike(self):
        texts = [
            "é",
            "e\u0301",
            "a",
            "a ",
            " a",
            "A",
            "1",
            "1.0",
            "01",
            "+1",
            "1e0",
            "True",
            "true",
        ]
        assert read(one(texts), texts) == texts

    def test_no_negative_zero(self):
        assert str(read(ColumnSpec("number"), [-0.0])[0]) == "0.0"
        same([0, 0], read(ColumnSpec("category"), [-0.0, 0]))


class TestMarks:
    """Values that mean missing."""

    def test_one_that_several_texts_write_is_to_blame_and_not_the_column(self):
        marks = {"x": {"missing": ["?", 1]}}
        with pytest.raises(InputError, match="the value 1 that means missing may be any") as raised:
            read(one(["1", "01", "2"], overrides=marks), ["1", "01", "2"])
        found = [own.wish for own in find_overrides(str(raised.value))]
        assert found == [{"kind": "category", "missing": ["?", text]} for text in ("01", "1")]
        for wish, left in zip(found, (["1", None], [None, "01"]), strict=True):
            spec = one(["1", "01", "2"], overrides={"x": wish})
            assert read(spec, ["1", "01"]) == left


class TestReadAgain:
    """A column of another type is read as it was in training."""

    @pytest.mark.parametrize(
        "texts, values, expected",
        [
            (["1.0", "2.0", "x"], [1.0, 2.0, None], ["1.0", "2.0", None]),
            (["1.0", "2.0", "x"], [1, 2, 3], ["1.0", "2.0", "3"]),
            (["01234", "00007", "x"], [1234, 7], ["01234", "00007"]),
            (["+1", "1e3", "x"], [1, 1000], ["+1", "1e3"]),
            (["true", "false", "x"], [True, False], ["true", "false"]),
            (["2", "3", "5more"], [2, 3.0], ["2", "3"]),
            (["2024-01-01T00:00", "x"], pd.to_datetime(["2024-01-01"]), ["2024-01-01T00:00"]),
            (["1,000", "x"], [1000], ["1000"]),
        ],
    )
    def test_text(self, texts, values, expected):
        spec = one(texts)
        assert ColumnSpec.from_dict(spec.to_dict()) == spec
        assert read(spec, values) == expected
        assert read(spec, texts) == texts

    def test_text_that_may_be_two(self):
        spec = one(["1", "1.0", "x"])
        assert spec.texts == ("1", "1.0")
        with pytest.raises(InputError, match=r"value 1, which may be the text '1' or '1.0'"):
            read(spec, [1.0])
        assert read(spec, [True]) == ["True"]

    def test_a_tree_keeps_what_it_asks_for(self):
        spec = one(["1", "1.0", "02", "x"])
        assert spec.narrow(["1.0", None]).texts == ("1", "1.0")
        assert spec.narrow(["x"]).texts == ()

    @pytest.mark.parametrize("other", ["x", 1, True])
    def test_a_tree_keeps_texts_that_a_file_has_for_missing_values(self, other):
        spec = one(["NA", "none", "nan", "", other, None], overrides={"x": "category"})
        assert spec.texts == spec.narrow([other, None]).texts == ("NA", "nan")
        marked = one(["NA", "nan", other], overrides={"x": {"kind": "category", "missing": "NA"}})
        assert marked.texts == ("nan",)

    def test_dates_read_as_categories(self):
        days = pd.to_datetime(["2024-01-01 00:00", "2024-01-02 12:00"])
        spec = one(days, overrides={"x": "category"})
        found = ["2024-01-01", "2024-01-02 12:00:00"]
        assert read(spec, days) == read(spec, [f"{day}" for day in days]) == found
        assert read(spec, days.tz_localize("UTC").tz_convert("Asia/Tokyo")) == found
        assert read(spec, ["2024-01-01T00:00:00Z", "soon"]) == ["2024-01-01", "soon"]

    def test_missing_marks_of_another_type(self):
        spec = one(["-999", "a", "?"], overrides={"x": {"missing": [-999, "?"]}})
        assert read(spec, ["-999", "a", "?", -999.0]) == [None, "a", None, None]
        numbers = ColumnSpec("number", missing=("-999", 2**63 - 1))
        found = numbers.read(pd.Series([-999, 1, 2**63 - 1], name="x"))
        np.testing.assert_array_equal(found, [np.nan, 1, np.nan])
        dates = ColumnSpec("date", missing=("1900-01-01",))
        found = dates.read(pd.Series(pd.to_datetime(["1900-01-01", "1970-01-01"])))
        np.testing.assert_array_equal(found, [np.nan, 0.0])


class Colour(str, enum.Enum):  # noqa: UP042 - a StrEnum is its text anyway
    RED = "red"


class TestWhatOnlyLooksAlike:
    @pytest.mark.parametrize(
        "values",
        [
            [pd.Period("2020-01-01 00:00", "h"), pd.Period("2020-01-01 00:00", "min")],
            [pd.Period("2020", "Y"), "2020"],
            [pd.Period("2020-01-01", "D"), dt.date(2020, 1, 1)],
            [pd.Interval(0, 1), "(0, 1]"],
        ],
    )
    @pytest.mark.parametrize("dtype", [object, "category"])
    def test_is_refused(self, values, dtype):
        column = pd.Series(values, dtype=object).astype(dtype)
        for overrides in ({}, {"x": "category"}):
            with pytest.raises(InputError, match=r"mixes text and|column 'x' has two values that"):
                infer_columns(pd.DataFrame({"x": column}), overrides)
        with pytest.raises(
            InputError, match=r"has two values that both read .*columns={'x': 'drop'}"
        ):
            read(ColumnSpec("category"), column)

    def test_a_member_of_an_enum_is_its_text(self):
        column = pd.Series([Colour.RED, "Colour.RED", "red"], dtype=object)
        assert read(ColumnSpec("category"), column) == ["red", "Colour.RED", "red"]

    def test_one_moment_is_one_value(self):
        moments = [dt.date(2020, 1, 1), pd.Timestamp("2020-01-01"), "2020-01-01"]
        assert read(ColumnSpec("category"), pd.Series(moments, dtype=object)) == ["2020-01-01"] * 3


@pytest.mark.parametrize(
    "value",
    ["now", "today", "2020", "2020-01", "20200101", "2020-W01", 20200101, Decimal(2020), True, 1.5],
)
def test_dates_are_written_out(value):
    """``today`` would be another date tomorrow, and 2020 nanoseconds."""
    column = pd.Series(["2000-01-01", value], dtype=object)
    with pytest.raises(InputError, match=r"'x' cannot be read as dates: it has the (value|number)"):
        read(ColumnSpec("date"), column)


@pytest.mark.parametrize("dtype", ["float16", "float32", "Float32", "float[pyarrow]"])
def test_narrow_floats_are_what_a_file_has(dtype):
    column = pd.Series([0.1, 2, 0.3], dtype=dtype)
    assert read(ColumnSpec("number"), column) == [0.1, 2.0, 0.3]
    assert read(ColumnSpec("category"), column) == [0.1, 2, 0.3]
    if dtype != "float16":  # of which pandas makes no categories
        assert read(ColumnSpec("category"), column.astype("category")) == [0.1, 2, 0.3]
    gaps = pd.Series([0.1, None], dtype=dtype)
    np.testing.assert_array_equal(read(ColumnSpec("number"), gaps), [0.1, np.nan])
    marked = ColumnSpec("number", missing=(0.1,))
    np.testing.assert_array_equal(read(marked, column), [np.nan, 2.0, 0.3])


@pytest.mark.parametrize("kind", ["number", "category"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Decimal("sNaN"), "column 'x' has a signaling NaN; leave the value empty"),
        (Decimal("1e999999"), r"column 'x' has a number beyond 2\^1024"),
        (10**1000, r"column 'x' has a number beyond 2\^1024"),
    ],
)
def test_numbers_that_are_none(kind, value, message):
    column = pd.Series([value, Decimal(1)], dtype=object)
    with pytest.raises(InputError, match=message):
        read(ColumnSpec(kind), column)
    with pytest.raises(InputError, match=message):
        infer_columns(pd.DataFrame({"x": column}))


def test_a_date_is_the_same_moment_as_a_category():
    """Beyond 2037 pandas knows summer time of a column, but not of its single moments."""
    zone = tz.gettz("Australia/Lord_Howe")
    moments = [dt.datetime(2150, 4, 1, 10, minute, tzinfo=zone) for minute in (30, 31)]
    column = pd.Series(moments, dtype=object, name="d")
    found = ColumnSpec("date").read(column.astype("category"))
    assert found.tolist() == ColumnSpec("date").read(column).tolist()
