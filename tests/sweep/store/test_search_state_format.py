"""Tests of sweep/store/search_state_format.py: what is written is read; all else is refused."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from solver.errors import InputError
from sweep.store import search_state_format
from sweep.store.search_state_format import (
    TooLargeError,
    check_state,
    read_about,
    read_state,
    size_of,
    write_state,
)

WHO = {"task": "a" * 64, "solver": "branches", "solver_version": "2"}
DTYPES = ["<i8", "<u8", "<i4", "|u1", "|b1", "<f8", "<f4", "<U3", "|S2"]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_arrays_of_any_type_and_shape_come_back(
    data: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("state") / "state.npz"
    names = st.text("abcxyz_ λ", min_size=1, max_size=5)
    shapes = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
    kinds = st.sampled_from(DTYPES).map(np.dtype)
    state = data.draw(st.dictionaries(names, arrays.arrays(kinds, shapes), max_size=4))
    write_state(path, state, WHO, {"seconds": 1.5})
    found, about = read_state(path, WHO)
    assert list(found) == list(state)
    for name, array in state.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
        assert found[name].flags.writeable
    assert about == (WHO, {"seconds": 1.5})
    assert check_state(path) == read_about(path) == about
    assert size_of(found) == size_of(state)


def test_views_are_read_as_they_are_and_numpy_reads_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    whole = np.arange(3000, dtype=np.int64).reshape(100, 30)
    state = {"view": whole[:50], "turned": whole.T, "one": np.array(7)}
    write_state(path, state, WHO)
    found, _ = read_state(path, WHO)
    # Without this project's code:
    with np.load(path, allow_pickle=False) as plain:
        assert plain.files == ["about.json", *state]
        for name, array in state.items():
            np.testing.assert_array_equal(plain[name], array)
            np.testing.assert_array_equal(found[name], array)
            assert found[name].flags.c_contiguous


def test_writing_takes_no_second_copy_in_memory(tmp_path: Path) -> None:
    state = {"a": np.random.default_rng(0).integers(0, 2**62, 12_500_000)}  # 100 MB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    write_state(tmp_path / "state.npz", state, WHO, durable=False)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 70_000


def test_what_is_no_plain_array_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="array 'a' of a state has the type object"):
        write_state(tmp_path / "state.npz", {"a": np.array([None])}, WHO)
    assert not list(tmp_path.iterdir())


def test_a_state_that_is_too_large_leaves_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    write_state(path, {"a": np.zeros(3)}, WHO)
    noise = np.random.default_rng(0).integers(0, 2**62, 10_000)
    with pytest.raises(TooLargeError):
        write_state(path, {"a": noise}, WHO, most=10_000)
    assert [p.name for p in tmp_path.iterdir()] == ["state.npz"]
    assert read_state(path, WHO)[0]["a"].tolist() == [0, 0, 0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    noise = np.random.default_rng(0).integers(0, 2**62, (1000, 20))
    write_state(tmp_path / "state.npz", {"a": noise, "b": noise[:3]}, WHO)
    return tmp_path / "state.npz"


@pytest.mark.parametrize(
    "who, word",
    [
        ({"task": "b" * 64}, "its task is aaa"),
        ({"solver": "cart"}, "its solver is branches, not cart"),
        ({"solver_version": "3"}, "its solver_version is 2, not 3"),
        ({"more": "x"}, "its more is not there, not x"),
    ],
)
def test_another_search_is_told_apart(path: Path, who: dict[str, str], word: str) -> None:
    with pytest.raises(InputError, match=word) as refused:
        read_state(path, WHO | who)
    assert "\n" not in str(refused.value)


def test_a_file_of_another_version_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_state_format, "VERSION", 0)
    with pytest.raises(InputError, match=r"has state version 1, this .* reads version 0; use"):
        read_state(path, WHO)


@settings(max_examples=60, deadline=None)
@given(share=st.floats(0, 1, exclude_max=True), cut=st.booleans())
def test_a_damaged_file_is_never_taken_for_a_state(
    share: float, cut: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("state") / "state.npz"
    noise = np.random.default_rng(0).integers(0, 2**62, 300)
    write_state(path, {"a": noise}, WHO)
    content = bytearray(path.read_bytes())
    at = int(share * len(content))
    if cut:
        del content[at:]
    else:
        content[at] ^= 255
    path.write_bytes(content)
    try:
        found, about = read_state(path, WHO)
    except InputError:
        return
    # A byte that nobody reads.
    np.testing.assert_array_equal(found["a"], noise)
    assert about.identity == WHO


def test_what_is_no_state_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_state(tmp_path / "none", WHO)
    (tmp_path / "text").write_text("some text that is long enough for a footer")
    with pytest.raises(InputError, match="is damaged, or not the state of a search"):
        read_state(tmp_path / "text", WHO)
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "table")
    with pytest.raises(InputError, match="is damaged, or not the state of a search"):
        read_state(tmp_path / "table", WHO)
    np.savez(tmp_path / "arrays.npz", a=np.arange(3))
    with pytest.raises(InputError, match="is not the state of a search"):
        read_state(tmp_path / "arrays.npz", WHO)


def members_of(path: Path) -> dict[str, bytes]:
    with ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_missing_array_is_noticed(path: Path) -> None:
    members = members_of(path)
    for names in (["about.json", "a.npy"], ["about.json", "b.npy", "a.npy"]):
        with ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, members[name])
        for read in (check_state, read_about, lambda p: read_state(p, WHO)):
            with pytest.raises(InputError, match="its arrays are not complete"):
                read(path)


@pytest.mark.parametrize("cut", [-1, 1])
def test_an_array_that_is_not_complete_is_noticed(path: Path, cut: int) -> None:
    members = members_of(path)
    members["a.npy"] = members["a.npy"][:cut] if cut < 0 else members["a.npy"] + b"x"
    with ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(InputError, match="is damaged, or not the state of a search"):
        read_state(path, WHO)


def test_every_changed_byte_is_found_or_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    state = {"a": np.arange(40), "λ": np.array(["x", "yz"])}
    write_state(path, state, WHO, {"seconds": 1.5})
    content = path.read_bytes()
    found = 0
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
        try:
            read, about = read_state(path, WHO)
        except InputError:
            found += 1
            continue
        assert about == (WHO, {"seconds": 1.5})
        assert list(read) == list(state)
        assert all(np.array_equal(read[name], state[name]) for name in state)
    assert found > 0.7 * len(content)
