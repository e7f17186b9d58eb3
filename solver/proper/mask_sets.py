"""Sets of bit masks: open addressing, no deletion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import GOLDEN, ZERO, Ints, Words
from solver.kernels.hash_tables import folded, free_slot, slots_for
from solver.kernels.jit import helper, kernel
from solver.kernels.pass_by_reference import by_reference


@by_reference
class MaskSet(NamedTuple):
    """Distinct masks in order of arrival.

    Parameters
    ----------
    masks : (room, words)
    slots : (a power of two,)
        Hash table of positions; −1 where free.
    used : (1,)
        Number of masks.
    """

    masks: Words
    slots: NDArray[np.int32]
    used: Ints


def new_set(words: int, room: int) -> MaskSet:
    """An empty set with room for some masks."""
    slots = np.full(slots_for(room), -1, np.int32)
    return MaskSet(np.zeros((room, words), np.uint64), slots, np.zeros(1, np.int64))


def set_bytes(words: int, room: int) -> int:
    """Memory of a set."""
    return room * words * 8 + 4 * slots_for(room)


@helper
def hash_of(mask: Words) -> np.uint64:
    """A number that depends on all bits of a mask."""
    key = ZERO
    for word in mask:
        key = folded(key, word)
    key *= GOLDEN
    return key ^ (key >> np.uint64(32))


@helper
def insert(members: MaskSet, mask: Words) -> bool:
    """Put a mask into a set that has room; False if it was there."""
    top = len(members.slots) - 1
    slot = np.int64(hash_of(mask) & np.uint64(top))
    while members.slots[slot] >= 0:
        other = members.masks[members.slots[slot]]
        same = True
        for i in range(len(mask)):
            if other[i] != mask[i]:
                same = False
        if same:
            return False
        slot = (slot + 1) & top
    place = members.used[0]
    members.slots[slot] = place
    for i in range(len(mask)):
        members.masks[place, i] = mask[i]
    members.used[0] = place + 1
    return True


@kernel
def rehash(members: MaskSet, used: int) -> None:
    """Enter the first masks into the slots, which are free."""
    for place in range(used):
        members.slots[free_slot(members.slots, hash_of(members.masks[place]))] = place
    members.used[0] = used
