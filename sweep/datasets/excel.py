"""A sheet of an Excel file as the text of a CSV file with the same values.

A sheet and a CSV file are then read by the same rules. Cells keep their types as far as CSV has
them: numbers are written with all their digits, whatever the sheet shows, and dates as ISO 8601.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import math
import re
import warnings
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from solver.errors import InputError, InputWarning, one_line
from solver.features.text_parsing import TextFormat, readings_of

MOST_BYTES = 2**30
"""The most bytes of a sheet's XML, and of the text that it becomes."""
MOST_OTHER_BYTES = 2**26
"""The most bytes of each other part of the file, which is read into memory as a whole."""
MOST_CELLS = 20_000_000
MOST_ROWS = 2**20
"""The rows of a sheet in Excel; the number of a row in a file may be anything."""
_STREAMED = ("xl/worksheets/", "xl/sharedStrings")
_GROUPS = re.compile(r"-?[1-9]\d{0,2}\.\d{3}$")
"""A number that looks like a thousand."""
_SHARES = ("%", "‰")
"""Units of texts; a cell that shows 23 % is the number 0.23."""
_TOO_LARGE = "save the sheet as CSV or Parquet, which may be larger"
_Rows = list[list[Any]]


def sheet_as_csv(
    path: Path, sheet: str | None = None, forms: Mapping[str, TextFormat] | None = None
) -> str:
    """The text of a sheet, with the names of the columns in its first line.

    Cells with errors (``#N/A``) are missing; a warning says so.

    Parameters
    ----------
    path : Path
        The file.
    sheet : str, optional
        The sheet; needed if the file has several.
    forms : mapping of str to TextFormat, optional
        Columns that are to be read by a format of text: their numbers and dates are written in it.

    Raises
    ------
    InputError
        If openpyxl is not installed, the file is damaged or too large, there is no such sheet, or
        the sheet's first row does not name all columns.
    """
    try:
        import openpyxl
    except ImportError:
        raise InputError(
            f"reading {path} needs openpyxl; run: pip install 'treesweep[excel]', or save the "
            "sheet as CSV"
        ) from None
    try:
        _check_size(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about colours and menus that it does not keep
            book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
            try:
                rows, errors = _read(_choose(book, path, sheet), path)
            finally:
                book.close()
    except (zipfile.BadZipFile, ParseError, NotImplementedError) as error:
        raise InputError(
            f"{path} cannot be read as .xlsx: {one_line(error, 200)}; save it anew in Excel as "
            ".xlsx without a password, or as CSV"
        ) from None
    _check_header(rows, path)
    _write_in_formats(rows, forms or {}, path)
    if errors:
        kinds = ", ".join(sorted({*errors}))
        warnings.warn(
            f"{path}: cells with errors are read as missing: {len(errors)} ({kinds})",
            InputWarning,
            stacklevel=2,
        )
    return _write(rows)


def _check_size(path: Path) -> None:
    """Refuse a file that would fill the memory when it is unpacked."""
    with zipfile.ZipFile(path) as file:  # reads no more of a part than it declares
        parts = file.infolist()
    streamed = sum(part.file_size for part in parts if part.filename.startswith(_STREAMED))
    others = [part.file_size for part in parts if not part.filename.startswith(_STREAMED)]
    if streamed > MOST_BYTES or max(others, default=0) > MOST_OTHER_BYTES:
        raise InputError(
            f"{path} is too large to be read as .xlsx: unpacked it has "
            f"{(streamed + sum(others)) // 2**20} MiB; {_TOO_LARGE}"
        )


def _choose(book: Any, path: Path, sheet: str | None) -> Any:
    """The sheet that is named, or the only one that is not hidden."""
    names = [each.title for each in book.worksheets]
    if sheet is not None:
        if sheet in names:
            return book[sheet]
        close = difflib.get_close_matches(sheet, names, 1)
        hint = f"did you mean {close[0]!r}? It" if close else "it"
        raise InputError(f"{path} has no sheet {sheet!r}; {hint} has: {_quoted(names)}")
    shown = [each for each in book.worksheets if each.sheet_state == "visible"]
    if len(shown) == 1:
        return shown[0]
    if not names:
        raise InputError(f"{path} has no sheet with cells; save the table as CSV")
    first = json.dumps((shown[0].title if shown else names[0]), ensure_ascii=False)
    raise InputError(f"{path} has several sheets: {_quoted(names)}; name one, e.g. sheet: {first}")


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _read(sheet: Any, path: Path) -> tuple[_Rows, list[str]]:
    """The values of all rows, without empty cells and rows at the end, and the errors in cells.

    Values are texts, None, and numbers and dates, for which :func:`_write_in_formats` looks.
    """
    sheet.reset_dimensions()  # what the file claims may be wrong, and huge
    rows: _Rows = []
    errors: list[str] = []
    cells = characters = last = 0
    for found in sheet.iter_rows():
        row = [_value(cell, errors) for cell in found]
        while row and row[-1] is None:
            row.pop()
        rows.append(row)
        last = len(rows) if row else last
        cells += len(row)
        characters += sum(len(value) for value in row if isinstance(value, str))
        if len(rows) > MOST_ROWS or cells > MOST_CELLS or characters > MOST_BYTES:
            raise InputError(f"{path} is too large to be read as .xlsx; {_TOO_LARGE}")
    del rows[last:]
    width = max(map(len, rows), default=0)
    if len(rows) * width > MOST_CELLS:
        raise InputError(f"{path} is too large to be read as .xlsx; {_TOO_LARGE}")
    for row in rows:
        row += [None] * (width - len(row))
    return rows, errors


def _value(cell: Any, errors: list[str]) -> Any:
    value = cell.value
    if value is None or value == "":
        return None
    if cell.data_type == "e":
        errors.append(str(value))
        return None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, (int, datetime, date)) and not isinstance(value, bool):
        return value
    if isinstance(value, (time, timedelta)):
        return str(value)
    return str(value)


def _check_header(rows: _Rows, path: Path) -> None:
    """Refuse a first row that does not name every column.

    The first column may lack a name: as in CSV it may hold row numbers, and has its own message.
    """
    if not rows:
        raise InputError(f"the sheet of {path} is empty; its first row must name the columns")
    if all(name is None for name in rows[0]):
        raise InputError(
            f"the first row of the sheet in {path} is empty; delete the rows above the names of "
            "the columns"
        )
    for place, name in enumerate(rows[0]):
        if name is None and place:
            raise InputError(
                f"the cell {_letters(place)}1 of the sheet in {path} is empty, but the first row "
                "must name every column; part merged cells, delete rows above the names, or write "
                "a name there"
            )


def _write_in_formats(rows: _Rows, forms: Mapping[str, TextFormat], path: Path) -> None:
    """Write the numbers and dates of columns that a format will read in this format.

    Raises InputError where it would misread them.
    """
    for place, name in enumerate(map(_text, rows[0])):
        if name not in forms:
            _check_guess([row[place] for row in rows[1:]], name, path)
            continue
        for number, row in enumerate(rows[1:], 2):
            if not isinstance(row[place], (int, float, datetime, date)):
                continue
            text = _formatted(row[place], forms[name])
            if text is None:
                kind = "number" if isinstance(row[place], (int, float)) else "date"
                raise InputError(
                    f"column {name!r} is to be read by a format of text, but in {path} the cell "
                    f"{_letters(place)}{number} is a {kind}; leave out the format, or make all "
                    "cells of the column text"
                )
            row[place] = text


def _formatted(value: Any, form: TextFormat) -> str | None:
    """A number or a date as a format writes it; None if it would read another one."""
    if isinstance(value, (int, float)):
        text = repr(value).replace(".", form.decimal)
        if form.format:
            return text if isinstance(value, int) else None
        read = None if form.unit in _SHARES and value else form.plain_number(text)
        return text if read is not None and type(value)(read) == value else None
    if not form.format:
        return None
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    text = moment.strftime(form.format)
    return text if form.plain_date(text) == moment.isoformat() else None


def _check_guess(values: Sequence[Any], name: str, path: Path) -> None:
    """Refuse numbers that would be read otherwise: 12.345 is 12345 among texts such as 1.234,5."""
    grouped = [value for value in values if isinstance(value, float) and _GROUPS.match(str(value))]
    if not grouped or not any(isinstance(value, str) for value in values):
        return
    texts = dict.fromkeys(_text(value) for value in values if value is not None)
    readings = readings_of([*texts])
    if len(readings) == 1 and readings[0].form.thousands == ".":
        raise InputError(
            f"column {name!r} of {path} has numbers that are text, such as "
            f"{readings[0].example[0]!r}, and numbers, such as {grouped[0]!r}, which may not be "
            "read alike; make all cells of the column numbers"
        )


def _letters(place: int) -> str:
    """The name of a column in Excel, e.g. AB."""
    letters = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def _write(rows: _Rows) -> str:
    """The rows as CSV; dates have a time of day where any of their column has one."""
    names, *body = rows
    timed = [_has_times(row[place] for row in body) for place in range(len(names))]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_text, names))
    for row in body:
        writer.writerow(map(_text, row, timed))
    return text.getvalue()


def _has_times(values: Iterable[Any]) -> bool:
    return any(isinstance(value, datetime) and value.time() != time() for value in values)


def _text(value: Any, timed: bool = False) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(" ") if timed else value.date().isoformat()
    return repr(value) if isinstance(value, float) else str(value)
