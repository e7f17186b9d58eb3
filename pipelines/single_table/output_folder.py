"""Folders that commands write several files to."""

from __future__ import annotations

import os
import re
from pathlib import Path

from solver.errors import InputError


def check_output_folder(folder: Path, ours: re.Pattern[str], what: str) -> None:
    """Refuse a folder that cannot take the files of a command, before the search.

    Parameters
    ----------
    folder : Path
    ours : Pattern
        The names of files that an earlier call may have left there.
    what : str
        What is to be written, e.g. ``"the path"``.

    Raises
    ------
    InputError
        If it cannot be made or written to, or holds other files.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"cannot write {what} to {folder}: it is a file; name a folder")
    if folder.is_dir():
        others = sorted(p.name for p in folder.iterdir() if not ours.fullmatch(p.name))
        if others:
            raise InputError(
                f"cannot write {what} to {folder}: it holds other files ({others[0]}); "
                "name a new folder"
            )
    elif not folder.parent.is_dir():
        raise InputError(f"cannot write {what} to {folder}: there is no folder {folder.parent}")
    writable = folder if folder.is_dir() else folder.parent
    if not os.access(writable, os.W_OK):
        raise InputError(f"cannot write {what} to {folder}: the folder {writable} is read-only")


def remove_others(folder: Path, ours: re.Pattern[str], written: set[str]) -> None:
    """Remove files of an earlier call that were not written anew."""
    for file in folder.iterdir():
        if ours.fullmatch(file.name) and file.name not in written:
            file.unlink()
