"""One process of a machine does something first, and then all others at once."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def first_on_machine(name: str, version: str) -> Iterator[None]:
    """Let one process of this user on this machine do something first, and then all at once.

    Parameters
    ----------
    name : str
        What is done.
    version : str
        Another version is done first by one process again.
    """
    code = hashlib.sha256(f"{__file__} {version}".encode()).hexdigest()[:12]
    path = Path(tempfile.gettempdir(), f"treesweep-{os.getuid()}-{code}-{name}.lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        if not file.read(1):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
        file.seek(0)
        file.write(b"1")
