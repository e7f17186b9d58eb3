"""A sweep's files: in a folder on a disk, or as objects of an S3 bucket.

All code reads and writes them through a :class:`Folder`.

Here: reading, writing and listing files.
Not here: what is in the files (``sweep.store``).
"""

from __future__ import annotations

from pathlib import Path

from solver.features.unicode_check import check_storable
from sweep.filesystem.base import Entry, Folder, StorageError, UnwritableError
from sweep.filesystem.disk import DiskFolder

__all__ = [
    "DiskFolder",
    "Entry",
    "Folder",
    "Place",
    "StorageError",
    "UnwritableError",
    "is_remote",
    "open_folder",
]

Place = str | Path
"""A path, or ``s3://bucket/prefix``."""

_SCHEME = "s3:/"


def open_folder(place: Place | Folder) -> Folder:
    """The folder at a path or an ``s3://`` address, which need not exist.

    Raises InputError if the address is invalid, the bucket cannot be reached, or the path is not
    UTF-8 text.
    """
    if isinstance(place, Folder):
        return place
    check_storable(str(place if is_remote(place) else Path(place).absolute()), "the folder")
    if is_remote(place):
        from sweep.filesystem.s3 import ObjectFolder

        return ObjectFolder(str(place))
    return DiskFolder(Path(place))


def is_remote(place: Place) -> bool:
    """Whether a place is on S3. ``Path("s3://…")``, which has a single slash, counts too."""
    return str(place).startswith(_SCHEME)
