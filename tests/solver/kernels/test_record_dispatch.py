"""Helpers that the type of a record chooses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.errors import TypingError

from solver.kernels.constants import Ints
from solver.kernels.jit import helper, kernel
from solver.kernels.pass_by_reference import by_reference
from solver.kernels.record_dispatch import by_record


@by_reference
class Apples(NamedTuple):
    numbers: Ints


@by_reference
class Pears(NamedTuple):
    numbers: Ints
    each: float


@by_reference
class Plums(NamedTuple):
    numbers: Ints


@helper
def count(fruit: Apples, at: int) -> int:
    return fruit.numbers[at]


@helper
def weigh(fruit: Pears, at: int) -> float:
    return fruit.each * fruit.numbers[at]


amount = by_record({Apples: count, Pears: weigh})


@kernel
def twice(at: int, fruit: Any) -> Any:
    return amount(fruit, at) + amount(fruit, at)


def test_the_type_of_the_record_chooses_the_helper() -> None:
    numbers = np.array([3, 4])
    assert twice(1, Apples(numbers)) == 8
    assert twice(1, Pears(numbers, 0.25)) == 2.0
    assert twice(0, Apples(numbers)) == 6


def test_another_record_is_refused() -> None:
    with pytest.raises(TypingError):
        twice(0, Plums(np.array([1])))
