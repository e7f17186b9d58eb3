"""Growing arrays, and checks of states before they are loaded."""

from typing import Any

import numpy as np
import pytest

from solver import InputError
from solver.engine.growable_arrays import (
    ROOM,
    bytes_added,
    bytes_of,
    check_search,
    grown_length,
    grown_lengths,
    lengths_of,
    load_arrays,
    resize_arrays,
)


def test_arrays_double_until_a_step_would_be_too_large() -> None:
    small, large = np.zeros((10, 2)), np.zeros(16 * 2**20)
    assert grown_length([small], 5) == 10
    assert grown_length([small, np.zeros(10)], 11) == 20
    assert grown_length([small], 35) == 35
    assert grown_length([large], len(large) + 1) == len(large) + 32 * 2**20 // 8


def test_what_was_saved_comes_back_with_its_room() -> None:
    saved = {"a": np.arange(6), "b": np.ones((3, 2))}
    room = lengths_of([np.zeros(8), np.zeros((5, 2))])
    arrays = {"a": np.zeros(2, np.int64), "b": np.zeros((1, 2))}
    load_arrays(arrays, saved, room)
    assert arrays["a"].tolist() == [0, 1, 2, 3, 4, 5, 0, 0]
    assert arrays["b"].shape == (5, 2)
    assert arrays["b"].sum() == 6
    arrays = {"a": np.zeros(2, np.int64), "b": np.zeros((1, 2))}
    load_arrays(arrays, saved, None, spare=1)
    assert (len(arrays["a"]), len(arrays["b"])) == (7, 4)


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((3, 3)), np.zeros((3, 2), np.int64)])
def test_an_array_of_another_kind_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(InputError, match="array 'b' does not fit; it is damaged"):
        load_arrays({"b": np.zeros((1, 2))}, {"b": bad}, None)


def test_lengths_of_other_arrays_are_refused() -> None:
    with pytest.raises(InputError, match="do not fit; it is damaged"):
        load_arrays({"b": np.zeros(1)}, {"b": np.zeros(1)}, lengths_of([]))


def test_the_state_of_another_search_is_refused() -> None:
    state = {"params": np.array([1, 2]), "problem": np.array("digest"), ROOM: np.zeros(0)}
    names = {"params", "problem", ROOM}
    check_search(state, names, "digest", (1, 2))
    with pytest.raises(InputError, match="another problem or of another solver"):
        check_search(state, names, "other", (1, 2))
    with pytest.raises(InputError, match="another problem or of another solver"):
        check_search(state, {*names, "more"}, "digest", (1, 2))
    with pytest.raises(InputError, match="other weights or another λ, options or limits"):
        check_search(state, names, "digest", (1, 3))


def test_arrays_of_a_group_grow_together() -> None:
    arrays: dict[str, Any] = {"a_x": np.arange(4), "a_y": np.zeros((4, 2)), "b": np.ones(3)}
    lengths = grown_lengths(arrays, {"a": 5, "b": 2}, lambda name: name[0])
    assert lengths == {"a_x": 8, "a_y": 8, "b": 3}
    before = bytes_of(arrays.values())
    more = bytes_added(arrays, lengths)
    resize_arrays(arrays, lengths)
    assert bytes_of(arrays.values()) == before + more
    assert [len(array) for array in arrays.values()] == [8, 8, 3]
    assert arrays["a_x"][:4].tolist() == [0, 1, 2, 3]
