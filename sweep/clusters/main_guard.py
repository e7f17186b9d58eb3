"""Checks of the program that starts worker processes.

Each worker is a process of its own. It first imports the program that started it, under another
name than ``__main__``. So a program without a ``__main__`` guard would run its sweep in every
worker.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from solver.errors import InputError

NO_GUARD = (
    "the program runs a sweep when it is imported, which its worker processes do; write the call "
    'under: if __name__ == "__main__":'
)

_VISITS = "TREESWEEP_VISITS"


def check_main() -> None:
    """Refuse to start workers where they could not run.

    Raises InputError in a daemonic process, or in a program that workers cannot import.
    """
    if multiprocessing.current_process().daemon:
        name = multiprocessing.current_process().name
        raise InputError(
            f"{name} is a daemonic process, which may start no workers; run the sweep in a process "
            "with daemon=False, or on a cluster of kind 'address'"
        )
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    if path is not None and not Path(path).exists():
        raise InputError(
            f"the program is read from {path}, which its worker processes cannot import; put it "
            'into a file, with the call under: if __name__ == "__main__":'
        )


def leave_if_imported() -> None:
    """End a worker process that runs a sweep because its program has no ``__main__`` guard.

    The driver that started the worker reports the error. Raises InputError if the process was not
    started by a driver of treesweep.
    """
    if not getattr(multiprocessing.current_process(), "_inheriting", False):
        return
    visits = os.environ.get(_VISITS)
    if visits is None:
        raise InputError(NO_GUARD)
    with suppress(OSError):  # a later sweep of this driver has another folder
        Path(visits).touch()
    os._exit(1)


@contextmanager
def watched_main() -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether a worker has called :func:`leave_if_imported`."""
    with tempfile.TemporaryDirectory(prefix="treesweep-") as folder:
        visits = Path(folder, "visited")
        os.environ[_VISITS] = str(visits)
        try:
            yield visits.exists
        finally:
            os.environ.pop(_VISITS, None)
