"""Private keys in files: nobody else may read them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def exposed(path: str | Path) -> str | None:
    """What is wrong with the rights of a private key's file, and the remedy; None if nothing is.

    A file that is not there, or that this user may not look at, has nothing wrong here: whoever
    reads it will say so.
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
