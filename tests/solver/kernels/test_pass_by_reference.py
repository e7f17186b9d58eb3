"""Named tuples of arrays that kernels take as one pointer, and the parts of them."""

from typing import NamedTuple

import numpy as np
import pytest

from solver.kernels.jit import helper, kernel
from solver.kernels.pass_by_reference import by_reference, sub_record


@by_reference
class Shelves(NamedTuple):
    numbers: np.ndarray
    bytes_: np.ndarray
    deep: np.ndarray


@by_reference
class Mixed(NamedTuple):
    numbers: np.ndarray
    size: int


def shelves():
    return Shelves(
        np.arange(12, dtype=np.int64).reshape(3, 4),
        np.arange(15, dtype=np.uint8).reshape(3, 5),
        np.arange(36, dtype=np.float64).reshape(3, 2, 6),
    )


@helper
def describe(shelf, out):
    out[0], out[1], out[2] = len(shelf.numbers), shelf.numbers.size, shelf.numbers[-1]
    out[3], out[4], out[5] = len(shelf.bytes_), shelf.bytes_.size, shelf.bytes_[1]
    out[6], out[7], out[8] = shelf.deep.shape[0], shelf.deep.shape[1], shelf.deep.size
    out[9], out[10] = shelf.deep[1, 2], shelf.deep[1][3]


@kernel
def describe_part(s, i, out):
    describe(sub_record(s, i), out)


@pytest.mark.parametrize("i", range(3))
def test_a_part_has_the_arrays_at_an_index(i):
    s, out = shelves(), np.zeros(11)
    describe_part(s, i, out)
    expected = np.zeros(11)
    describe.py_func(Shelves(*(array[i] for array in s)), expected)
    assert out.tolist() == expected.tolist()


@kernel
def describe_given(s, out):
    describe(s, out)


def test_a_part_has_the_type_of_a_record_from_python():
    s, out, expected = shelves(), np.zeros(11), np.zeros(11)
    describe_given(Shelves(*(array[2] for array in s)), out)
    describe_part(s, 2, expected)
    assert out.tolist() == expected.tolist()
    for kernel_ in (describe_given, describe_part):
        kernel_.recompile()  # it may come from the disk, where no helper is compiled
    assert len(describe._dispatcher.overloads) == 1


@kernel
def swap_neighbours(s):
    for i in range(len(s.numbers) - 1):
        here, there = sub_record(s, i), sub_record(s, i + 1)
        here.numbers[0], there.numbers[0] = there.numbers[0], here.numbers[0]
        here.deep[1, 5] += there.deep[0, 0]


def test_two_parts_are_alive_at_once_and_share_the_memory_of_the_whole():
    s, expected = shelves(), shelves()
    swap_neighbours(s)
    for i in range(2):
        expected.numbers[[i, i + 1], 0] = expected.numbers[[i + 1, i], 0]
        expected.deep[i, 1, 5] += expected.deep[i + 1, 0, 0]
    for found, wanted in zip(s, expected, strict=True):
        assert found.tolist() == wanted.tolist()


@helper
def part_of(s, i):
    return sub_record(s, i)


@kernel
def use_a_part_that_is_gone(s):
    return part_of(s, 1).numbers[0]


def test_no_function_returns_a_part_which_would_be_gone():
    with pytest.raises(TypeError, match="cannot return a record"):
        use_a_part_that_is_gone(shelves())


@kernel
def part_of_numbers(s):
    return len(sub_record(s, 0).numbers)


@pytest.mark.parametrize(
    "record", [Mixed(np.zeros((2, 2)), 1), Shelves(*(np.zeros(2) for _ in range(3)))]
)
def test_a_record_with_anything_but_arrays_of_arrays_has_no_parts(record):
    with pytest.raises(TypeError, match="has no arrays inside"):
        part_of_numbers(record)
