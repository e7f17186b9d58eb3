"""Array types and numbers that compiled searches share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]

RUNNING, PROVEN, FULL = range(3)
"""How a slice ended: the search continues, is over, or the arrays must grow first."""

ZERO, ONE = np.uint64(0), np.uint64(1)

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: the multiplier of Fibonacci hashing."""
