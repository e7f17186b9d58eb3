"""Vectors of 32-bit numbers do what numpy does."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.kernels import simd32
from solver.kernels.jit import kernel
from solver.kernels.simd32 import SHORT_LANES


@kernel
def _try_all(a: Any, b: Any, words: Any, word: Any, out: Any, one: Any) -> int:
    first, second, n = simd32.load(a, 1), simd32.load(b, 0), SHORT_LANES
    more = simd32.exceeds(first, second)
    simd32.store(out, 0, simd32.plus(first, second))
    simd32.store(out, n, simd32.minus(first, second))
    simd32.store(out, 2 * n, simd32.least(first, second))
    simd32.store(out, 3 * n, simd32.largest(first, second))
    simd32.store(out, 4 * n, more)
    simd32.store(out, 5 * n, simd32.both(first, more))
    simd32.store(out, 6 * n, simd32.either(first, more))
    simd32.store(out, 7 * n, simd32.without(first, more))
    simd32.store(out, 8 * n, simd32.spread(one))
    simd32.store(out, 9 * n, simd32.counted(one))
    simd32.store(out, 10 * n, simd32.shared_bits(words, 2, word, 3))
    return int(simd32.lowest(first))


def test_every_operation_on_vectors() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-(2**29), 2**29, SHORT_LANES + 1).astype(np.int32)
    b = rng.integers(-(2**29), 2**29, SHORT_LANES).astype(np.int32)
    b[2] = a[3]
    words = rng.integers(0, 2**63, SHORT_LANES + 2).astype(np.uint64)
    out = np.zeros((11, SHORT_LANES), np.int32)
    word = np.uint64(2**63 + 12345678901234567)
    lowest = _try_all(a, b, words, word, out.reshape(-1), -7)
    first = a[1:]
    more = -(first > b).astype(np.int32)
    shared = [3 * bin(int(each & word)).count("1") for each in words[2:]]
    expected = [
        first + b, first - b, np.minimum(first, b), np.maximum(first, b), more, first & more,
        first | more, first & ~more, np.full(SHORT_LANES, -7), np.arange(SHORT_LANES) - 7, shared,
    ]  # fmt: skip
    assert lowest == first.min()
    assert (out == np.array(expected)).all()
