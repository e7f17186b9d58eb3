"""A hash of all sources of a kernel, by which compiled kernels are found again."""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache


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
