"""Versions of Python, the libraries and this code."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

from sweep.plan.task_keys import canonical

_LIBRARIES = ("numpy", "numba", "dask", "pyarrow", "pandas", "scikit-learn", "treesweep")

_DECISIVE = ("numba", "numpy", "pandas", "scikit-learn", "treesweep")
_NAMES = {"python": "Python", "code": "code"}


@cache
def versions() -> str:
    """Versions by the names of distributions, as JSON."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return canonical(found)


@cache
def fingerprint() -> dict[str, str]:
    """What must be equal on all machines of a sweep, so that results are equal.

    Python's patch version does not matter. ``code`` is a digest of ``solver`` and ``sweep``.
    """
    own = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for name in _DECISIVE:
        try:
            own[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            own[name] = "none"
    return {**own, "code": _code_digest()}


def difference(there: Mapping[str, str]) -> str | None:
    """How another machine's :func:`fingerprint` differs from this one's; None if it does not."""
    here = fingerprint()
    parts = [
        f"{_NAMES.get(name, name)} {there.get(name, 'none')} there and {here[name]} here"
        for name in here
        if there.get(name) != here[name]
    ]
    return "; ".join(parts) or None


def _code_digest() -> str:
    root = Path(__file__).resolve().parents[2]
    content = hashlib.sha256()
    for package in ("solver", "sweep"):
        for path in sorted((root / package).rglob("*.py")):
            data = path.read_bytes()
            content.update(f"{path.relative_to(root).as_posix()} {len(data)} ".encode() + data)
    return content.hexdigest()[:12]


@cache
def git_revision() -> str | None:
    """The commit of this code, with ``+`` if files have changed; None outside a repository."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None:
        return None
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return commit + ("+" if changed else "")


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
