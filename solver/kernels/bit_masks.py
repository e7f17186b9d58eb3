"""Bit masks of rows, outside of kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import Words

Mask = NDArray[np.bool_]


def packed(mask: Mask) -> Words:
    """A mask as 64-bit words, the first row in the lowest bit."""
    bits = np.zeros(-(-len(mask) // 64) * 64, np.uint8)
    bits[: len(mask)] = mask
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)


def unpacked(words: Words, rows: int) -> Mask:
    """The reverse of :func:`packed`."""
    return np.unpackbits(words.view(np.uint8), bitorder="little")[:rows].astype(bool)
