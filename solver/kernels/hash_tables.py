"""Hash tables of open addressing, and what scrambles their keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import GOLDEN, Ints, Words
from solver.kernels.jit import helper, kernel

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def slots_for(entries: int, slots_each: int = 2) -> int:
    """Slots for this many entries: a power of two, at least ``slots_each`` for each of them."""
    return 1 << (slots_each * entries - 1).bit_length()


@helper
def mixed(value: np.uint64) -> np.uint64:
    """Scramble a word (the finaliser of splitmix64)."""
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@helper
def folded(value: np.uint64, word: np.uint64) -> np.uint64:
    """Fold one more word into a hash."""
    value = (value ^ word) * GOLDEN
    return value ^ (value >> np.uint64(29))


@helper
def free_slot(slots: NDArray[np.signedinteger], value: np.uint64) -> int:
    """The first slot that is free, −1, from that of a hash on."""
    last = len(slots) - 1
    slot = np.int64(value & np.uint64(last))
    while slots[slot] >= 0:
        slot = (slot + 1) & last
    return int(slot)


@kernel
def fill_slots(slots: Ints, hashes: Words, entries: int) -> None:
    """Enter the numbers of the first entries into slots that are all free, −1."""
    for entry in range(entries):
        slots[free_slot(slots, hashes[entry])] = entry
