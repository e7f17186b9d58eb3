"""A driver that kills itself in the middle of what it does to its store's files."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sweep.store import part_files
from sweep.store import store as stores
from tests.faults.chaos import process_roles

CALLS = ("replace", "rename", "link", "symlink", "unlink", "fsync", "mkdir", "rmdir")
"""What changes a folder for good; between two of them nothing can be half done."""


def drive(spec: Path, out: Path, where: str, at: int, journal: Path, log: Path) -> None:
    """As :func:`process_roles.drive`, writing each row alone and compacting all the time;
    the process kills itself before the `at`-th call that changes something in `out`."""
    stores.FLUSH_SECONDS = stores.FLUSH_COST = 0.0
    stores.MANY_PARTS = 2
    stores.GRACE = part_files.GRACE = 0.0
    numbers = itertools.count(1)

    def deadly(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(target: Any, *more: Any, **named: Any) -> Any:
            path = Path(os.readlink(f"/proc/self/fd/{target}") if type(target) is int else target)
            if path.is_relative_to(out):
                # A sign of life is written every second, whatever else is done.
                within = str(path.relative_to(out))
                if "driver" not in within and next(numbers) == at:
                    os.kill(os.getpid(), signal.SIGKILL)
            return call(target, *more, **named)

        return wrapped

    for name in CALLS:
        setattr(os, name, deadly(getattr(os, name)))
    process_roles.drive(spec, out, where, False, journal, log)
