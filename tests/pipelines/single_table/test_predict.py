"""Predictions of stored trees on tables that were written otherwise than in training."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pipelines.single_table.predict import (
    Accuracy,
    load_tree,
    measure_accuracy,
    predict_table,
    save_tree,
)
from pipelines.single_table.solve import read_frame
from solver import InputError, Problem, Tree, solve
from tests.helpers.commands import run


def train(frame: pd.DataFrame, target: str = "y", **columns: Any) -> Tree:
    """A tree that splits wherever that helps."""
    problem = Problem.from_table(frame, target, "onehot", columns=columns)
    return solve(problem, "0.0001", "cart").tree


def again(tree: Tree, content: str, folder: Path) -> tuple[list[Any], Accuracy | None]:
    """What a tree says about a CSV file."""
    path = folder / "again.csv"
    path.write_text(content)
    frame = read_frame(str(path), tree)
    table = predict_table(tree, frame)
    return table["prediction"].tolist(), measure_accuracy(tree, frame, table)


def test_accuracy_counts_labels_that_are_no_class(tmp_path: Path) -> None:
    """The case of the issue: ``unk`` makes text of a column of numbers."""
    (tmp_path / "train.csv").write_text("x,y\n" + "a,0\n" * 5 + "b,1\n" * 5)
    (tmp_path / "new.csv").write_text("x,y\n" + "b,1\n" * 12 + "b,unk\n" * 18)
    solved = run(
        "solve", tmp_path / "train.csv", "--target", "y", "--lam", "0.01",
        "--save", tmp_path / "tree.json",
    )  # fmt: skip
    assert solved.exit_code == 0, solved.stderr
    result = run("predict", tmp_path / "tree.json", tmp_path / "new.csv")
    assert result.stderr.strip() == (
        "accuracy 0.4000: 12 of 30 rows as in column 'y', 18 rows with a label that is no class "
        "of the tree"
    )


@pytest.mark.parametrize(
    "labels, fields",
    [
        (["0", "1"], ["0", "1"]),
        (["01", "1.0"], ["01", "1.0"]),
        ([0, 1], ["0.0", "1"]),
        ([False, True], ["false", "TRUE"]),
        (["2024-01-01", "2024-01-02"], ["2024-01-01", "2024-01-02"]),
        ([2**53, 2**53 + 1], [str(2**53), str(2**53 + 1)]),
    ],
)
@pytest.mark.parametrize("more", ["", "a,\n", "a,unk\n"])
def test_accuracy_reads_the_target_as_in_training(
    labels: list[Any], fields: list[str], more: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"x": ["a", "b"] * 5, "y": labels * 5})
    content = f"x,y\na,{fields[0]}\nb,{fields[1]}\n{more}"
    predicted, accuracy = again(train(frame), content, tmp_path)
    assert predicted[:2] == labels
    assert accuracy == Accuracy(2, 3 if "unk" in more else 2, int("unk" in more))


@pytest.mark.parametrize(
    "values, fields",
    [
        (["1.0", "2.0", "x"], ["1.0", "2.0"]),
        (["01234", "1234", "x"], ["01234", "1234"]),
        (["+1", "1e3", "x"], ["+1", "1e3"]),
        (["true", "false", "maybe"], ["true", "false"]),
        (["2", "3", "5more"], ["2", "3"]),
        ([1, 2, 3], ["1.0", ""]),
        ([True, False, True], ["TRUE", "False"]),
    ],
)
def test_categories_are_read_as_in_training(
    values: list[Any], fields: list[str], tmp_path: Path
) -> None:
    """Without ``x`` the file has nothing but numbers in this column."""
    frame = pd.DataFrame({"x": values * 4, "y": [0, 1, 2 if values[2] != values[0] else 0] * 4})
    tree = train(frame)
    content = "x\n" + "".join(f'"{field}"\n' for field in fields)
    expected = [0, 1] if fields[1] else [0, tree.predict(pd.DataFrame({"x": [None]}))[0]]
    assert again(tree, content, tmp_path)[0] == expected


def test_numbers_that_may_be_two_texts_are_refused() -> None:
    tree = train(pd.DataFrame({"x": ["1", "1.0", "2"] * 4, "y": [0, 1, 0] * 4}))
    with pytest.raises(InputError, match=r"'x' has the value 1, which may be the text '1' or"):
        tree.predict(pd.DataFrame({"x": [1.0, 2.0]}))


# Whatever a table holds, its rows are predicted alike from memory, CSV and Parquet.

WORDS = ["1", "1.0", "01", "+2", "1e3", "2", "True", "true", "x", "x ", "a,b", '"q"', "2024-01-01",
         "2024-01-01 00:00:00", "é", "e\u0301", "missing", "1,000", "0.1", "-0",
         "NA", "None", "nan"]  # fmt: skip
MOMENTS = pd.to_datetime(["2024-01-01 00:00", "2024-01-01 12:30", "2023-05-06 00:00"])

columns = {
    "text": st.sampled_from(WORDS),
    "whole": st.integers(-3, 3),
    "big": st.sampled_from([2**53, 2**53 + 1, -(2**60) - 1]),
    "real": st.sampled_from(
        [0.1, 0.1 + 0.2, 0.3, -0.0, 1e-300, 1e22, 5.713666467106233e16, 12345.678]
    ),
    "flag": st.booleans(),
    "day": st.sampled_from(list(MOMENTS)),
    "label": st.sampled_from(list(MOMENTS)),
    "mixed": st.sampled_from([1, 2.5, 3.0, True, False, "x", "y", 0, "NA"]),
}
KINDS = dict.fromkeys(("text", "big", "flag", "label", "mixed"), "category")


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """Rows with gaps, and a target of text, numbers or booleans."""
    n = draw(st.integers(4, 12))
    frame = pd.DataFrame(index=range(n))
    for name in draw(st.lists(st.sampled_from(sorted(columns)), min_size=1, unique=True)):
        values = draw(st.lists(st.none() | columns[name], min_size=n, max_size=n))
        dtype = {"big": "Int64", "day": "datetime64[us]", "label": "datetime64[us]"}
        frame[name] = pd.Series(values, dtype=dtype.get(name, None if name != "mixed" else object))
    labels = draw(st.sampled_from([["0", "1"], [0, 1], [False, True], ["01", "1"]]))
    frame["y"] = draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n))
    return frame


def test_known_texts_are_not_missing(tmp_path: Path) -> None:
    """``None`` and ``NA`` stand for missing fields, unless the tree knows them as values."""
    frame = pd.DataFrame({"x": ["None", "b"] * 5, "y": ["NA", "q"] * 5})
    tree = Tree.from_json(train(frame).to_json())
    content = frame.to_csv(index=False)
    assert again(tree, content, tmp_path) == (["NA", "q"] * 5, Accuracy(10, 10))
    gaps = again(tree, "x,y\nNone,NA\n,\nNULL,null\nb,NaN\n", tmp_path)
    assert gaps[1] == Accuracy(1, 1)


@pytest.mark.parametrize("text", ["NA", "None", "nan", "null", "N/A", "<NA>"])
@pytest.mark.parametrize("other", ["b", 1])
def test_texts_that_the_tree_does_not_ask_for_are_not_missing(
    text: str, other: Any, tmp_path: Path
) -> None:
    """The tree asks for missing values only, which such a text is none of."""
    frame = pd.DataFrame({"x": [text, other, None] * 4, "y": ["p", "p", "q"] * 4}, dtype=object)
    tree = Tree.from_json(train(frame, x="category").to_json())
    assert [test.to_dict()["groups"] for test in tree.tests.values()] == [[[], [None]]]
    assert again(tree, frame.to_csv(index=False), tmp_path) == (["p", "p", "q"] * 4, (12, 12, 0))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), st.data())
def test_rows_are_predicted_alike_from_everywhere(frame: pd.DataFrame, data: st.DataObject) -> None:
    assume(frame["y"].nunique() == 2)
    kinds = {name: kind for name, kind in KINDS.items() if name in frame}
    try:
        problem = Problem.from_table(frame, "y", "thresholds", columns=kinds)
    except InputError:
        assume(False)
    tree = solve(problem, "0.0001", "cart").tree
    expected = tree.predict(frame)
    rows = data.draw(st.lists(st.sampled_from(range(len(frame))), min_size=1, unique=True))
    part = frame.iloc[rows].reset_index(drop=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_tree(tree, folder / "tree.json")
        tree = load_tree(folder / "tree.json")
        part.to_csv(folder / "t.csv", index=False)
        part.infer_objects().drop(columns="mixed", errors="ignore").to_parquet(folder / "t.parquet")
        read = [part, part.infer_objects(), read_frame(str(folder / "t.csv"), tree)]
        if "mixed" not in tree.columns:
            read.append(read_frame(str(folder / "t.parquet"), tree))
    for table in read:
        predictions = predict_table(tree, table)
        np.testing.assert_array_equal(predictions["prediction"], expected[rows])
        assert measure_accuracy(tree, table, predictions) == Accuracy(
            int((expected[rows] == part["y"]).sum()), len(part)
        )


def test_numbers_that_parquet_cannot_hold_are_refused_in_one_line(tmp_path: Path) -> None:
    tree, out = tmp_path / "tree.json", tmp_path / "o.parquet"
    save_tree(train(pd.DataFrame({"x": ["a", "b"] * 5, "y": [10**20, 2 * 10**20] * 5})), tree)
    (tmp_path / "new.csv").write_text("x\na\nb\n")
    result = run("predict", tree, tmp_path / "new.csv", "--out", out)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert f"cannot write {out} as Parquet: " in result.stderr
    assert result.stderr.rstrip().endswith("; write .csv")
    assert not out.exists()
    assert run("predict", tree, tmp_path / "new.csv", "--out", tmp_path / "o.csv").exit_code == 0
    assert (tmp_path / "o.csv").read_text() == f"prediction\n{10**20}\n{2 * 10**20}\n"


def test_kept_columns_are_copied_letter_by_letter(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    save_tree(train(pd.DataFrame({"x": ["1", "b"] * 5, "y": [0, 1] * 5})), path)
    written = [
        "id,x,amount,note,y",
        "007,1,1.50,NA,0",
        '010,b,1e3,"a,b",1',
        "011,,12345678901234567890,,0",
    ]
    (tmp_path / "new.csv").write_text("\n".join(written))
    result = run("predict", path, tmp_path / "new.csv", "--keep", "*")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == written[0] + ",prediction"
    assert [line.rpartition(",")[0] for line in lines[1:]] == written[1:]
    result = run(
        "predict",
        path,
        tmp_path / "new.csv",
        "--keep",
        "amount",
        "--keep",
        "id",
        "--out",
        tmp_path / "o.parquet",
    )
    assert result.exit_code == 0, result.stderr
    copied = pd.read_parquet(tmp_path / "o.parquet")
    assert copied.columns.tolist() == ["amount", "id", "prediction"]
    assert copied["id"].tolist() == ["007", "010", "011"]
    refused = run("predict", path, tmp_path / "new.csv", "--keep", "ID")
    assert refused.exit_code == 2
    known = "it has 'id', 'x', 'amount', 'note', 'y'; did you mean 'id'?"
    assert f"no column 'ID' to keep; {known}" in refused.stderr
