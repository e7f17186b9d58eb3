"""Vectors of 64-bit numbers do what numpy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from solver.kernels.jit import kernel
from solver.kernels.simd import add_marked, sum_columns, sum_marked, sum_set


@kernel
def _add(out: Any, at: int, number: Any, word: Any) -> None:
    add_marked(out, at, number, word)


@kernel
def _sums(numbers: Any, words: Any, out: Any) -> None:
    for w in range(len(words)):
        out[w] = sum_marked(numbers, 64 * w, words[w])
    out[len(words)] = sum_set(numbers, words, len(words))


@kernel
def _columns(out: Any, row: int, at: Any, words: Any, numbers: Any, which: Any, n: Any) -> None:
    sum_columns(out, row, at, words, numbers, which, n)


@kernel
def _float_sum(numbers: Any, words: Any, out: Any) -> None:
    out[0] = sum_set(numbers, words, len(words))


def _words(rng: np.random.Generator, n: int) -> np.ndarray:
    words = rng.integers(0, 2**64, n, dtype=np.uint64)
    words[0] = 0
    words[1] = np.uint64(2**64 - 1)
    return words


def _marked(words: np.ndarray) -> np.ndarray:
    return np.unpackbits(words.view(np.uint8), bitorder="little").astype(bool)


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_a_number_is_added_where_a_word_has_ones(dtype: type) -> None:
    rng = np.random.default_rng(1)
    words = _words(rng, 5)
    out = rng.integers(-100, 100, 67).astype(dtype)
    for word in words:
        expected = out.copy()
        expected[2:66][_marked(np.array([word]))] += 7
        _add(out, 2, dtype(7), word)
        np.testing.assert_array_equal(out, expected)


def test_sums_over_the_ones_of_words() -> None:
    rng = np.random.default_rng(2)
    words = _words(rng, 9)
    numbers = rng.integers(-(2**50), 2**50, 64 * len(words))
    out = np.zeros(len(words) + 1, np.uint64)
    _sums(numbers.astype(np.uint64), words, out)
    kept = np.where(_marked(words), numbers, 0).reshape(len(words), 64).sum(axis=1)
    assert out.astype(np.int64).tolist() == [*kept.tolist(), int(kept.sum())]


def test_sums_of_columns_over_some_of_the_words() -> None:
    rng = np.random.default_rng(3)
    words = _words(rng, 60).reshape(3, 20)
    numbers = rng.integers(-(2**50), 2**50, 20)
    which = rng.permutation(20).astype(np.uint64)
    for n, at in ((0, 0), (1, 1), (13, 2), (20, 1)):
        out = rng.integers(0, 9, (2, 192))
        expected = out.copy()
        ones = _marked(words[at]).reshape(20, 64)
        chosen = which[:n].astype(int)
        expected[1, 64 * at : 64 * at + 64] = (ones[chosen] * numbers[chosen, None]).sum(axis=0)
        _columns(out, 1, np.uint64(at), words, numbers, which, np.uint64(n))
        np.testing.assert_array_equal(out, expected)


def test_sums_of_floats_are_in_the_same_order_everywhere() -> None:
    rng = np.random.default_rng(4)
    words = _words(rng, 9)
    numbers = rng.standard_normal(64 * len(words)).astype(np.float32)
    out = np.zeros(1, np.float32)
    _float_sum(numbers, words, out)
    lanes = np.zeros(64, np.float32)
    for some in np.where(_marked(words), numbers, np.float32(0)).reshape(len(words), 64):
        lanes += some
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
    assert out[0] == lanes[0]
