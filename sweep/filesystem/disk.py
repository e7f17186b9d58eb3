"""Files on a disk, a local one or a shared one."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

from solver.errors import InputError
from sweep.filesystem.base import Entry, Folder, StorageError, UnwritableError


class DiskFolder(Folder):
    """A folder of a file system.

    Files are written beside and renamed. Needed of the file system are renaming in one step and
    links to folders; a file system of a network will do.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.place = str(root)

    def make(self) -> None:
        """As :meth:`Folder.make`."""
        if self.root.exists() and not self.root.is_dir():
            raise InputError(f"{self.root} is a file; choose another folder with --out")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot make the folder {self.root}: {error.strerror or error}"
            ) from None

    def is_there(self) -> bool:
        """As :meth:`Folder.is_there`."""
        return self.root.is_dir()

    def read(self, name: str) -> bytes:
        """As :meth:`Folder.read`."""
        try:
            return (self.root / name).read_bytes()
        except OSError as error:
            raise self._unreadable(name, error) from None

    def open(self, name: str) -> pa.NativeFile:
        """As :meth:`Folder.open`."""
        try:
            return pa.OSFile(str(self.root / name))
        except OSError as error:
            raise self._unreadable(name, error) from None

    def size(self, name: str) -> int:
        """As :meth:`Folder.size`."""
        try:
            return (self.root / name).stat().st_size
        except OSError as error:
            raise self._unreadable(name, error) from None

    def _unreadable(self, name: str, error: OSError) -> Exception:
        # A folder that is gone meanwhile is an absent file; so is what a file server forgot.
        if isinstance(error, FileNotFoundError | NotADirectoryError) or error.errno == errno.ESTALE:
            return FileNotFoundError(f"{self.where(name)} is not there")
        return StorageError(f"cannot read {self.where(name)}", error.strerror or str(error))

    def exists(self, name: str) -> bool:
        """As :meth:`Folder.exists`."""
        # Opening asks the server of a shared disk; what is known of a name may be old.
        try:
            handle = os.open(self.root / name, os.O_RDONLY)
        except OSError as error:
            if isinstance(self._unreadable(name, error), FileNotFoundError):
                return False
            raise self._unreadable(name, error) from None
        try:
            return stat.S_ISREG(os.fstat(handle).st_mode)
        finally:
            os.close(handle)

    def names(self, under: str = "") -> list[Entry]:
        """As :meth:`Folder.names`."""
        prefix = f"{under}/" if under else ""
        found = []
        for entry in self._scan(under):
            with suppress(FileNotFoundError):  # it was removed meanwhile
                if entry.is_file() and not _is_leftover(entry.name):
                    found.append(Entry(prefix + entry.name, entry.stat().st_size))
        return sorted(found)

    def folders(self, under: str = "") -> list[str]:
        """As :meth:`Folder.folders`."""
        prefix = f"{under}/" if under else ""
        # A crash may have left a link that was to be renamed: no folder, though it leads to one.
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
        """As :meth:`Folder.write`."""

        def put(path: Path) -> None:
            with path.open("wb") as file:
                file.write(data)

        self._replace(name, put, durable)

    @contextmanager
    def create(self, name: str, durable: bool = True) -> Iterator[Path]:
        """As :meth:`Folder.create`."""
        temporary = self.stage(name)
        try:
            yield temporary
            self._replace(name, lambda path: None, durable)
        except OSError as error:
            raise self._unwritable(name, error) from None
        finally:
            temporary.unlink(missing_ok=True)

    def stage(self, name: str) -> Path:
        """As :meth:`Folder.stage`."""
        path = self.root / name
        with suppress(OSError):  # whoever writes there finds out as well
            path.parent.mkdir(parents=True, exist_ok=True)
        return path.with_name(f".{path.name}.{os.getpid()}.tmp")

    def adopt(self, path: Path, name: str) -> None:
        """As :meth:`Folder.adopt`."""

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
            raise self._unwritable(name, error) from None

    def _unwritable(self, name: str, error: OSError) -> UnwritableError:
        return UnwritableError(
            f"cannot write {self.where(name)}",
            error.strerror or str(error),
            "make room or give the folder other rights, then resume the sweep",
        )

    def remove(self, name: str) -> None:
        """As :meth:`Folder.remove`."""
        with self._writing(name), suppress(FileNotFoundError, NotADirectoryError):
            (self.root / name).unlink()

    def remove_folder(self, name: str) -> None:
        """As :meth:`Folder.remove_folder`."""
        shutil.rmtree(self.root / name, ignore_errors=True)

    def remove_leftovers(self, under: str = "") -> None:
        """As :meth:`Folder.remove_leftovers`."""
        for entry in self._scan(under):
            if _is_leftover(entry.name):
                with suppress(OSError):
                    os.unlink(entry.path)

    def copy(self, old: str, new: str) -> None:
        """As :meth:`Folder.copy`."""
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
        """As :meth:`Folder.point`; a link, so that others find the subfolder as well."""
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
        """As :meth:`Folder.pointed`."""
        path = self.root / name
        try:
            return os.readlink(path)
        except OSError:
            return name if path.is_dir() else None


def _is_leftover(name: str) -> bool:
    return name.startswith(".") and name.endswith(".tmp")


def _sync(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
