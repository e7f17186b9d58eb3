"""Tables from files: CSV, Excel, Parquet, Arrow and Feather."""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import io
import re
import warnings
import zlib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from solver.errors import InputError, InputWarning, one_line
from solver.features.number_format import count
from solver.features.text_parsing import TextFormat
from solver.features.to_pandas import as_frame
from sweep.datasets.csv_parser import parse_text
from sweep.datasets.excel import sheet_as_csv

SEPARATORS = {".csv": ",", ".tsv": "\t"}
_SAMPLE = 20
"""The lines that the separator is guessed from."""
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
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


UTF8 = "utf-8-sig"
"""UTF-8, with or without a byte order mark."""
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF32_BE: "UTF-32",  # first: UTF-16's begins alike
    codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16",
}  # fmt: skip
"""The byte order marks that text in another charset than UTF-8 begins with."""
EXCEL_CHARSET = "cp1252"
"""What Excel writes in Western Europe and America: latin-1 with more signs."""
EXCEL = ".xlsx"


def _alike(path: Path) -> str:
    """A question about the file of the same folder whose name is most like it."""
    names: list[str] = []
    with suppress(OSError):  # the folder may be missing, or not to be listed
        names = [each.name for each in path.parent.iterdir()]
    close = difflib.get_close_matches(path.name, names, 1)
    return f"; did you mean {path.with_name(close[0])}?" if close else ""


def read_file(
    path: Path,
    separator: str | None = None,
    charset: str = UTF8,
    *,
    sheet: str | None = None,
    texts: Mapping[str, Collection[str]] | None = None,
    forms: Mapping[str, TextFormat] | None = None,
) -> pd.DataFrame:
    """Read a table in the format that its suffix names.

    Raises InputError if the ending is not known, there is no such file, or it cannot be read.

    Parameters
    ----------
    path : Path
        ``.csv``, ``.tsv`` (also ``.gz``), ``.xlsx``, ``.parquet``, ``.arrow`` or ``.feather``. A
        directory of Parquet files that ends in ``.parquet`` is one table.
    separator : str, optional
        The delimiter of a text file; by default the one that its first lines have.
    charset : str
        The character encoding of a text file. In place of UTF-8 a byte order mark decides.
    sheet : str, optional
        The sheet of an Excel file; needed if it has several.
    texts : mapping of str, optional
        Columns of a text or Excel file to keep as text, each with its known values: ``NA`` among
        them is not a missing field. By default the values decide: text, numbers or booleans.
    forms : mapping of str to TextFormat, optional
        Columns of such a file to keep as text, if their values are to decide about the others, and
        the format of their texts.
    """
    ending = ending_of(path)
    if ending not in READERS:
        raise InputError(
            f"{path} has an unknown ending {ending!r}; the endings are: {', '.join(READERS)}"
        )
    if not path.exists():
        raise InputError(f"there is no file {path}{_alike(path)}")
    if path.is_dir() and READERS[ending] is not _read_parquet:
        raise InputError(f"{path} is a directory, not a file")
    if sheet is not None and ending != EXCEL:
        raise InputError(f"{path} has no sheets; leave out the sheet {sheet!r}")
    try:
        if ending == EXCEL:
            return _parse(path, sheet_as_csv(path, sheet, forms), ",", texts, forms or ())
        if (read := READERS[ending]) is not None:
            return read(path)
        text = read_characters(path, charset)
        separator = separator or find_separator(text, SEPARATORS[ending.removesuffix(".gz")])
        if len(next(csv.reader(io.StringIO(text.lstrip()), delimiter=separator))) == 1:
            text = _keep_blank_lines(path, text, separator)
        return _parse(path, text, separator, texts, forms or ())
    except InputError:
        raise
    except PermissionError:
        raise InputError(f"{path} may not be read (no permission)") from None
    except UnicodeDecodeError as error:
        if charset == UTF8 and error.encoding != "utf-8":
            begun = error.encoding.upper()[:6]
            raise InputError(f"{path} begins as {begun} text and does not go on so") from None
        raise InputError(
            f"{path} is not {'UTF-8' if charset == UTF8 else charset} text",
            "name its character encoding, e.g. charset: latin-1 for a table from Excel",
        ) from None
    except _DAMAGED as error:
        reason = one_line(error, 200)
        raise InputError(f"{path} cannot be read, it may be damaged: {reason}") from None


def read_characters(path: Path, charset: str = UTF8) -> str:
    """The text of a file, which may be compressed; UnicodeDecodeError if it is in another charset.

    Raises InputError if the file is empty, nobody knows the charset, or it looks like UTF-16
    without a byte order mark.
    """
    data = path.read_bytes()
    if path.suffix.lower() == ".gz":
        data = gzip.decompress(data)
    if charset == UTF8:
        charset = next((name for mark, name in _MARKS.items() if data.startswith(mark)), UTF8)
        if charset == UTF8 and b"\0" in data.split(b"\n", 1)[0]:
            raise InputError(
                f"{path} has zero bytes in its first line, like text encoded as UTF-16",
                "save it as UTF-8, or name its character encoding, e.g. charset: utf-16-le",
            )
    try:
        text = data.decode(charset)
    except LookupError:
        raise InputError(f"there is no charset {charset!r}; write e.g. latin-1 or cp1252") from None
    if not text.strip():
        raise InputError(f"{path} is empty; its first line must have the names of the columns")
    return text


def _keep_blank_lines(path: Path, text: str, separator: str) -> str:
    """The text of a table of one column with each blank line as an empty field between quotes.

    In other tables a blank line is no row, as pandas has it. Here it is a row without its value, as
    spreadsheets write it: later rows keep their places. At the end of the file it is none.
    """
    if not _BLANK_LINE.search(text.lstrip()):
        return text
    rows = [
        [""] if len(row) < 2 and not "".join(row).strip() else row
        for row in csv.reader(io.StringIO(text.lstrip()), delimiter=separator)
    ]
    if [""] not in rows:  # the blank line is part of a quoted text
        return text
    warnings.warn(
        f"{path} has one column and blank lines: each is a row without its value, except for those "
        "at the end of the file",
        InputWarning,
        stacklevel=3,
    )
    while rows[-1] == [""]:
        rows.pop()
    kept = io.StringIO()
    csv.writer(kept, delimiter=separator).writerows(rows)
    return kept.getvalue()


def _parse(
    path: Path,
    text: str,
    separator: str,
    texts: Mapping[str, Collection[str]] | None,
    as_text: Collection[str],
) -> pd.DataFrame:
    # Check the names first: pandas renames duplicate columns.
    names = next(csv.reader(io.StringIO(text.lstrip()), delimiter=separator))
    twice = [name for i, name in enumerate(names) if name and name in names[:i]]
    if twice:
        raise InputError(f"{path} has two columns named {twice[0]!r}; rename one of them")
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = parse_text(text, separator, texts, as_text)
        except pd.errors.ParserWarning:
            raise InputError(f"{path} has lines with more fields than its first line") from None
    _refuse_short_lines(path, text, separator, len(names))
    return frame


def _refuse_short_lines(path: Path, text: str, separator: str, most: int) -> None:
    """Refuse lines of fewer fields than the first one: pandas would take the rest for missing."""
    lines = text.count("\n") + (not text.endswith("\n"))
    if '"' not in text and text.count(separator) == (most - 1) * lines:
        return  # no line has more, so none has fewer
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    with suppress(csv.Error):  # a field beyond the limit of this reader
        for row in rows:
            is_blank = len(row) < 2 and not "".join(row).strip()
            if len(row) < most and not is_blank:
                raise InputError(
                    f"line {rows.line_num} of {path} has {count(len(row), 'field')}, the first "
                    f"line {most}; is the file complete? Write a separator for each missing value"
                )


def find_separator(text: str, usual: str = ",") -> str:
    """The delimiter of a text file: the one that gives its first lines the same number of fields.

    ``usual`` is taken unless the first line lacks it, and another one parts all lines alike.
    """
    lines = text.lstrip().splitlines()[:_SAMPLE]
    for separator in (usual, ";", "\t", "|", ","):
        sizes = {len(fields) for fields in csv.reader(lines, delimiter=separator) if fields}
        if sizes and (separator == usual or len(sizes) == 1) and min(sizes) > 1:
            return separator
    return usual


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


READERS: dict[str, Callable[[Path], pd.DataFrame] | None] = {
    ".csv": None,
    ".tsv": None,
    ".csv.gz": None,
    ".tsv.gz": None,
    EXCEL: None,
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
    ".arrow": _read_arrow,
    ".feather": _read_arrow,
}
"""How a table is read in each format; None for text and Excel, which have options."""
