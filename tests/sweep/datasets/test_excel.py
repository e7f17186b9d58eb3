"""Excel files: a sheet gives what a CSV file with the same values gives."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest

from solver.errors import InputError, InputWarning
from solver.features.column_inference import infer_columns
from sweep.datasets import excel, load_dataset, read_file
from sweep.plan.plan import make_plan
from sweep.spec.python_spec import as_sweep
from tests.helpers.commands import refused, run

N = 12
TABLE = pd.DataFrame(
    {
        "größe": [1.5, np.nan, *(0.3 + i for i in range(N - 2))],
        "n": range(N),
        "huge": [1e18 * i for i in range(N)],
        "zip": [f"0{i}234" for i in range(N)],
        "text": ["a, b", 'say "x"', "two\nlines", *map(str, range(N - 3))],
        "new": [i % 2 == 0 for i in range(N)],
        "opened": pd.date_range("2020-01-30", periods=N),
        "seen": pd.date_range("2020-01-30", periods=N, freq="13h"),
        "class": ["yes" if i % 3 else "no" for i in range(N)],
    }
)


def write(path: Path, rows: Sequence[Sequence[Any]], *more: str) -> Path:
    """A file with these rows in its first sheet, and more sheets."""
    book = openpyxl.Workbook()
    book.active.title = "first"
    for row in rows:
        book.active.append(row)
    for name in more:
        book.create_sheet(name).append(["only", name])
    book.save(path)
    return path


def test_a_sheet_gives_the_dataset_of_its_csv(tmp_path: Path) -> None:
    TABLE.to_excel(tmp_path / "t.xlsx", index=False)
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    sheet, text = (load_dataset(tmp_path / name, target="class") for name in ("t.xlsx", "t.csv"))
    pd.testing.assert_frame_equal(sheet.frame, text.frame)
    assert sheet.digest == text.digest
    assert sheet.name == "t"


def test_predictions_are_those_of_the_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    TABLE.to_excel("t.xlsx", index=False)
    TABLE.to_csv("t.csv", index=False)
    solve = "solve t.xlsx --target class --solver cart --lam 0 --column huge=drop"
    assert run(*solve.split(), "--save", "tree.json").exit_code == 0
    table = run("predict", "tree.json", "t.csv").stdout
    assert table.startswith("prediction")
    assert run("predict", "tree.json", "t.xlsx").stdout == table


def test_a_sheet_is_chosen_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "t.xlsx", [["a", "b"], [1, 3], [2, 4]], "two words")
    with pytest.raises(
        InputError, match=r"several sheets: 'first', 'two words'; name one, e.g. sh"
    ):
        read_file(path)
    with pytest.raises(InputError, match="no sheet 'two word'; did you mean 'two words'"):
        read_file(path, sheet="two word")
    assert [*read_file(path, sheet="two words").columns] == ["only", "two words"]
    assert "--sheet" in refused("inspect", path)
    assert "only" in run("inspect", path, "--sheet", "two words").stdout
    init = run("init", path, "--sheet", "first", "--target", "a").stdout
    assert "sheet: first" in init
    book = openpyxl.load_workbook(path)
    book["two words"].sheet_state = "hidden"
    book.save(path)
    assert [*read_file(path).columns] == ["a", "b"]


def test_only_excel_files_have_sheets(tmp_path: Path) -> None:
    TABLE.to_csv(tmp_path / "t.csv")
    with pytest.raises(InputError, match="has no sheets; leave out the sheet 'first'"):
        read_file(tmp_path / "t.csv", sheet="first")
    with pytest.raises(InputError, match="sheet is for a dataset with a path"):
        load_dataset("car", sheet="first")


def test_errors_in_cells_are_missing_and_said(tmp_path: Path) -> None:
    path = write(tmp_path / "t.xlsx", [["a", "b"], ["#N/A", "x"], [2, "#DIV/0!"], [3, "y"]])
    with pytest.warns(InputWarning, match=r"are read as missing: 2 \(#DIV/0!, #N/A\)"):
        frame = read_file(path)
    assert frame["a"].tolist()[1:] == [2, 3]
    assert frame.isna().sum().tolist() == [1, 1]
    assert frame["b"].tolist()[::2] == ["x", "y"]


def test_the_command_line_says_so_in_one_line(tmp_path: Path) -> None:
    path = write(tmp_path / "t.xlsx", [["a", "b"], ["#N/A", "x"], [2, "y"], [3, "y"]])
    result = run("inspect", path, "--json")
    assert result.stderr == f"treesweep: {path}: cells with errors are read as missing: 1 (#N/A)\n"
    assert json.loads(result.stdout)["columns"][0]["missing"] == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "is empty; its first row must name the columns"),
        ([[], ["a", "b"], [1, 2]], "the first row of the sheet .* is empty; delete the rows above"),
        ([["Report"], ["a", "b"], [1, 2]], "the cell B1 of the sheet .* is empty, .* merged cells"),
        ([["a", "b"], [1, 2, 3]], "the cell C1 of the sheet .* is empty"),
        ([["a", "a"], [1, 2]], "two columns named 'a'"),
    ],
)
def test_refused_headers(tmp_path: Path, rows: list[list[Any]], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_file(write(tmp_path / "t.xlsx", rows))
    assert "\n" not in str(caught.value)


def test_merged_names_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.xlsx", [["a", "b", "c"], [1, 2, 3]])
    book = openpyxl.load_workbook(path)
    book.active.merge_cells("A1:B1")
    book.save(path)
    with pytest.raises(InputError, match=r"the cell B1 .* part merged cells"):
        read_file(path)


def test_row_numbers_of_pandas_are_refused_as_in_csv(tmp_path: Path) -> None:
    TABLE.to_excel(tmp_path / "t.xlsx")
    with pytest.raises(InputError, match="a column without a name, perhaps row numbers"):
        load_dataset(tmp_path / "t.xlsx", target="class")


@pytest.mark.parametrize(
    ("cell", "wish"),
    [
        (date(2020, 7, 31), {"kind": "number", "decimal": ","}),
        (datetime(2020, 7, 31, 12), {"kind": "date", "format": "%d/%m/%Y"}),
        (1.5, {"kind": "date", "format": "%d.%m.%Y"}),
        (0.23, {"unit": "%"}),
        (1, {"unit": "%"}),
    ],
)
def test_a_format_does_not_misread_numbers_and_dates(
    tmp_path: Path, cell: Any, wish: dict[str, str]
) -> None:
    path = write(tmp_path / "t.xlsx", [["a", "y"], ["1,5", 0], [cell, 1]])
    with pytest.raises(
        InputError, match=r"in .* the cell A3 is a (number|date); leave out the for"
    ):
        load_dataset(path, target="y", columns={"a": wish})


def test_numbers_and_dates_are_what_they_are_beside_texts_of_a_format(tmp_path: Path) -> None:
    rows = [["a", "b", "y"], ["1.234,5", "30/07/2020", 0], [12.345, date(2020, 7, 31), 1]]
    wish = {"a": {"decimal": ",", "thousands": "."}, "b": {"format": "%d/%m/%Y"}}
    dataset = load_dataset(write(tmp_path / "t.xlsx", rows), target="y", columns=wish)
    found = [spec.read(dataset.frame[name]) for name, spec in infer_columns(
        dataset.frame.drop(columns="y"), wish).items()]  # fmt: skip
    assert found[0].tolist() == [1234.5, 12.345]
    assert found[1].tolist() == [18473 * 86400, 18474 * 86400]


def test_a_tree_predicts_the_sheet_that_it_was_grown_on(tmp_path: Path) -> None:
    rows = [[f"2020-01-{day:02d}", day > 9] for day in range(1, 25)]
    cells = [[datetime.fromisoformat(day), label] for day, label in rows]
    data = write(tmp_path / "t.xlsx", [["day", "y"], *cells])
    tree = tmp_path / "tree.json"
    run("solve", data, "--target", "y", "--lam", "0.01", "--save", tree)
    assert "24 of 24 rows" in run("predict", tree, data).stderr
    pd.DataFrame(rows, columns=["day", "y"]).to_csv(tmp_path / "t.csv", index=False)
    assert "24 of 24 rows" in run("predict", tree, tmp_path / "t.csv").stderr


def test_no_number_is_read_by_the_format_of_texts_beside_it(tmp_path: Path) -> None:
    rows = [["a"], *([f"1.{i},5"] for i in range(100, 112))]
    assert len(read_file(write(tmp_path / "t.xlsx", [*rows, [2.25], [1200]]))) == 14
    with pytest.raises(
        InputError, match=r"such as '1\.100,5', and numbers, such as 12\.345, which"
    ):
        read_file(write(tmp_path / "t.xlsx", [*rows, [12.345]]))


def test_blank_cells_and_rows_at_the_end_do_not_count(tmp_path: Path) -> None:
    path = write(tmp_path / "t.xlsx", [["a", "b"], [1, None], [None, None], [2, 3]])
    book = openpyxl.load_workbook(path)
    book.active.cell(50, 9).number_format = "0.00"
    book.save(path)
    frame = read_file(path)
    assert frame.shape == (3, 2)
    assert frame["a"].isna().tolist() == [False, True, False]


def test_what_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "t.xlsx", [["a", "b"], *([i, "x" * 99] for i in range(99))])
    for limit, value in (
        ("MOST_BYTES", 9000), ("MOST_OTHER_BYTES", 99), ("MOST_CELLS", 99), ("MOST_ROWS", 9),
    ):  # fmt: skip
        with monkeypatch.context() as patch, pytest.raises(InputError, match=r"too large .* CSV"):
            patch.setattr(excel, limit, value)
            read_file(path)
    far = write(tmp_path / "far.xlsx", [["a"]])
    book = openpyxl.load_workbook(far)
    book.active.cell(2**20, 2**14).value = 1
    book.save(far)
    with pytest.raises(InputError, match="too large"):
        read_file(far)


def test_damaged_files(tmp_path: Path) -> None:
    path = write(tmp_path / "t.xlsx", [["a"], [1]])
    whole = path.read_bytes()
    for damaged in (b"", b"\xd0\xcf\x11\xe0 an old .xls", whole[:300], whole[:-40]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"t\.xlsx cannot be read"):
            read_file(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("xl/workbook.xml", "<workbook>")
    with pytest.raises(InputError, match=r"t\.xlsx cannot be read"):
        read_file(path)


def test_without_openpyxl_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "t.xlsx", [["a"], [1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InputError, match=r"pip install 'treesweep\[excel\]'"):
        read_file(path)


def test_a_sweep_of_a_sheet(tmp_path: Path) -> None:
    write(tmp_path / "t.xlsx", [["a", "y"], *([i, i % 2] for i in range(9))], "other")
    dataset = {"path": str(tmp_path / "t.xlsx"), "sheet": "first", "target": "y"}
    spec = {
        "name": "s",
        "datasets": dataset,
        "encodings": "auto",
        "lambdas": 0.1,
        "solvers": "cart",
    }
    assert make_plan(as_sweep(spec)).n_tasks == 1
    del dataset["sheet"]
    with pytest.raises(InputError, match=r"several sheets: 'first', 'other'"):
        make_plan(as_sweep(spec))
