"""Where a sweep's files are: a folder on a disk, or objects under a prefix of an S3 bucket.

Everything that reads or writes a sweep's files does so through a :class:`Folder`, so that it works
the same wherever they are.

Here: reading, writing and listing files.
Not here: what is in the files (``sweep.store``).
"""

from __future__ import annotations

from pathlib import Path

from solver.features.unicode import check_storable
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
    """The folder at a place; it need not be there yet.

    Parameters
    ----------
    place : str, Path or Folder
        A path, or ``s3://bucket/prefix``. A folder is given back as it is.

    Raises
    ------
    InputError
        If the address is not one of a bucket, or the bucket cannot be reached; or if the path is
        not text in UTF-8.
    """
    if isinstance(place, Folder):
        return place
    check_storable(str(place if is_remote(place) else Path(place).absolute()), "the folder")
    if is_remote(place):
        from sweep.filesystem.s3 import ObjectFolder

        return ObjectFolder(str(place))
    return DiskFolder(Path(place))


def is_remote(place: Place) -> bool:
    """Whether a place is an object store's; a path that it was made into is recognised, too."""
    return str(place).startswith(_SCHEME)
