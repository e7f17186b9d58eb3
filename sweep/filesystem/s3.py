"""Objects of an S3 bucket.

Writing an object is atomic, and everybody sees it at once. There are no renames and no folders; a
common prefix of names stands for a folder.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from solver.errors import InputError, one_line
from sweep.filesystem.base import Entry, Folder, StorageError, UnwritableError

_PIECE = 8 * 2**20
_TRIES = 4
_READS = 50
_PAUSE = 0.01
_CONNECT_SECONDS = 5.0
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")


class ObjectFolder(Folder):
    """The objects under a prefix.

    Credentials, region and endpoint come from the environment or ``~/.aws``, as for any S3 tool:
    ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, ``AWS_SESSION_TOKEN``, ``AWS_REGION``,
    ``AWS_ENDPOINT_URL``, … Raises InputError if the address is invalid.

    Parameters
    ----------
    address : str
        ``s3://bucket/prefix``.
    """

    def __init__(self, address: str) -> None:
        rest = address.removeprefix("s3:").lstrip("/")
        bucket, _, prefix = rest.partition("/")
        prefix = prefix.strip("/")
        if not bucket or not prefix or "@" in bucket or ":" in bucket or "?" in rest:
            raise InputError(
                f"{_without_secrets(address)!r} is no address of objects; write "
                "s3://BUCKET/PREFIX, and put credentials and endpoint into the environment "
                "(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL)"
            )
        self.place = f"s3://{bucket}/{prefix}"
        self._bucket, self._root = bucket, f"{bucket}/{prefix}"
        self._s3 = _file_system(bucket)
        self._staged: tempfile.TemporaryDirectory[str] | None = None

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    @contextmanager
    def _asking(self, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise FileNotFoundError(f"{self.where(name)} is not there") from None
        except OSError as error:
            raise StorageError(f"cannot read {self.where(name)}", _plainly(error)) from None

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UnwritableError(f"cannot write {self.where(name)}", _plainly(error)) from None

    def make(self) -> None:
        # There is nothing to create. Check that the bucket can be reached.
        with self._asking(""):
            info = self._s3.get_file_info(self._bucket)
            if info.type is not fs.FileType.Directory:
                raise InputError(
                    f"there is no bucket {self._bucket!r}, or its name is not told to you; make it"
                )

    def is_there(self) -> bool:
        with self._asking(""):
            return bool(self._s3.get_file_info(self._root).type is fs.FileType.Directory)

    def read(self, name: str) -> bytes:
        with self._asking(name):
            n_failed = 0
            for _ in range(_READS):
                # read() asks for the size first, then for that many bytes. Meanwhile another
                # object, larger or smaller, may have replaced the first, or none: compare the
                # tags. What the store says to that may be any error.
                with self._s3.open_input_file(self._at(name)) as file:
                    tag = _tag(file)
                    try:
                        data, error = bytes(file.read()), None
                    except OSError as raised:
                        data, error = b"", raised
                with self._s3.open_input_file(self._at(name)) as file:
                    is_same = _tag(file) == tag
                if is_same and error is None:
                    return data
                n_failed += is_same
                if error is not None and n_failed > _TRIES:
                    raise error
                time.sleep(_PAUSE)
            raise OSError("it changes while it is read")

    def open(self, name: str) -> pa.NativeFile:
        with self._asking(name):
            return self._s3.open_input_file(self._at(name))

    def size(self, name: str) -> int:
        with self._asking(name):
            info = self._s3.get_file_info(self._at(name))
            if info.type is not fs.FileType.File:
                raise FileNotFoundError
            return int(info.size)

    def exists(self, name: str) -> bool:
        with self._asking(name):
            return bool(self._s3.get_file_info(self._at(name)).type is fs.FileType.File)

    def names(self, under: str = "") -> list[Entry]:
        return sorted(
            Entry(self._name(info), int(info.size))
            for info in self._list(under)
            if info.type is fs.FileType.File
        )

    def folders(self, under: str = "") -> list[str]:
        found = self._list(under)
        return sorted(self._name(info) for info in found if info.type is fs.FileType.Directory)

    def _list(self, under: str) -> list[fs.FileInfo]:
        with self._asking(under):
            selector = fs.FileSelector(self._at(under), allow_not_found=True)
            return list(self._s3.get_file_info(selector))

    def _name(self, info: fs.FileInfo) -> str:
        return str(info.path).removeprefix(self._root).strip("/")

    def write(self, name: str, data: bytes | pa.Buffer, durable: bool = True) -> None:
        with self._writing(name), self._s3.open_output_stream(self._at(name)) as sink:
            sink.write(data)

    @contextmanager
    def create(self, name: str, durable: bool = True) -> Iterator[Path]:
        path = self.stage(name)
        try:
            yield path
            self.adopt(path, name)
        except OSError as error:
            what = f"cannot write {path}, from where {self.where(name)} is sent"
            raise UnwritableError(what, error.strerror or str(error), "make room") from None
        finally:
            path.unlink(missing_ok=True)

    def stage(self, name: str) -> Path:
        if self._staged is None:
            self._staged = tempfile.TemporaryDirectory(prefix="treesweep-")
        return Path(self._staged.name) / name.replace("/", "-")

    def adopt(self, path: Path, name: str) -> None:
        with (
            self._writing(name),
            path.open("rb") as file,
            self._s3.open_output_stream(self._at(name)) as sink,
        ):
            while piece := file.read(_PIECE):
                sink.write(piece)
        path.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        with self._writing(name), suppress(FileNotFoundError):
            self._s3.delete_file(self._at(name))

    def remove_folder(self, name: str) -> None:
        with suppress(OSError):
            self._s3.delete_dir(self._at(name))

    def remove_leftovers(self, under: str = "", age: float = 0.0) -> None:
        """Do nothing: an interrupted upload leaves no object."""

    def copy(self, old: str, new: str) -> None:
        if not self.exists(old):
            raise FileNotFoundError(f"{self.where(old)} is not there")
        with self._writing(new):
            self._s3.copy_file(self._at(old), self._at(new))

    def point(self, name: str, target: str) -> None:
        # An object NAME.json has the name of the subfolder.
        plain = self.pointed(name) == name
        if plain:
            for old, _ in self.names(name):
                self.copy(old, f"{target}/{old.rpartition('/')[2]}")
        self.write(f"{name}.json", json.dumps({"folder": target}).encode())
        if plain:
            self.remove_folder(name)

    def pointed(self, name: str) -> str | None:
        try:
            return str(json.loads(self.read(f"{name}.json"))["folder"])
        except FileNotFoundError:
            return name if self.names(name) else None
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{self.where(name)}.json is damaged: it does not name a folder"
            ) from None


def _tag(file: pa.NativeFile) -> bytes:
    """A tag that changes with the content of an object."""
    found = file.metadata()
    return bytes(found.get("ETag", found.get("Content-Length", b"")))


def _file_system(bucket: str) -> fs.S3FileSystem:
    options: dict[str, Any] = {
        "connect_timeout": _CONNECT_SECONDS,
        "retry_strategy": fs.AwsStandardS3RetryStrategy(max_attempts=_TRIES),
        # Then a small object takes one request. Writing without a bucket still fails.
        "allow_delayed_open": True,
        "background_writes": False,
    }
    endpoint = next(filter(None, map(os.environ.get, _ENDPOINTS)), None)
    if endpoint is not None:
        options["endpoint_override"] = endpoint
    elif not any(map(os.environ.get, _REGIONS)):
        with suppress(OSError):  # the first use of the bucket will fail and say why
            options["region"] = fs.resolve_s3_region(bucket)
    return fs.S3FileSystem(**options)


_WHY = {
    "NO_SUCH_BUCKET": "there is no such bucket; make it, or write another address",
    "NoSuchBucket": "there is no such bucket; make it, or write another address",
    "INVALID_ACCESS_KEY_ID": "the access key is not known there; check AWS_ACCESS_KEY_ID",
    "SIGNATURE_DOES_NOT_MATCH": "the secret key is wrong; check AWS_SECRET_ACCESS_KEY",
    "ACCESS_DENIED": "access is denied; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the "
    "rights that they have",
    "EXPIRED_TOKEN": "the credentials have expired; get new ones",
    "NETWORK_CONNECTION": "the store does not answer; check the network and AWS_ENDPOINT_URL",
}
"""Messages for the store's errors, with what the user can do."""


def _plainly(error: OSError) -> str:
    """An error of the store in one line, without requests and headers."""
    text = one_line(error)
    for sign, meaning in _WHY.items():
        if sign in text:
            return meaning
    return text[:200]


def _without_secrets(address: str) -> str:
    """An address without what may be a password."""
    return "s3://…@" + address.rpartition("@")[2] if "@" in address else address
