"""The sizes of search spaces against the thesis's Table 2.1 and against counting them."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.errors import InputError
from solver.theory import osdt_search_space

# d: rule lists and trees of 10 variables, the same of 20; as printed.
TABLE_2_1 = {
    1: ("5.500e+01", "1.000e+01", "2.100e+02", "2.000e+01"),
    2: ("3.025e+03", "1.000e+03", "4.410e+04", "8.000e+03"),
    3: ("1.604e+05", "5.329e+06", "9.173e+06", "9.411e+08"),
    4: ("8.345e+06", "9.338e+20", "1.898e+09", "9.204e+28"),
    5: ("4.257e+08", "Inf", "3.911e+11", "Inf"),
}


def printed(value: int) -> str:
    """As the table prints it: four digits, cut off and not rounded; beyond the floats, Inf."""
    try:
        float(value)
    except OverflowError:
        return "Inf"
    digits = f"{value:<04}"
    return f"{digits[0]}.{digits[1:4]}e+{len(str(value)) - 1:02}"


@pytest.mark.parametrize("depth", TABLE_2_1)
def test_table_2_1(depth: int) -> None:
    found = [
        printed(count(p, depth))
        for p in (10, 20)
        for count in (osdt_search_space.rule_lists, osdt_search_space.trees_as_printed)
    ]
    assert tuple(found) == TABLE_2_1[depth]


def test_what_the_table_calls_inf_has_a_value() -> None:
    # 2^16 leaves on the last level, each split by one of 6 variables or not: 7^65536 alone.
    assert osdt_search_space.trees_as_printed(10, 5) > 7**65536 - 1
    assert f"{osdt_search_space.trees(10, 5):.3e}" == "6.506e+26"


@given(st.integers(1, 12), st.integers(1, 3))
def test_the_printed_formula_is_right_up_to_depth_3(p: int, depth: int) -> None:
    assert osdt_search_space.trees(p, depth) == osdt_search_space.trees_as_printed(p, depth)


def test_the_printed_formula_counts_too_many_trees_beyond() -> None:
    assert (
        osdt_search_space.trees(10, 4)
        == 56_098_964_644_840
        < osdt_search_space.trees_as_printed(10, 4)
    )


def test_rule_lists_by_counting_them() -> None:
    for p, length in ((1, 1), (2, 3), (3, 2)):
        rules = range(osdt_search_space.rules(p))
        lists = sum(1 for d in range(1, length + 1) for _ in permutations(rules, d))
        assert osdt_search_space.rule_lists(p, length) == lists
    assert osdt_search_space.rules(10) == 10 + math.comb(10, 2)
    assert osdt_search_space.rules(4, clauses=3) == 14


def test_paths_end_when_there_is_no_variable_left() -> None:
    assert osdt_search_space.trees(2, 9) == osdt_search_space.trees(2, 2)
    assert osdt_search_space.trees_as_printed(2, 5) == osdt_search_space.trees_as_printed(2, 2)


@pytest.mark.parametrize("count", [osdt_search_space.trees, osdt_search_space.trees_as_printed])
def test_refuses_what_is_no_size(count: object) -> None:
    with pytest.raises(InputError, match="at least one variable"):
        count(0, 2)  # type: ignore[operator]
    with pytest.raises(InputError, match="a depth of at least 1"):
        count(3, 0)  # type: ignore[operator]


def test_refuses_a_depth_that_cannot_be_written_down() -> None:
    with pytest.raises(InputError, match=r"up to depth 5, not 6; trees\(10, 6\)"):
        osdt_search_space.trees_as_printed(10, 6)
