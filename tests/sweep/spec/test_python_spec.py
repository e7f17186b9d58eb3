"""Tests of sweep/spec/python_spec.py."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import Field

from solver.errors import InputError
from sweep.spec.python_spec import FromPython, as_sweep
from sweep.spec.spec import load_spec, parse_spec

SPEC: dict[str, Any] = {
    "name": "small",
    "datasets": ["monks-1", {"name": "mine", "path": Path("mine.csv"), "target": "y"}],
    "encodings": ("onehot", {"encoding": "quantiles", "k": range(2, 4)}),
    "lambdas": np.array([1e-5, 0.1]),
    "solvers": [{"solver": "branches", "options": {"depth": np.int64(3)}}],
    "limits": {"memory": "4GiB", "seconds": 5},
}


def test_a_dict_is_the_same_as_its_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = as_sweep(SPEC)
    assert parse_spec(sweep.text).spec == sweep.spec
    assert sweep.base == tmp_path
    (tmp_path / "sweep.yaml").write_text(sweep.text)
    for path in ("sweep.yaml", tmp_path / "sweep.yaml"):
        assert as_sweep(path).spec == load_spec("sweep.yaml").spec
    assert as_sweep(sweep) is sweep


def test_words_that_yaml_would_read_as_something_else_stay_words() -> None:
    column = {"no": "category", "1e-3": "category", "null": "drop", "12:30": "drop", "": "drop"}
    spec = {**SPEC, "datasets": {"path": "a.csv", "target": "true", "columns": column}}
    (dataset,) = as_sweep(spec).spec.datasets
    assert (dataset.target, dataset.columns) == ("true", column)


def test_fractions_and_numpy_numbers_are_exact() -> None:
    sweep = as_sweep({**SPEC, "lambdas": [Fraction(1, 3), np.float64(0.1), "1/7"]})
    lams = sweep.spec.lams(sweep.spec.datasets[0], 10).lams
    assert [lam.exact for lam in lams] == [Fraction(1, 3), Fraction(1, 10), Fraction(1, 7)]


def test_single_entries_are_lists_of_one() -> None:
    one = {"name": "one", "datasets": "iris", "encodings": "mdlp", "lambdas": 0.1}
    many = {key: value if key == "name" else [value] for key, value in one.items()}
    assert as_sweep({**one, "solvers": "cart"}).spec == as_sweep({**many, "solvers": ["cart"]}).spec


ITSELF: dict[str, Any] = dict(SPEC)
ITSELF["limits"] = ITSELF


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({**SPEC, "solvers": ["brnches"]}, "spec['solvers'][0]: unknown solver 'brnches' (did"),
        ({**SPEC, "solvers": "brnches"}, "spec['solvers']: unknown solver 'brnches' (did"),
        (
            {**SPEC, "datasets": {"path": "a.csv", "targt": "y"}},
            "spec['datasets']['targt']: unknown key 'targt' (did you mean 'target'?)",
        ),
        (
            {**SPEC, "solvers": {"solver": "branches", "proof": 1}},
            "spec['solvers']['proof']: expected True or False, got 1",
        ),
        ({**SPEC, "limits": None}, "spec['limits']: expected a dict, got None"),
        ({}, "spec: the key 'name' is missing"),
        ({**SPEC, 1: 2}, "spec: the key 1 is not text; write '1'"),
        ({**SPEC, "seed": float("nan")}, "spec['seed']: nan is not a finite number"),
        ({**SPEC, "datasets": [{1, 2}]}, "spec['datasets'][0]: expected text, a number, a list or"),
        (
            {**SPEC, "datasets": [pd.DataFrame({"a": [1]})]},
            "spec['datasets'][0]: a table",
        ),
        (ITSELF, "the spec is nested too deep"),
        ([], "a sweep is a dict, or the path of a YAML file, not a value of type list"),
        ("name: a\ndatasets: b", "read it by treesweep.parse_spec(text)"),
    ],
)
def test_an_error_names_the_place_in_the_dict(spec: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        as_sweep(spec)
    assert message in str(error.value)
    assert "line" not in str(error.value) or isinstance(spec, str)


class Inner(FromPython):
    port: int


class Outer(FromPython):
    inner: list[Inner] = Field(default_factory=list)
    number: float | None = Field(default=None, ge=1)


def test_a_good_call_is_pydantics() -> None:
    made = Outer(inner=[Inner(port=1), {"port": 2}], number=3)  # type: ignore[list-item]
    assert [one.port for one in made.inner] == [1, 2]
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"inner": [{"port": 1}, {"port": "x"}]}, "Outer: inner[1]['port']: expected a whole nu"),
        ({"inner": [{}]}, "Outer: inner[0]: the key 'port' is missing"),
        ({"inner": {}}, "Outer: inner: expected a list, got a dict"),
        ({"number": 0}, "Outer: number: input should be greater than or equal to 1, got 0"),
        ({"numbr": 0}, "Outer: numbr: unknown argument 'numbr' (did you mean 'number'?); allowed"),
        ({"number": True}, "Outer: number: expected a number, got True"),
    ],
)
def test_a_mistake_is_one_line(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        Outer(**given)  # type: ignore[arg-type]
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_arguments_have_names() -> None:
    with pytest.raises(InputError, match=r"Outer: give each argument by its name: inner=…, n"):
        Outer(3)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="Inner: the argument 'port' is missing"):
        Inner()  # type: ignore[call-arg]
