"""Tests of solver/errors.py."""

from __future__ import annotations

from solver.errors import one_line


def test_a_message_is_put_on_one_line_and_cut() -> None:
    error = ValueError("first  line\n\tsecond line\n")
    assert one_line(error) == "first line second line"
    assert one_line(error, 10) == "first line"
    assert one_line(" a\nb ") == "a b"


def test_an_error_without_a_message_gives_its_type() -> None:
    assert one_line(TimeoutError()) == "TimeoutError"
    assert one_line("") == ""
