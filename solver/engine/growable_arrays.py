"""Arrays that grow during a search and can be moved to another process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.limits import Limits

ROOM = "room"
"""The name in a state of the arrays' lengths: with them a limit of memory is met where it would
have been."""

_LARGEST_STEP = 32 * 2**20


def grown_length(members: Sequence[NDArray[Any]], least: int) -> int:
    """The new length of arrays of equal length that need room for ``least`` rows.

    It doubles, but adds at most 32 MiB beyond the need: new memory is cleared within one slice.
    """
    room = len(members[0])
    if least <= room:
        return room
    row = sum(array[:1].nbytes for array in members)
    return room + max(least - room, min(room, _LARGEST_STEP // max(row, 1)))


def grown_lengths(
    arrays: Mapping[str, NDArray[Any]], needed: Mapping[str, int], group: Callable[[str], str]
) -> dict[str, int]:
    """The new length of every array, by name; the arrays of a group grow together."""
    groups: dict[str, list[str]] = {}
    for name in arrays:
        groups.setdefault(group(name), []).append(name)
    lengths: dict[str, int] = {}
    for which, least in needed.items():
        names = groups[which]
        lengths |= dict.fromkeys(names, grown_length([arrays[name] for name in names], least))
    return lengths


def bytes_added(arrays: Mapping[str, NDArray[Any]], lengths: Mapping[str, int]) -> int:
    """The memory that :func:`resize_arrays` adds."""
    longer = {
        name: more for name, length in lengths.items() if (more := length - len(arrays[name]))
    }
    return sum(arrays[name][:1].nbytes * more for name, more in longer.items())


def resize_arrays(arrays: Mapping[str, NDArray[Any]], lengths: Mapping[str, int]) -> None:
    """Make arrays longer, in place; none gets shorter."""
    for name, length in lengths.items():
        array = arrays[name]
        if length > len(array):
            array.resize((length, *array.shape[1:]), refcheck=False)


def bytes_of(*parts: Iterable[Any]) -> int:
    """Memory of all arrays of some named tuples."""
    return sum([a.nbytes for part in parts for a in part if isinstance(a, np.ndarray)])


def within_memory(limits: Limits) -> Limits:
    """The limits; without one of bytes, half of the machine's.

    A search that is killed for its memory says nothing.
    """
    if limits.bytes is not None:
        return limits
    return replace(limits, bytes=_half_of_memory())


@cache
def _half_of_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def lengths_of(arrays: Iterable[NDArray[Any]]) -> NDArray[np.int64]:
    """The value of :data:`ROOM` in a state."""
    return np.array([len(array) for array in arrays], np.int64)


def check_search(
    state: Mapping[str, NDArray[Any]], names: set[str], digest: str, params: Any
) -> None:
    """Refuse the state of another search with an InputError.

    ``names`` are the arrays that it must hold, ``params`` and ``problem`` among them; ``digest`` is
    the problem's, ``params`` are the parameters of the search.
    """
    if set(state) != names or str(state["problem"]) != digest:
        raise InputError("the state is that of another problem or of another solver")
    if state["params"].tolist() != np.array(params).tolist():
        raise InputError(
            "the state is that of a search with other weights or another λ, options or limits"
        )


def load_arrays(
    arrays: Mapping[str, NDArray[Any]],
    state: Mapping[str, NDArray[Any]],
    room: NDArray[Any] | None,
    spare: int = 0,
) -> None:
    """Fill arrays from a state, in place; InputError if a type or a shape differs.

    ``room`` are the lengths when the state was written, in the same order; without it the arrays
    are as long as needed and ``spare`` rows more.
    """
    if room is not None and room.shape != (len(arrays),):
        raise InputError("the state's arrays do not fit; it is damaged")
    least = [0] * len(arrays) if room is None else room.tolist()
    for (name, array), length in zip(arrays.items(), least, strict=True):
        saved = state[name]
        if saved.dtype != array.dtype or saved.shape[1:] != array.shape[1:]:
            raise InputError(f"the state's array {name!r} does not fit; it is damaged")
        size = max(len(array), length or len(saved) + spare)
        array.resize((size, *array.shape[1:]), refcheck=False)
        array[: len(saved)] = saved
