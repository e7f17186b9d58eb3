"""Limits: valid and refused values."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from solver import InputError, Limits


def test_no_limit_is_set_by_default() -> None:
    assert Limits().to_dict() == {}


def test_only_set_limits_are_told() -> None:
    limits = Limits(seconds=0.5, nodes=0, depth=3)
    assert limits.to_dict() == {"seconds": 0.5, "nodes": 0, "depth": 3}


def test_numbers_of_numpy_are_stored_as_those_of_python() -> None:
    limits = Limits(seconds=np.float64(2), depth=np.int64(3))
    assert limits == Limits(seconds=2, depth=3)
    assert {type(value) for value in limits.to_dict().values()} == {float, int}


@pytest.mark.parametrize(
    "name, value",
    [
        ("seconds", -1),
        ("seconds", "60"),
        ("seconds", float("nan")),
        ("seconds", float("inf")),
        ("seconds", True),
        ("bytes", 1.5),
        ("nodes", -5),
        ("depth", "deep"),
        ("depth", True),
        ("splits", 2.0),
        ("min_leaf_size", -1),
        ("min_leaf_size", Decimal("-0.5")),
        ("min_leaf_size", Decimal("NaN")),
    ],
)
def test_bad_limit(name: str, value: Any) -> None:
    with pytest.raises(
        InputError, match=f"limit {name} = .* must be a (whole )?number of 0 or more"
    ):
        Limits(**{name: value})


def test_a_limit_beyond_all_that_can_be_counted() -> None:
    with pytest.raises(InputError, match=r"depth = \d+ is too large; leave it out"):
        Limits(depth=2**63)
    assert Limits(splits=10**15).splits == 10**15


def test_the_smallest_leaf_may_be_any_number() -> None:
    third = Fraction(1, 3)
    assert Limits(min_leaf_size=third).min_leaf_size == third
    assert Limits(min_leaf_size=Decimal("0.1")).min_leaf_size == Fraction(1, 10)
    assert type(Limits(min_leaf_size=Decimal("2.0")).min_leaf_size) is int
    assert Limits(min_leaf_size=np.float32(0.1)).min_leaf_size == 0.1
    assert type(Limits(min_leaf_size=2.0).min_leaf_size) is int
