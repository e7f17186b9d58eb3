"""Elements of arrays in kernels, compared with the same functions in plain Python."""

import numpy as np
import pytest

from solver.kernels.jit import kernel

CUBE = np.arange(-20, 40).reshape(3, 4, 5)


def corners(table):
    """Read with constants and negative indices, with one index and with several."""
    flat = table[1]
    return table[0, 0, 0], table[-1, -2, -3], table[2, 1, -1], flat[2, 3], flat[-1][-4]


def move(table, sizes, to, of):
    """Write what is read, with indices of any type."""
    last = 0
    for i in range(len(sizes)):
        if sizes[i] > 0:
            last = table[to[i], -1, of[i]]
            table[to[i], of[i], -2] = last + sizes[i]
        else:
            table[-i, to[i], 0] = sizes[i]
    return last


@pytest.mark.parametrize(
    "table",
    [
        CUBE,
        np.asfortranarray(CUBE),
        np.repeat(CUBE, 2, axis=2)[:, :, ::2],
        np.ascontiguousarray(CUBE[:, ::-1])[:, ::-1],
        CUBE.astype(np.int32),
        CUBE.astype(np.uint64),
        CUBE / 3,
        CUBE.astype(np.float32),
        CUBE % 3 == 0,
    ],
    ids=lambda table: f"{table.dtype}-{table.flags.c_contiguous}-{table.flags.f_contiguous}",
)
def test_elements_are_those_of_plain_python(table):
    assert kernel(corners)(table) == corners(table)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("index", [np.int64, np.uint64, np.int32, np.uint8])
def test_elements_are_written_as_plain_python_does(order, index):
    sizes = np.array([3, -1, 0, 7])
    to, of = np.array([0, 2, 1, 2], index), np.array([1, 1, 0, 3], index)
    mine, plain = CUBE.copy(order), CUBE.copy(order)
    assert kernel(move)(mine, sizes, to, of) == move(plain, sizes, to, of)
    np.testing.assert_array_equal(mine, plain)


def test_a_number_is_converted_to_the_type_of_the_array():
    @kernel
    def store(small, flags, real):
        small[-1] = 7
        small[0] = small[1] + 2
        flags[1] = small[0] > 3
        real[0, 1] = small[-1]
        return real[0, 1]

    small, flags, real = np.array([1, 2, 3], np.int8), np.zeros(2, bool), np.zeros((1, 2))
    assert store(small, flags, real) == 7.0
    assert small.tolist() == [4, 2, 7]
    assert flags.tolist() == [False, True]
    assert real.tolist() == [[0.0, 7.0]]
