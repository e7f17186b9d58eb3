"""Tests of solver/errors.py."""

from __future__ import annotations

from solver.errors import columns_like, one_line


def test_a_message_is_put_on_one_line_and_cut() -> None:
    error = ValueError("first  line\n\tsecond line\n")
    assert one_line(error) == "first line second line"
    assert one_line(error, 10) == "first line"
    assert one_line(" a\nb ") == "a b"


def test_an_error_without_a_message_gives_its_type() -> None:
    assert one_line(TimeoutError()) == "TimeoutError"
    assert one_line("") == ""


def test_a_few_columns_of_a_wide_table_are_named_and_the_one_that_was_meant() -> None:
    wide = [*(f"c{i}" for i in range(3_000)), "Class"]
    shown = columns_like("klass", wide)
    assert shown.startswith("'c0', 'c1', ")
    assert shown.endswith("'c23' and 2977 more; did you mean 'Class'?")
    assert columns_like(7, ["a", 7, "7"]) == "'a', '7', '7'; did you mean '7'?"
    assert columns_like("x", []) == ""
