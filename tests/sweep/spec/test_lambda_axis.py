"""Tests of sweep/spec/lambda_axis.py."""
# ruff: noqa: E501  a message is easier to read on one line

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.errors import InputError
from sweep.spec.lambda_axis import expand, shown
from sweep.spec.spec import parse_spec

SPEC = "name: a\ndatasets: [car]\nencodings: [onehot]\nsolvers: [cart]\nlambdas: {}\n"


def lams(text: str, n: int = 100) -> list[tuple[str, str]]:
    spec = parse_spec(SPEC.replace("{}", text)).spec
    return [(str(lam.exact), lam.label) for lam in expand(spec.lambdas, n).lams]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("[0.1, 1e-3, '1/3', 0, 2]", [("1/10", "0.1"), ("1/1000", "0.001"), ("1/3", "1/3"), ("0", "0"), ("2", "2")]),
        ("0.05", [("1/20", "0.05")]),
        ("[0.1, '1/10', 0.10]", [("1/10", "0.1")]),
        ("{per-row: 2}", [("1/50", "2/n")]),
        ("{per-row: [1, 0.5]}", [("1/100", "1/n"), ("1/200", "0.5/n")]),
        ("{from: 0.1, to: 0.001, count: 3}", [("1/10", "0.1"), ("1/100", "0.01"), ("1/1000", "0.001")]),
        ("{from: 0, to: 1, count: 3, scale: linear}", [("0", "0"), ("1/2", "0.5"), ("1", "1")]),
        ("{from: 0, to: 1, count: 4, scale: linear}", [("0", "0"), ("333333/1000000", "0.333333"), ("666667/1000000", "0.666667"), ("1", "1")]),
        ("[0.5, {per-row: 1}, {from: 0.5, to: 0.1, count: 2}]", [("1/2", "0.5"), ("1/100", "1/n"), ("1/10", "0.1")]),
    ],
)  # fmt: skip
def test_lists_grids_and_per_row(text: str, expected: list[tuple[str, str]]) -> None:
    assert lams(text) == expected


def test_a_lambda_is_as_it_is_written_however_many_digits_it_has() -> None:
    long = "0.04999999999999999999999"
    near = str(Fraction(long))
    assert lams(f"[{long}, 0.05]") == [(near, long), ("1/20", "0.05")]
    assert lams(f"{{value: {long}}}") == [(near, long)]
    assert lams(f"{{per-row: [{long}]}}") == [(str(Fraction(long) / 100), f"{long}/n")]
    assert lams(f"{{from: 0.1, to: {long}, count: 2}}")[1][0] == near
    own = SPEC.replace("[car]", f"[{{name: car, lambdas: [{long}]}}]").replace("{}", "1")
    spec = parse_spec(own).spec
    assert [lam.exact for lam in spec.lams(spec.datasets[0], 100).lams] == [Fraction(long)]


@pytest.mark.parametrize("text", ["1e-400", "1e400", "1e99999999999999999999"])
def test_lambdas_beyond_floats_are_refused_as_they_are_written(text: str) -> None:
    with pytest.raises(InputError, match=f"λ = '{text}'… has too many digits; write it with fewer"):
        lams(f"[0.1, {text}]")


def test_numbers_elsewhere_that_would_be_read_as_others_are_refused() -> None:
    for more in ("limits: {seconds: 0.1000000000000000000001}\n", "limits: {seconds: 1e400}\n"):
        with pytest.raises(InputError, match=r"line 6: limits.seconds: .* would be read as"):
            parse_spec(SPEC.replace("{}", "0.1") + more)
    for place in ("{test: {lambdas: %s}}", "{columns: {lambdas: %s}}"):
        entry = place % "0.3000000000000000000000001"
        table = "{path: t.csv, target: y, " + entry[1:]
        with pytest.raises(InputError, match=r"lambdas: .* would be read as"):
            parse_spec(SPEC.replace("[car]", f"[{table}]").replace("{}", "0.1"))
    for same in ("0.10", "1e-1", "+.1", "0.1000000000000000000000"):
        assert parse_spec(SPEC.replace("{}", "1") + f"limits: {{seconds: {same}}}\n")


@given(
    st.integers(1, 10**6),
    st.integers(1, 10**6),
    st.integers(2, 60),
    st.sampled_from(["log", "linear"]),
)
def test_a_grid_is_monotone_short_and_ends_where_it_should(
    a: int, b: int, count: int, scale: str
) -> None:
    if a == b:
        return
    first, last = Fraction(a, 10**6), Fraction(b, 10**6)
    found = lams(f"{{from: '{first}', to: '{last}', count: {count}, scale: {scale}}}")
    values = [Fraction(exact) for exact, _ in found]
    assert values[0] == first
    assert values[-1] == last
    assert len(values) == count
    assert values == sorted(values, reverse=first > last)
    assert all(10**18 % value.denominator == 0 for value in values)


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_a_grid_of_ends_that_are_near_has_all_its_lambdas(scale: str) -> None:
    near = "0.100000000000000000000001"
    found = lams(f"{{from: 0.1, to: {near}, count: 5, scale: {scale}}}")
    assert len({exact for exact, _ in found}) == 5
    assert [exact for exact, _ in found] == [str(Fraction(text)) for _, text in found]
    with pytest.raises(InputError, match="too near to each other for 5 λ"):
        lams(f"{{from: 0.1, to: 0.1{'0' * 50}1, count: 5, scale: {scale}}}")


@pytest.mark.parametrize(
    "first, last, expected",
    [
        ("0.10003", "0.10001", ["0.10003", "0.10002", "0.10001"]),
        ("0.10001", "0.10003", ["0.10001", "0.10002", "0.10003"]),
        ("0.19997", "0.19999", ["0.19997", "0.19998", "0.19999"]),
    ],
)
def test_no_lambda_of_a_log_grid_is_rounded_past_an_end(
    first: str, last: str, expected: list[str]
) -> None:
    found = lams(f"{{from: {first}, to: {last}, count: 3}}")
    assert [label for _, label in found] == expected


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_ends_that_are_nearer_than_what_is_computed_are_refused(scale: str) -> None:
    """Of three values the inner one would be 0.1, below both ends."""
    first, last = (f"0.1{'0' * 44}{digit}" for digit in (1, 9))
    with pytest.raises(InputError, match="too near to each other for 3 λ"):
        lams(f"{{from: {first}, to: {last}, count: 3, scale: {scale}}}")


@given(st.integers(1, 10**6), st.integers(-99, 99), st.integers(2, 30))
def test_a_log_grid_of_near_ends_is_strictly_monotone(a: int, step: int, count: int) -> None:
    first, last = Fraction(a, 10**6), Fraction(a, 10**6) + Fraction(step, 10**8)
    if first == last or last <= 0:
        return
    values = [Fraction(e) for e, _ in lams(f"{{from: '{first}', to: '{last}', count: {count}}}")]
    assert (values[0], values[-1], len(values)) == (first, last, count)
    assert all((b - a) * (last - first) > 0 for a, b in pairwise(values))


def test_a_log_grid_has_even_ratios() -> None:
    values = [float(Fraction(e)) for e, _ in lams("{from: 0.1, to: 0.001, count: 21}")]
    ratios = [a / b for a, b in pairwise(values)]
    assert max(ratios) / min(ratios) < 1.001


@pytest.mark.parametrize(
    "text, message",
    [
        ("[-0.1]", "lambdas[1]: λ = -0.1 is negative"),
        ("[0.1, abc]", "lambdas[2]: λ = 'abc' is not a number"),
        ("[true]", "λ = True is not a number"),
        ("[null]", "λ = None is not a number"),
        ("[]", "lambdas: the list is empty"),
        ("{per-row: []}", "the list is empty"),
        ("{per-row: -1}", "is negative"),
        ("{from: 0.1, to: 0.1, count: 3}", "are equal"),
        ("{from: 0.1, to: 0, count: 3}", "a log grid cannot reach 0"),
        ("{from: 0.1, to: 0.01}", "the key 'count' is missing"),
        ("{from: 0.1, to: 0.01, count: 1}", "greater than or equal to 2"),
        ("{from: 0.1, to: 0.01, count: 3, scale: cubic}", "allowed: 'log' or 'linear'"),
        ("{from: x, to: 0.01, count: 3}", "λ = 'x' is not a number"),
        ("{from: 0.1, til: 0.01, count: 3}", "unknown key 'til'"),
    ],
)
def test_bad_lambdas_are_refused_with_their_place(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        lams(text)
    assert message in str(caught.value)
    assert "line 5" in str(caught.value)


@pytest.mark.parametrize(
    "value, text",
    [
        (Fraction(1, 3), "1/3"),
        (Fraction(1, 8), "0.125"),
        (Fraction(0), "0"),
        (Fraction(100), "100"),
        (Fraction(f"0.1{'0' * 70}1"), f"0.1{'0' * 70}1"),
    ],
)
def test_fractions_are_shown_as_decimals_where_they_are(value: Any, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    "text, n, others, expected",
    [
        ("[0.1, {per-row: 1}]", 10, [10, 11], [("1/10", "0.1 = 1/n")]),
        ("[0.1, {per-row: 1}]", 11, [10, 11], [("1/10", "0.1"), ("1/11", "1/n")]),
        ("[{per-row: [2, 1]}, 0.10, '1/10']", 10, [11], [("1/5", "2/n"), ("1/10", "1/n = 0.1")]),
        ("[0.1, {per-row: 1}]", 10, [10], [("1/10", "0.1")]),
        ("[{per-row: [1, 1.0]}]", 10, [11], [("1/10", "1/n")]),
        ("[0, {per-row: 0}]", 10, [11], [("0", "0")]),
    ],
)  # fmt: skip
def test_two_lambdas_that_meet_in_one_fold_both_keep_their_names(
    text: str, n: int, others: list[int], expected: list[tuple[str, str]]
) -> None:
    items = parse_spec(SPEC.replace("{}", text)).spec.lambdas
    found = expand(items, n, others).lams
    assert [(str(lam.exact), lam.label) for lam in found] == expected
