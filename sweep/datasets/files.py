"""Tables from files: CSV, Parquet, Arrow and Feather."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
import zlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from solver.errors import InputError, one_line
from solver.features.tables import as_frame
from sweep.datasets.csv_parser import parse_text

SEPARATORS = {".csv": ",", ".tsv": "\t"}
_DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    # The metadata for pandas in a file may be invalid.
    TypeError,
    AttributeError,
    zlib.error,
    csv.Error,
    pa.ArrowException,
)


def ending_of(path: Path) -> str:
    """The suffix that names the format, e.g. ``.csv.gz``."""
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    return "".join(endings) if endings[-1:] == [".gz"] else "".join(endings[-1:])


def read_file(
    path: Path, separator: str | None = None, texts: Mapping[str, Collection[str]] | None = None
) -> pd.DataFrame:
    """Read a table in the format that its suffix names.

    Raises InputError if the ending is not known, there is no such file, or it cannot be read.

    Parameters
    ----------
    path : Path
        ``.csv``, ``.tsv`` (also ``.gz``), ``.parquet``, ``.arrow`` or ``.feather``. A directory
        of Parquet files that ends in ``.parquet`` is one table.
    separator : str, optional
        The delimiter of a text file; by default a comma, a tab in ``.tsv``.
    texts : mapping of str, optional
        Columns of a text file to keep as text, each with its known values: ``NA`` among them is
        not a missing field. By default the values decide: text, numbers or booleans.
    """
    ending = ending_of(path)
    if ending not in READERS:
        raise InputError(
            f"{path} has an unknown ending {ending!r}; the endings are: {', '.join(READERS)}"
        )
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if path.is_dir() and READERS[ending] is not _read_parquet:
        raise InputError(f"{path} is a directory, not a file")
    try:
        if (read := READERS[ending]) is not _read_text:
            return read(path)
        return _read_text(path, separator or SEPARATORS[ending.removesuffix(".gz")], texts)
    except InputError:
        raise
    except PermissionError:
        raise InputError(f"{path} may not be read (no permission)") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; convert it, e.g. with iconv") from None
    except _DAMAGED as error:
        reason = one_line(error, 200)
        raise InputError(f"{path} cannot be read, it may be damaged: {reason}") from None


def _read_text(
    path: Path, separator: str = ",", texts: Mapping[str, Collection[str]] | None = None
) -> pd.DataFrame:
    data = path.read_bytes()
    if path.suffix.lower() == ".gz":
        data = gzip.decompress(data)
    text = data.decode("utf-8-sig")
    if not text.strip():
        raise InputError(f"{path} is empty; its first line must have the names of the columns")
    # Check the names first: pandas renames duplicate columns.
    names = next(csv.reader(io.StringIO(text.lstrip()), delimiter=separator))
    twice = [name for i, name in enumerate(names) if name and name in names[:i]]
    if twice:
        raise InputError(f"{path} has two columns named {twice[0]!r}; rename one of them")
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return parse_text(text, separator, texts)
        except pd.errors.ParserWarning:
            hint = guess_separator("".join(names)) if separator == "," else ""
            raise InputError(
                f"{path} has lines with more fields than its first line{hint}"
            ) from None


def guess_separator(header: str) -> str:
    """A hint for an error message, if the header has another delimiter."""
    other = next((c for c in ";\t|" if c in header), None)
    return f"; is its separator {other!r}?" if other else ""


def _read_parquet(path: Path) -> pd.DataFrame:
    return as_frame(pyarrow.parquet.read_table(path))


def _read_arrow(path: Path) -> pd.DataFrame:
    with pa.memory_map(str(path)) as source:
        try:
            reader: Any = pyarrow.ipc.open_file(source)
        except pa.ArrowInvalid:
            source.seek(0)
            reader = pyarrow.ipc.open_stream(source)
        return as_frame(reader.read_all())


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": _read_text,
    ".tsv": _read_text,
    ".csv.gz": _read_text,
    ".tsv.gz": _read_text,
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
    ".arrow": _read_arrow,
    ".feather": _read_arrow,
}
