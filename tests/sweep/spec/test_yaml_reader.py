"""Tests of sweep/spec/yaml_reader.py."""
# ruff: noqa: E501  a message is easier to read on one line

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from solver.errors import InputError
from sweep.spec.yaml_reader import Strict, parse_yaml, read_yaml, validate


def parse(text: str) -> Any:
    return parse_yaml(text, Path("a.yaml")).data


@pytest.mark.parametrize(
    "text, value",
    [
        ("1e-3", 0.001), ("1E3", 1000.0), ("-.5", -0.5), ("1.", 1.0), ("0.01", 0.01), ("007", 7),
        ("no", "no"), ("yes", "yes"), ("on", "on"), ("true", True), ("False", False),
        ("null", None), ("~", None), ("12:30", "12:30"), ("2024-01-01", "2024-01-01"),
        ("0x10", "0x10"), ("1_000", "1_000"), (".inf", ".inf"), ("e3", "e3"), ("'1'", "1"),
        ("1/3", "1/3"),
    ],
)  # fmt: skip
def test_scalars_mean_what_they_look_like(text: str, value: Any) -> None:
    found = parse(f"key: {text}")["key"]
    assert found == value
    assert type(found) is type(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_that_python_prints_is_a_float(number: float) -> None:
    assert parse(f"key: {number!r}")["key"] == number


@pytest.mark.parametrize(
    "text, message",
    [
        ("a: 1\nb: 2\na: 3\n", "a.yaml, line 3: the key 'a' is duplicated (first on line 1)"),
        ("a: [1, 2", "a.yaml, line 1: this is not valid YAML"),
        ("a: 1\n b: 2", "a.yaml, line 2: this is not valid YAML"),
        ("", "a.yaml is empty"),
        ("# nothing", "a.yaml is empty"),
        ("[a]: 1", "a.yaml, line 1: a key must be a word"),
        ("a: !!python/object:os.system x", "a.yaml, line 1: cannot read 'x'"),
        ("a: &b [*b]", "nested too deep"),
    ],
)
def test_bad_yaml_names_file_and_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none.yaml: No such file"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="cannot read"):
        read_yaml(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text file in UTF-8"):
        read_yaml(tmp_path / "binary.yaml")


class Inner(Strict):
    size: int = Field(ge=1)
    color: str = "red"


class Outer(Strict):
    inner: Inner
    many: list[int] = Field(default_factory=list, min_length=1)


@pytest.mark.parametrize(
    "text, message",
    [
        ("inner: {size: 1, colour: x}", "line 1: inner.colour: unknown key 'colour' (did you mean 'color'?); allowed: size, color"),
        ("inner:\n  size: big", "line 2: inner.size: expected a whole number, got 'big'"),
        ("inner:\n  size: '1'", "line 2: inner.size: expected a whole number, got '1'"),
        ("inner:\n  size: true", "line 2: inner.size: expected a whole number, got true"),
        ("inner:\n  size: 1.5", "line 2: inner.size: expected a whole number, got 1.5"),
        ("inner:\n  size:", "line 2: inner.size: expected a whole number, got nothing"),
        ("inner:\n  size: 0", "line 2: inner.size: input should be greater than or equal to 1, got 0"),
        ("inner: {}", "line 1: inner: the key 'size' is missing"),
        ("inner: 3", "line 1: inner: expected 'key: value' entries, got 3"),
        ("inner: {size: 1}\nmany: [1, two]", "line 2: many[2]: expected a whole number, got 'two'"),
        ("inner: {size: 1}\nmany: []", "line 2: many: the list is empty"),
        ("inner: {size: 1}\nmany: 5", "line 2: many: expected a list, got 5"),
        ("other: 1", "unknown key 'other'; allowed: inner, many"),
        ("- 1", "expected 'key: value' lines"),
    ],
)  # fmt: skip
def test_bad_values_name_line_key_and_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        validate(Outer, parse_yaml(text, Path("a.yaml")))
    assert message in str(caught.value)


def test_a_pair_of_surrogates_is_the_character_that_it_stands_for() -> None:
    assert parse(r'"\ud83d\ude00": ["\ud83d\ude00.csv"]') == {"😀": ["😀.csv"]}


@pytest.mark.parametrize("text", [r'"a\ud800b"', r'"\ude00\ud83d"', r'"\udcff": 1'])
def test_half_a_character_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(InputError, match=r"^a.yaml, line 2: .*holds a lone surrogate") as caught:
        parse(f"# one\n- {text}\n")
    str(caught.value).encode()


def test_a_file_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the file name .* holds a lone surrogate"):
        read_yaml(tmp_path / "a\udcff.yaml")
