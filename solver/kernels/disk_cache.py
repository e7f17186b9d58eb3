"""The disk cache of compiled kernels, and the notice that a kernel is being compiled."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
import platformdirs
from numba.core import caching

from solver.kernels.source_stamp import stamp_of

_KEPT = 4
"""Versions of a module's kernels that the user's cache keeps."""

LOGGER = logging.getLogger("treesweep")


class _UserCache(caching.UserWideCacheLocator):
    """A folder in the user's cache, for one module with all sources that its kernels can reach.

    Installations of the same version share it. Versions have folders of their own, so that no
    process finds the index of one and the code of another.
    """

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file, self._lineno = file, function.__code__.co_firstlineno
        digest = hashlib.sha256((numba.__version__ + stamp_of(file)).encode()).hexdigest()
        home = platformdirs.user_cache_path("treesweep") / "kernels"
        self._cache_path = str(home / f"{function.__module__}-{digest[:20]}")

    def ensure_cache_path(self) -> None:
        folder = Path(self._cache_path)
        if not folder.is_absolute():
            raise FileNotFoundError("the user has no home directory")
        if not folder.exists():
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            module = folder.name.rpartition("-")[0]
            versions = [each for each in folder.parent.iterdir() if each.name[:-21] == module]
            for old in sorted(versions, key=_age)[_KEPT - 1 :]:
                shutil.rmtree(old, ignore_errors=True)
        super().ensure_cache_path()  # type: ignore[no-untyped-call]


def _age(folder: Path) -> float:
    try:
        return -folder.stat().st_mtime
    except FileNotFoundError:  # another process has removed it
        return 0.0


class _Kernels(caching.CompileResultCacheImpl):
    """``NUMBA_CACHE_DIR`` if it is set; the user's cache; else where numba looks."""

    _locator_classes = [  # noqa: RUF012
        caching.UserProvidedCacheLocator,
        _UserCache,
        *caching.CompileResultCacheImpl._locator_classes[1:],
    ]


class KernelCache(caching.FunctionCache):
    """numba's cache of one kernel, stamped with all sources that the kernel can reach.

    numba checks the kernel's own file only. It would run stale machine code after a change of a
    helper or of a state's layout in another file. The stamp is part of the version, which numba
    reads first: the rest of an index may name modules that are gone.
    """

    _impl_class = _Kernels

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        stamp = stamp_of(function.__code__.co_filename)
        self._cache_file._source_stamp = None  # installations of one version differ in times
        self._cache_file._version = (numba.__version__, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel; without one, say that it is compiled now.

        numba would refresh the context first: it would import all that compiled functions may ever
        use, with SciPy. Machine code needs nothing of it, and a compilation refreshes by itself.
        """
        found = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        if found is None:
            _announce(self._py_func.__module__)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled kernel. If it cannot be saved, it is compiled again next time."""
        with contextlib.suppress(OSError), self._alone():
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Let no other process change the kernel's index: numba reads it, then writes it anew."""
        self._impl.locator.ensure_cache_path()
        with open(self._cache_file._index_path + ".lock", "wb") as lock:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield


@cache
def _announce(module: str) -> None:
    """Say that a package is being compiled, once, if it states its ``COMPILE_SECONDS``."""
    package = module
    while package:
        seconds = getattr(sys.modules.get(package), "COMPILE_SECONDS", None)
        if seconds is not None:
            _say(package.removeprefix("solver."), seconds)
            return
        package = package.rpartition(".")[0]


@cache
def _say(name: str, seconds: int) -> None:
    text = f"compiling {name}, once per version, about {seconds} s"
    if LOGGER.isEnabledFor(logging.INFO):
        LOGGER.info(text)
    elif not LOGGER.level and not LOGGER.hasHandlers():  # nobody has set up logging
        print(f"treesweep: {text}", file=sys.stderr, flush=True)
