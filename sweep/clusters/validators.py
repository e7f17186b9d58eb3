"""Checks of values in ``cluster.yaml``: names that go into a command, and private key files."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from sweep.spec.spec import read_bytes
from sweep.spec.yaml_reader import problem

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:%-]*")
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*")
_PATH = re.compile(r"[A-Za-z0-9_./~][A-Za-z0-9_./~+@=,:-]*")
_PYTHON = re.compile(r"python[0-9.]*")
_LEAST_MEMORY = 2**28
"""What a worker takes before it searches: with less, it is killed at once, again and again."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def _host(value: str) -> str:
    if not _HOST.fullmatch(value):
        raise problem(f"{value!r} is no name or address of a machine")
    return value


def _word(value: str) -> str:
    if not _WORD.fullmatch(value):
        raise problem(f"{value!r} is no name: letters, digits and _ . @ + - are allowed")
    return value


def _path(value: str) -> str:
    if not _PATH.fullmatch(value):
        raise problem(f"{value!r} has characters that are not safe in a command; rename the path")
    return value


def _python(value: str) -> str:
    if not _PYTHON.fullmatch(Path(_path(value)).name):
        raise problem(f"{value!r} does not name a Python: write e.g. /opt/venv/bin/python")
    return value


def _memory(value: Any) -> Any:
    return None if value == "auto" else read_bytes(value)


def _enough(value: int | None) -> int | None:
    if value is not None and value < _LEAST_MEMORY:
        needed = f"{_LEAST_MEMORY // 2**20} MiB"
        raise problem(f"{value} bytes are less than the {needed} of a worker; write e.g. 4GiB")
    return value


HostName = Annotated[str, AfterValidator(_host)]
"""A machine's name or address."""

Word = Annotated[str, AfterValidator(_word)]
"""The name of a user, a queue or a network interface."""

SafePath = Annotated[str, AfterValidator(_path)]
"""A path that is safe in a command without quotes."""

PythonPath = Annotated[str, AfterValidator(_python)]
"""The path of a Python interpreter, and of no other program."""

Memory = Annotated[int | None, BeforeValidator(_memory), AfterValidator(_enough)]
"""Bytes of memory, enough for a worker. A file may say ``4GiB``."""


def exposed(path: str | Path) -> str | None:
    """Say what is wrong with the permissions of a private key file, and the remedy.

    None if nothing is wrong, or if the file cannot be looked at: reading it will fail later.
    """
    try:
        found = os.stat(path)
    except OSError:
        return None
    if found.st_uid not in (os.geteuid(), 0):
        return f"the private key {str(path)!r} belongs to another user; use a key of your own"
    if stat.S_IMODE(found.st_mode) & _OTHERS:
        return (
            f"the private key {str(path)!r} can be read by other users (mode "
            f"{stat.S_IMODE(found.st_mode):o}); run: chmod 600 {path}"
        )
    return None


def private_key(value: str) -> str:
    """Check that only its owner can read a key file, as ``ssh`` does.

    Raises PydanticCustomError if the file cannot be read, or others can read it.
    """
    path = Path(value).expanduser()
    try:
        found = path.stat()
    except OSError as error:
        raise problem(f"cannot read {value!r}: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise problem(f"{value!r} is no file")
    wrong = exposed(path)
    if wrong is not None:
        raise problem(wrong)
    return str(path)


PrivateKey = Annotated[str, AfterValidator(private_key)]
"""A private key file of mode 600 or stricter."""
