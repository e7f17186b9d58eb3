"""Files on a local or shared disk."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

from solver.errors import InputError
from sweep.filesystem.base import Entry, Folder, StorageError, UnwritableError


class DiskFolder(Folder):
    """A folder of a file system, local or of a network.

    A file is written under a temporary name and renamed. The file system must rename atomically
    and support symbolic links to folders.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.place = str(root)

    def make(self) -> None:
        if self.root.exists() and not self.root.is_dir():
            raise InputError(f"{self.root} is a file; choose another folder with --out")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot make the folder {self.root}: {error.strerror or error}"
            ) from None

    def is_there(self) -> bool:
        return self.root.is_dir()

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        # A folder may be removed meanwhile, and a file server may forget a file (ESTALE).
        try:
            yield
        except OSError as error:
            gone = isinstance(error, FileNotFoundError | NotADirectoryError)
            if gone or error.errno == errno.ESTALE:
                raise FileNotFoundError(f"{self.where(name)} is not there") from None
            why = error.strerror or str(error)
            raise StorageError(f"cannot read {self.where(name)}", why) from None

    def read(self, name: str) -> bytes:
        with self._reading(name):
            return (self.root / name).read_bytes()

    def open(self, name: str) -> pa.NativeFile:
        with self._reading(name):
            return pa.OSFile(str(self.root / name))

    def size(self, name: str) -> int:
        with self._reading(name):
            return (self.root / name).stat().st_size

    def exists(self, name: str) -> bool:
        # Opening asks the file server; os.path.exists may use an old cache.
        try:
            with self._reading(name):
                handle = os.open(self.root / name, os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            return stat.S_ISREG(os.fstat(handle).st_mode)
        finally:
            os.close(handle)

    def names(self, under: str = "") -> list[Entry]:
        prefix = f"{under}/" if under else ""
        found = []
        for entry in self._scan(under):
            with suppress(FileNotFoundError):  # removed meanwhile
                if entry.is_file() and not _is_leftover(entry.name):
                    found.append(Entry(prefix + entry.name, entry.stat().st_size))
        return sorted(found)

    def folders(self, under: str = "") -> list[str]:
        prefix = f"{under}/" if under else ""
        # A crash may leave a temporary link, which is_dir() follows.
        return sorted(
            prefix + entry.name
            for entry in self._scan(under)
            if entry.is_dir() and not _is_leftover(entry.name)
        )

    def _scan(self, under: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.root / under) as entries:
                return list(entries)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            why = error.strerror or str(error)
            raise StorageError(f"cannot read {self.where(under)}", why) from None

    def write(self, name: str, data: bytes | pa.Buffer, durable: bool = True) -> None:
        def put(path: Path) -> None:
            with path.open("wb") as file:
                file.write(data)

        self._replace(name, put, durable)

    @contextmanager
    def create(self, name: str, durable: bool = True) -> Iterator[Path]:
        temporary = self.stage(name)
        with self._writing(name):
            try:
                yield temporary
                self._replace(name, lambda path: None, durable)
            finally:
                temporary.unlink(missing_ok=True)

    def stage(self, name: str) -> Path:
        path = self.root / name
        with suppress(OSError):  # the write itself will fail and say why
            path.parent.mkdir(parents=True, exist_ok=True)
        return path.with_name(f".{path.name}.{os.getpid()}.tmp")

    def adopt(self, path: Path, name: str) -> None:
        def move(temporary: Path) -> None:
            if path != temporary:
                shutil.move(path, temporary)

        self._replace(name, move)

    def _replace(self, name: str, put: Callable[[Path], None], durable: bool = True) -> None:
        path, temporary = self.root / name, self.stage(name)
        with self._writing(name):
            try:
                put(temporary)
                if durable:
                    _sync(temporary)
                os.replace(temporary, path)
                if durable:
                    _sync(path.parent)
            finally:
                temporary.unlink(missing_ok=True)

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UnwritableError(
                f"cannot write {self.where(name)}",
                error.strerror or str(error),
                "make room or change the folder's permissions, then resume the sweep",
            ) from None

    def remove(self, name: str) -> None:
        with self._writing(name), suppress(FileNotFoundError, NotADirectoryError):
            (self.root / name).unlink()

    def remove_folder(self, name: str) -> None:
        shutil.rmtree(self.root / name, ignore_errors=True)

    def remove_leftovers(self, under: str = "", age: float = 0.0) -> None:
        for entry in self._scan(under):
            if _is_leftover(entry.name):
                with suppress(OSError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime >= age:
                        os.unlink(entry.path)

    def copy(self, old: str, new: str) -> None:
        source = self.root / old
        if not source.is_file():
            raise FileNotFoundError(f"{self.where(old)} is not there")

        def link(temporary: Path) -> None:
            temporary.unlink(missing_ok=True)
            try:
                os.link(source, temporary)
            except OSError:  # a file system without links
                shutil.copyfile(source, temporary)

        self._replace(new, link)

    def point(self, name: str, target: str) -> None:
        # A symbolic link, so that other programs find the subfolder too.
        with self._writing(name):
            temporary = self.root / f".{name}.{os.getpid()}.tmp"
            temporary.unlink(missing_ok=True)
            temporary.symlink_to(target)
            plain, place = self.root / name, self.root / target
            if plain.is_dir() and not plain.is_symlink():
                place.parent.mkdir(parents=True, exist_ok=True)
                os.rename(plain, place)
            place.mkdir(parents=True, exist_ok=True)
            os.replace(temporary, plain)
            _sync(self.root)

    def pointed(self, name: str) -> str | None:
        path = self.root / name
        try:
            return os.readlink(path)
        except OSError:
            return name if path.is_dir() else None


def _is_leftover(name: str) -> bool:
    return name.startswith(".") and name.endswith(".tmp")


def _sync(path: Path) -> None:
    """Flush a file or a folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
