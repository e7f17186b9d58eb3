"""Tests of sweep/filesystem/: one contract, kept by every storage."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from solver.errors import InputError
from sweep.filesystem import DiskFolder, Folder, UnwritableError, open_folder
from sweep.filesystem.base import Entry
from sweep.filesystem.s3 import ObjectFolder


@pytest.fixture(params=["disk", "s3"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    """A new folder on each storage."""
    if request.param == "disk":
        place = str(tmp_path / "out")
    else:
        place = f"{request.getfixturevalue('bucket')}/out"
    found = open_folder(place)
    assert found.place == str(found) == place
    found.make()
    return found


class TestContract:
    """What :class:`sweep.filesystem.Folder` promises."""

    def test_what_is_written_can_be_read(self, folder: Folder) -> None:
        for content in (b"first", b"", b"x" * 3_000_000):
            folder.write("a/b.bin", content)
            assert folder.read("a/b.bin") == content
            assert folder.size("a/b.bin") == len(content)
            with folder.open("a/b.bin") as file:
                assert file.size() == len(content)
                file.seek(len(content) // 2)
                assert file.read() == content[len(content) // 2 :]
        folder.write("a/b.bin", pa.py_buffer(b"buffer"), durable=False)
        assert folder.read("a/b.bin") == b"buffer"

    def test_a_file_that_is_not_there(self, folder: Folder) -> None:
        folder.write("there", b"1")
        assert folder.exists("there")
        for name in ("none", "no/where", "there/under"):
            assert not folder.exists(name)
            for ask in (folder.read, folder.open, folder.size):
                with pytest.raises(FileNotFoundError, match=name):
                    ask(name)
            with pytest.raises(FileNotFoundError):
                folder.copy(name, "copy")
            folder.remove(name)

    def test_names_are_those_of_one_folder(self, folder: Folder) -> None:
        assert folder.names() == folder.names("none") == []
        assert folder.folders() == folder.folders("none") == []
        for name in ("b", "a", "under/c", "under/deep/d", ".hidden/e"):
            folder.write(name, name.encode())
        assert folder.names() == [Entry("a", 1), Entry("b", 1)]
        assert folder.names("under") == [Entry("under/c", 7)]
        assert folder.folders() == [".hidden", "under"]
        assert folder.folders("under") == ["under/deep"]

    def test_removing(self, folder: Folder) -> None:
        for name in ("a", "under/b", "under/deep/c", "under-not/d"):
            folder.write(name, b"1")
        folder.remove("a")
        assert folder.names() == []
        folder.remove_folder("under")
        assert folder.names("under") == folder.names("under/deep") == []
        assert folder.names("under-not") == [Entry("under-not/d", 1)]
        folder.remove_folder("none")

    def test_a_large_file_shows_only_when_it_is_whole(self, folder: Folder) -> None:
        folder.write("large", b"before")
        with folder.create("large") as path:
            path.write_bytes(b"half")
            assert folder.read("large") == b"before"
            assert [name for name, _ in folder.names()] == ["large"]
            path.write_bytes(b"whole")
        assert folder.read("large") == b"whole"
        with pytest.raises(ZeroDivisionError), folder.create("large") as path:
            path.write_bytes(b"half")
            _ = 1 / 0
        assert folder.read("large") == b"whole"
        assert not path.exists()

    def test_a_staged_file_is_adopted(self, folder: Folder, tmp_path: Path) -> None:
        staged = folder.stage("under/token")
        staged.write_bytes(b"x" * 20_000_000)
        assert folder.names("under") == []
        folder.adopt(staged, "under/final")
        assert folder.names("under") == [Entry("under/final", 20_000_000)]
        assert not staged.exists()
        own = tmp_path / "elsewhere"
        own.write_bytes(b"other")
        folder.adopt(own, "under/final")
        assert folder.read("under/final") == b"other"
        assert not own.exists()

    def test_a_copy_outlives_what_it_was_made_of(self, folder: Folder) -> None:
        folder.write("a", b"1")
        folder.copy("a", "under/b")
        folder.copy("a", "under/b")
        folder.write("a", b"2")
        assert folder.read("under/b") == b"1"
        folder.remove("a")
        assert folder.read("under/b") == b"1"

    def test_a_name_stands_for_a_folder(self, folder: Folder) -> None:
        assert folder.pointed("rows") is None
        for target in ("generations/1", "generations/2"):
            folder.write(f"{target}/x", target.encode())
            folder.point("rows", target)
            assert folder.pointed("rows") == target

    def test_a_folder_in_place_of_the_name_is_moved(self, folder: Folder) -> None:
        folder.write("rows/a", b"1")
        assert folder.pointed("rows") == "rows"
        folder.point("rows", "generations/1")
        assert folder.pointed("rows") == "generations/1"
        assert folder.names("generations/1") == [Entry("generations/1/a", 1)]

    def test_a_reader_sees_no_half_of_a_file(self, folder: Folder) -> None:
        # All different: an object is known by its content, to the server as well.
        contents = [bytes([number]) * (500_000 + number) for number in range(41)]
        folder.write("a", contents[0])
        done = threading.Event()

        def read() -> int:
            times = 0
            while not done.is_set() or times < 3:
                assert folder.read("a") in contents
                times += 1
            return times

        with ThreadPoolExecutor() as pool:
            readers = [pool.submit(read) for _ in range(2)]
            for content in contents[1:]:
                folder.write("a", content, durable=False)
            done.set()
            assert all(reader.result() >= 3 for reader in readers)

    def test_whether_it_is_there(self, folder: Folder) -> None:
        folder.write("under/a", b"1")
        assert folder.is_there()
        assert not open_folder(f"{folder}-not").is_there()
        assert open_folder(f"{folder}/under").names() == [Entry("a", 1)]
        assert open_folder(folder) is folder


def test_a_failed_write_leaves_the_old_content_and_no_rest(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    folder.write("a", b"1")
    with pytest.raises(UnwritableError, match=r"cannot write .*/a: No space left on device"):
        with folder.create("a") as path:
            path.write_bytes(b"half")
            raise OSError(28, os.strerror(28))
    assert folder.read("a") == b"1"
    assert os.listdir(tmp_path) == ["a"]


def test_what_a_crash_has_left_is_removed(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    folder.write("under/a", b"1")
    (tmp_path / "under" / ".a.77.tmp").write_bytes(b"half")
    assert folder.names("under") == [Entry("under/a", 1)]
    folder.remove_leftovers("under", age=60)
    assert len(os.listdir(tmp_path / "under")) == 2
    old = time.time() - 61
    os.utime(tmp_path / "under" / ".a.77.tmp", (old, old))
    folder.remove_leftovers("under", age=60)
    assert os.listdir(tmp_path / "under") == ["a"]
    (tmp_path / "under" / ".a.77.tmp").write_bytes(b"half")
    folder.remove_leftovers("under")
    assert os.listdir(tmp_path / "under") == ["a"]


def test_a_link_that_a_crash_has_left_is_no_folder(tmp_path: Path) -> None:
    folder = DiskFolder(tmp_path)
    folder.point("rows", ".generations/1")
    (tmp_path / ".rows.77.tmp").symlink_to(".generations/1")
    assert folder.folders() == [".generations", "rows"]
    folder.remove_leftovers("")
    assert sorted(os.listdir(tmp_path)) == [".generations", "rows"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("…")
    with pytest.raises(InputError, match=r"file is a file; choose another folder"):
        DiskFolder(tmp_path / "file").make()
    with pytest.raises(InputError, match=r"cannot make the folder .*under"):
        DiskFolder(tmp_path / "file" / "under").make()
    with pytest.raises(UnwritableError, match=r"cannot write .*x: (File exists|Not a directory)"):
        DiskFolder(tmp_path / "file").write("x", b"")


def test_a_path_made_of_an_address_is_understood(bucket: str) -> None:
    assert open_folder(Path(f"{bucket}/out")).place == f"{bucket}/out"
    assert open_folder(f"{bucket}/out/").place == f"{bucket}/out"


@pytest.mark.parametrize("place", ["s3://", "s3://bucket", "s3://key:secret@bucket/x", "s3:///x"])
def test_an_address_that_is_none_is_refused_and_no_secret_told(place: str) -> None:
    with pytest.raises(InputError, match=r"is no address of objects; write s3://BUCKET") as caught:
        open_folder(place)
    assert "secret@" not in str(caught.value)


@pytest.mark.parametrize("size", [None, 1, 5_000])
def test_an_object_that_is_replaced_again_and_again_is_no_error(
    bucket: str, monkeypatch: pytest.MonkeyPatch, size: int | None
) -> None:
    """Each read() asks for the size first; then the object is another one, or gone."""
    folder, writer = (ObjectFolder(f"{bucket}/out") for _ in range(2))
    reads = iter(range(20))

    class Replaced:
        """A file whose object is replaced, or removed, before it is read, the first 20 times."""

        def __init__(self, path: str) -> None:
            self.file = writer._s3.open_input_file(path)
            self.metadata = self.file.metadata

        def __enter__(self) -> Replaced:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def read(self) -> bytes:
            assert self.file.size() == 50
            number = next(reads, None)
            if number is None:
                return bytes(self.file.read())
            if size is None:
                writer.remove("a")
            else:
                writer.write("a", b"y" * size)
            try:
                return bytes(self.file.read())
            finally:
                writer.write("a", bytes([number]) * 50)

    writer.write("a", b"x" * 50)
    monkeypatch.setattr(folder, "_s3", SimpleNamespace(open_input_file=Replaced))
    assert folder.read("a") == bytes([19]) * 50


def test_what_is_wrong_with_a_bucket_is_told_in_one_line(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = open_folder("s3://treesweep-no-such-bucket/x")
    with pytest.raises(InputError, match=r"there is no bucket 'treesweep-no-such-bucket'"):
        nowhere.make()
    with pytest.raises(UnwritableError, match=r"s3://\S+: there is no such bucket"):
        nowhere.write("a", b"1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    silent = open_folder(f"{bucket}/x")
    with pytest.raises(InputError, match=r"cannot read s3://\S+: the store does not answer") as at:
        silent.read("a")
    assert "\n" not in str(at.value)
