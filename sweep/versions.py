"""What the code ran on: versions of Python and the libraries, and the code's revision."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

from sweep.keys import canonical

_LIBRARIES = ("numpy", "numba", "dask", "pyarrow", "pandas", "scikit-learn", "treesweep")


@cache
def versions() -> str:
    """Versions as a JSON object, by the names of the distributions."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return canonical(found)


@cache
def git_revision() -> str | None:
    """The commit that this code was checked out at, with ``+`` if files have changed since.

    None if the code is not in a repository of its own, e.g. because it was installed.
    """
    root = Path(__file__).resolve().parent.parent
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
