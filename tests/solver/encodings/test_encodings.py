"""Each encoding on small tables, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.encodings import (
    ENCODINGS,
    Encoder,
    fit_columns,
    fit_encoder,
    fit_transform,
    get_encoding,
)
from solver.encodings import encoder as encodings_base
from solver.errors import InputError, UnsupportedError
from solver.features.columns import ColumnSpec
from solver.features.node_tests import parse_test

COLOURS = pd.DataFrame({"colour": ["red", None, "blue", "red"], "big": [True, False, True, True]})
MIXED = pd.DataFrame(
    {"age": [20, 30, np.nan, 40], "colour": ["red", "blue", "red", "blue"], "legs": [2, 4, 2, 4]}
)
DAYS = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-03", "2024-01-03"])})


def fit(encoding: str, frame: pd.DataFrame, target=None, **more) -> Encoder:
    target = np.arange(len(frame)) % 2 if target is None else np.asarray(target)
    return fit_encoder(encoding, frame, target, n_classes=2, **more)


def names(encoder: Encoder) -> list[str]:
    return [test.name for test in encoder.tests]


def codes(encoder: Encoder, frame: pd.DataFrame) -> list[list[int]]:
    matrix = encoder.transform(frame)
    assert matrix.dtype == np.int32
    return matrix.tolist()


class TestCategories:
    def test_categorical(self):
        encoder = fit("categorical", COLOURS)
        assert names(encoder) == ["colour", "big"]
        assert [test.arity for test in encoder.tests] == [3, 2]
        assert codes(encoder, COLOURS) == [[1, 1], [2, 0], [0, 1], [1, 1]]

    @pytest.mark.parametrize(
        "encoding, features",
        [
            ("onehot", "colour=blue colour=red colour=missing big=False big=True"),
            ("onehot-drop-first", "colour=red colour=missing big=True"),
            ("onehot-drop-last", "colour=blue colour=red big=False"),
        ],
    )
    def test_onehot(self, encoding, features):
        encoder = fit(encoding, COLOURS)
        assert " ".join(names(encoder)) == features
        cells = {
            "colour=blue": [0, 0, 1, 0],
            "colour=red": [1, 0, 0, 1],
            "colour=missing": [0, 1, 0, 0],
            "big=False": [0, 1, 0, 0],
            "big=True": [1, 0, 1, 1],
        }
        assert encoder.transform(COLOURS).T.tolist() == [cells[name] for name in names(encoder)]

    @pytest.mark.parametrize("encoding", ["onehot", "onehot-drop-first", "onehot-drop-last"])
    def test_an_unseen_category_equals_none(self, encoding):
        encoder = fit(encoding, COLOURS)
        unseen = pd.DataFrame({"colour": ["green"], "big": [None]})
        assert encoder.transform(unseen).sum() == 0

    def test_an_unseen_category_has_no_code(self):
        encoder = fit("categorical", COLOURS)
        with pytest.raises(InputError, match="column 'colour' has the value green, which was not"):
            encoder.transform(COLOURS.replace("red", "green"))

    def test_a_single_value(self):
        frame = pd.DataFrame({"same": ["a", "a"], "other": ["a", "b"]})
        assert names(fit("categorical", frame)) == ["same", "other"]
        assert names(fit("onehot", frame)) == ["same=a", "other=a", "other=b"]
        for encoding in ("onehot-drop-first", "onehot-drop-last"):
            encoder = fit(encoding, frame)
            assert len(encoder.tests) == 1
            assert encoder.without_feature == ("same",)

    def test_a_column_without_values(self):
        frame = pd.DataFrame({"empty": [None, np.nan], "other": ["a", "b"]})
        assert names(fit("onehot", frame)) == ["empty=missing", "other=a", "other=b"]
        assert codes(fit("categorical", frame), frame) == [[0, 0], [0, 1]]


class TestNumbers:
    def test_thresholds_of_a_mixed_table(self):
        encoder = fit("thresholds", MIXED)
        assert names(encoder) == [
            "age>20", "age>30", "age=missing", "colour=blue", "colour=red", "legs>3",
        ]  # fmt: skip
        assert codes(encoder, MIXED) == [
            [0, 0, 0, 0, 1, 0],
            [1, 0, 0, 1, 0, 1],
            [0, 0, 1, 0, 1, 0],
            [1, 1, 0, 1, 0, 1],
        ]

    def test_quantiles(self):
        frame = pd.DataFrame({"x": np.arange(100.0)})
        assert names(fit("quantiles", frame)) == ["x>24", "x>49", "x>74"]
        assert fit("quantiles", frame).options == {"k": 4}
        assert names(fit("quantiles", frame, k=2)) == ["x>49"]

    def test_mdlp_reports_columns_without_a_cut(self):
        frame = pd.DataFrame({"good": np.arange(40.0), "noise": np.arange(40.0) % 2})
        encoder = fit("mdlp", frame, target=np.arange(40) // 20)
        assert names(encoder) == ["good>19"]
        assert encoder.without_feature == ("noise",)

    def test_mdlp_without_any_cut(self):
        encoder = fit("mdlp", pd.DataFrame({"x": [1.0, 1.0]}))
        assert encoder.transform(pd.DataFrame({"x": [3.0]})).shape == (1, 0)

    def test_dates_are_cut_and_shown_as_dates(self):
        encoder = fit("thresholds", DAYS)
        assert names(encoder) == ["day>2024-01-02"]
        text = pd.DataFrame({"day": ["2023-12-31", "2025-06-01T12:00:00+02:00", None]})
        assert codes(encoder, text) == [[0], [1], [1]]

    @pytest.mark.parametrize(
        "encoding", ["categorical", "onehot", "onehot-drop-first", "onehot-drop-last"]
    )
    def test_numbers_are_refused_where_they_are_not_cut(self, encoding):
        frame = pd.DataFrame({"age": [0.5, 1.5, 2.0]})
        with pytest.raises(UnsupportedError) as caught:
            fit(encoding, frame)
        assert str(caught.value) == (
            f"column 'age' is a number, which encoding '{encoding}' does not cut; use an encoding "
            "that does (thresholds, quantiles, mdlp, continuous), or make it a category: "
            "columns={'age': 'category'}"
        )
        assert len(fit(encoding, frame, columns={"age": "category"}).tests) > 0

    def test_dates_are_refused_where_they_are_not_cut(self):
        with pytest.raises(UnsupportedError, match="column 'day' is a date, which"):
            fit("onehot", DAYS)

    def test_whole_numbers_of_few_values_are_categories_where_they_are_not_cut(self):
        frame = MIXED[["legs"]]
        assert names(fit("onehot", frame)) == ["legs=2", "legs=4"]
        assert names(fit("thresholds", frame)) == ["legs>3"]
        assert names(fit("thresholds", frame, columns={"legs": "category"})) == [
            "legs=2", "legs=4",
        ]  # fmt: skip


class TestOverrides:
    def test_drop(self):
        encoder = fit("onehot", COLOURS, columns={"colour": "drop"})
        assert names(encoder) == ["big=False", "big=True"]
        assert codes(encoder, COLOURS[["big"]]) == [[0, 1], [1, 0], [0, 1], [0, 1]]

    def test_nothing_left(self):
        for frame in (COLOURS[["big"]], COLOURS[[]]):
            with pytest.raises(InputError, match="the table has no feature"):
                fit("onehot", frame, columns=dict.fromkeys(frame.columns, "drop"))

    def test_every_fold_is_read_as_the_whole_table(self):
        whole = pd.DataFrame({"x": [1.0, 2.0, 3.5]})
        specs = fit_columns("thresholds", whole)
        part = fit_encoder(
            "thresholds", whole[:2], np.array([0, 1]), n_classes=2, columns=specs
        )  # fmt: skip
        assert part.columns == specs == {"x": ColumnSpec("number")}
        with pytest.raises(UnsupportedError):
            fit_columns("onehot", whole)


class TestCatalogue:
    def test_names_and_traits(self):
        assert list(ENCODINGS) == [
            "categorical", "onehot", "onehot-drop-first", "onehot-drop-last",
            "thresholds", "quantiles", "mdlp", "continuous",
        ]  # fmt: skip
        for name, encoding in ENCODINGS.items():
            assert encoding.name == name
            assert len(encoding.summary.splitlines()) == 1
            special = ("categorical", "continuous")
            expected = name if name in special else "binary"
            assert encoding.feature_kind == expected
            assert all(test.arity == 2 for test in fit(name, COLOURS[["big"]]).tests)

    def test_unknown_name(self):
        with pytest.raises(InputError, match="no encoding 'one-hot'; did you mean 'onehot'"):
            get_encoding("one-hot")

    @pytest.mark.parametrize(
        "encoding, options, message",
        [
            ("quantiles", {"bins": 3}, "has no option 'bins'; it has: k"),
            ("onehot", {"k": 3}, "has no option 'k'; it has: none"),
            ("quantiles", {"k": 1}, "option k = 1 of .* must be a whole number of 2 or more"),
            ("quantiles", {"k": "8"}, "option k = '8' of"),
            ("quantiles", {"k": 2.5}, "option k = 2.5 of"),
            ("quantiles", {"k": True}, "option k = True of"),
        ],
    )
    def test_wrong_options(self, encoding, options, message):
        with pytest.raises(InputError, match=message):
            get_encoding(encoding).check_options(options)
        with pytest.raises(InputError, match=message):
            fit(encoding, COLOURS, **options)


class TestTransform:
    def test_a_column_is_not_there(self):
        with pytest.raises(
            InputError, match=r"no column 'colour', which the encoding reads; .*big"
        ):
            fit("onehot", COLOURS).transform(COLOURS[["big"]])

    def test_more_columns_and_another_order_do_not_matter(self):
        encoder = fit("onehot", COLOURS)
        other = COLOURS.assign(more=[[1]] * 4)[["more", "big", "colour"]]
        assert codes(encoder, other) == codes(encoder, COLOURS)

    def test_a_matrix_beyond_memory_is_refused(self, monkeypatch):
        frame = pd.DataFrame({"x": np.arange(10.0)})
        encoder = fit("thresholds", frame)
        monkeypatch.setattr(encodings_base, "MAX_CELLS", 89)
        with pytest.raises(InputError, match="'thresholds' makes 9 features of 10 rows"):
            encoder.transform(frame)

    def test_rows_beyond_one_chunk(self, monkeypatch):
        encoder = fit("thresholds", MIXED)
        whole = codes(encoder, MIXED)
        monkeypatch.setattr(encodings_base, "_CHUNK", 3)
        assert codes(encoder, MIXED) == whole

    def test_no_rows(self):
        assert fit("onehot", COLOURS).transform(COLOURS[:0]).shape == (0, 5)

    def test_names_that_are_no_text(self):
        frame = pd.DataFrame([["a"], ["b"]], columns=[7])
        assert codes(fit("onehot", frame), frame) == [[1, 0], [0, 1]]


columns = st.one_of(
    st.lists(st.sampled_from(["a", "b", "ü", None]), min_size=6, max_size=6),
    st.lists(st.sampled_from([1, 2, 7, None]), min_size=6, max_size=6),
    st.lists(st.sampled_from([0.25, 2.0, -1.5, None]), min_size=6, max_size=6),
    st.lists(st.booleans(), min_size=6, max_size=6),
)


@given(st.lists(columns, min_size=1, max_size=3), st.sampled_from(list(ENCODINGS)))
def test_codes_are_what_each_test_says_of_each_row(data, encoding):
    """The fast way agrees with asking every stored test about every single row."""
    frame = pd.DataFrame({f"c{j}": pd.Series(values) for j, values in enumerate(data)})
    wishes = {}
    if ENCODINGS[encoding].fit_cuts is None:
        wishes = dict.fromkeys(frame.columns, "category")
    encoder = fit(encoding, frame, target=[0, 0, 0, 1, 1, 1], columns=wishes)
    matrix = encoder.transform(frame)
    for j, test in enumerate(encoder.tests):
        stored = parse_test(json.loads(json.dumps(test.to_dict())))
        spec = ColumnSpec.from_dict(json.loads(json.dumps(encoder.columns[test.column].to_dict())))
        for i in range(len(frame)):
            values = spec.read(frame[test.column].iloc[[i]])
            assert stored.branches(values).tolist() == [matrix[i, j]]
            assert 0 <= matrix[i, j] < test.arity


@given(st.lists(columns, min_size=1, max_size=3), st.sampled_from(list(ENCODINGS)))
def test_fit_and_transform_at_once_give_the_same(data, encoding):
    frame = pd.DataFrame({f"c{j}": pd.Series(values) for j, values in enumerate(data)})
    takes_numbers = ENCODINGS[encoding].takes_numbers
    wishes = {} if takes_numbers else dict.fromkeys(frame.columns, "category")
    target = [0, 0, 0, 1, 1, 1]
    encoder = fit(encoding, frame, target=target, columns=wishes)
    at_once, matrix = fit_transform(encoding, frame, target, n_classes=2, columns=wishes)
    assert repr(at_once) == repr(encoder)
    assert matrix.dtype == np.int32
    assert matrix.tolist() == codes(encoder, frame)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ([0], r"shape \(1,\), the table 3 rows"),
        ([0, 1], r"shape \(2,\)"),
        ([[0], [1], [0]], r"shape \(3, 1\)"),
        ([0, -1, 1], "values from -1 to 1; .* 0 to n_classes - 1 = 1"),
        ([0, 1, 2], "values from 0 to 2"),
        (["a", "b", "a"], "dtype .*; give whole numbers from 0"),
        ([0.0, 0.5, 1.0], "dtype float64"),
    ],
)
def test_classes_are_numbers_of_classes(target, message):
    with pytest.raises(InputError, match=message):
        fit_encoder("mdlp", pd.DataFrame({"x": [1, 2, 3]}), target, n_classes=2)
