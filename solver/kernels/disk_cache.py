"""The disk cache of compiled kernels, and the notice that a kernel is being compiled."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
import platformdirs
from numba.core import caching

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


@cache
def stamp_of(kernel: str) -> str:
    """A hash of the names and the text of every source file that a kernel can reach."""
    found = {__file__}
    pending = [kernel, os.path.join(os.path.dirname(__file__), "jit.py")]
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += _imported(path)
    digest = hashlib.sha256()
    for path in sorted(found):
        text, name = _source(path), path[len(_root(os.path.dirname(path))) :]
        digest.update(f"{name}:{len(text)}:".encode() + text)
    return digest.hexdigest()


# Two dozen modules with kernels reach the same hundred files: a process looks at each once. Paths
# are text, since those of pathlib took half of the time of an import of the solvers.
@cache
def _source(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@cache
def _names(folder: str) -> frozenset[str]:
    """What is in a folder; nothing if there is no such folder."""
    try:
        return frozenset(os.listdir(folder or os.curdir))
    except OSError:
        return frozenset()


@cache
def _root(folder: str) -> str:
    """The folder that holds the top-level package of the modules of a folder."""
    return _root(os.path.dirname(folder)) if "__init__.py" in _names(folder) else folder


@cache
def _imported(path: str) -> list[str]:
    """The files of its own package and of this one that a file imports at its top level."""
    found = []
    for module, names in _IMPORT.findall(_source(path).decode()):
        inside = [name.split()[0] for name in names.strip("(").split(",") if name.strip()]
        for root in {_root(os.path.dirname(path)), _root(os.path.dirname(__file__))}:
            place = os.path.join(root, *module.split("."))
            for candidate in (place, *(os.path.join(place, name) for name in inside)):
                found += _files(candidate)
    return found


@cache
def _files(place: str) -> list[str]:
    """The files of the module or of the package that would lie at a place."""
    folder, name = os.path.split(place)
    module = [f"{place}.py"] if f"{name}.py" in _names(folder) else []
    package = os.path.join(place, "__init__.py")
    return [*module, package] if "__init__.py" in _names(place) else module


_IMPORT = re.compile(r"^from ([\w.]+) import (\([^)]*|[^\n]*)", re.MULTILINE)
