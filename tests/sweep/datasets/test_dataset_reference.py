"""How a dataset is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from solver.errors import InputError
from sweep.datasets import DatasetRef, load_dataset, parse_reference


class Spec(BaseModel):
    datasets: list[DatasetRef]


def test_in_a_spec():
    columns = {"age": "number", "job": {"kind": "category", "missing": ["?"]}}
    spec = Spec.model_validate(
        {
            "datasets": [
                "car",
                "openml:61",
                "data/loans.csv",
                {"name": "loans", "path": "loans.parquet", "target": "default", "columns": columns},
                {"path": "my.loans.csv.gz", "target": "default", "separator": ";"},
                {"name": "openml:iris", "target": "class"},
                {"name": "nursery", "columns": {"form": "drop"}},
            ]
        }
    )
    refs = spec.datasets
    assert [ref.name for ref in refs] == [
        "car", "openml:61", "loans", "loans", "my.loans", "openml:iris", "nursery",
    ]  # fmt: skip
    assert [ref.path for ref in refs[:4]] == [
        None, None, Path("data/loans.csv"), Path("loans.parquet"),
    ]  # fmt: skip
    assert refs[3].overrides() == columns
    assert refs[6].overrides() == {"form": "drop"}


@pytest.mark.parametrize(
    "value, message",
    [
        ("carr", "there is no dataset 'carr'; did you mean car"),
        ("xyz", "there is no dataset 'xyz'; there are: tic-tac-toe"),
        ({}, "a dataset needs a name or a path"),
        ({"name": "car", "targt": "x"}, "a dataset has no field 'targt'; it has: name, path, targ"),
        ({"name": "car", "columns": {"doors": "ordinal"}}, "dataset: columns.doors: Input should"),
        ({"name": "car", "columns": {"doors": {"as": 1}}}, "dataset: columns.doors"),
        ({"name": "car", "separator": ";"}, "separator is for a dataset with a path"),
        ({"path": "a.csv", "separator": "::"}, "dataset: separator: String should have at most 1"),
        ({"path": 3}, "dataset: path"),
        ({"name": "car", "test": {"doors": float("nan")}}, "test: doors is not a number; name the"),
    ],
)
def test_errors_are_one_line(value, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_reference(value)
    assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(ValidationError):
        Spec.model_validate({"datasets": [value]})


def test_more_fields():
    ref = parse_reference("a.csv", target="class")
    assert (ref.name, ref.path, ref.target) == ("a", Path("a.csv"), "class")
    assert parse_reference(ref, target="other").target == "other"
    assert parse_reference(Path("a.csv")).path == Path("a.csv")
    assert parse_reference(ref) == ref


def test_a_known_name_is_no_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "car").write_text("")
    assert parse_reference("car").path is None
    assert parse_reference("./car").path == Path("car")


def test_from_directory(tmp_path):
    ref = parse_reference("data/a.csv")
    assert ref.from_directory(tmp_path).path == tmp_path / "data" / "a.csv"
    absolute = parse_reference("/data/a.csv")
    assert absolute.from_directory(tmp_path).path == Path("/data/a.csv")
    assert parse_reference("car").from_directory(tmp_path) == parse_reference("car")


def test_a_builtin_with_another_target():
    dataset = load_dataset({"name": "car", "target": "safety", "columns": {"target": "drop"}})
    assert dataset.classes == ("high", "low", "med")
    assert "target" not in dataset.frame.columns
