"""How text writes numbers and dates: ``29,755``, ``1.234,5 €``, ``23%``, ``31/07/2020``."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any

from solver.errors import InputError
from solver.features.category_values import Category, written

MISSING_MARKS = frozenset(
    ("?", "??", "-", "--", "---", ".", "*", "/", "n/a", "na", "n.a.", "nan", "null", "none", "nil")
    + ("missing", "unknown", "not available", "#n/a", "#ref!", "#value!", "#div/0!", "tbd")
)
"""Texts that stand for a missing value in many tables, in lower case."""

_SPACES = "\u00a0\u202f\u2009"
"""Spaces in numbers that are not the plain one; they count as it."""

_DATES = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y",
    "%d/%m/%y", "%m/%d/%y", "%y/%m/%d", "%d.%m.%y", "%y.%m.%d", "%d %b %Y", "%d %B %Y",
    "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d-%b-%y",
)  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S")

_SIGNS = (".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", " "), (".", "'")
"""The decimal sign of numbers, and what groups their thousands."""


@dataclass(frozen=True)
class TextFormat:
    """How the text of a column writes numbers or dates; by default as Python and ISO 8601 do.

    Parameters
    ----------
    decimal : str
        The decimal sign.
    thousands : str
        What groups the digits before it by three; nothing by default. A space stands for all
        kinds of spaces.
    unit : str
        What may stand before or after a number and does not count: ``%`` (23% is 23), ``€``.
    format : str
        The format of dates as in :meth:`datetime.datetime.strptime`, e.g. ``%d/%m/%Y``.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    format: str = ""

    def __bool__(self) -> bool:
        return self != PLAIN

    def to_dict(self) -> dict[str, str]:
        """As plain data without defaults."""
        return {name: value for name, value in asdict(self).items() if value != asdict(PLAIN)[name]}

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any], where: str) -> TextFormat:
        """From those keys of a mapping that are fields of a format.

        Raises InputError if a value is none that a format may have.
        """
        given = {field.name: data[field.name] for field in fields(cls) if field.name in data}
        for name, value in given.items():
            if not isinstance(value, str) or (name != "unit" and not value):
                raise InputError(f"{where}: {name} = {value!r} must be text, e.g. {_EXAMPLE[name]}")
            if name in ("decimal", "thousands") and (len(value) > 1 or value.isalnum()):
                raise InputError(
                    f"{where}: {name} = {value!r} must be one sign, e.g. {_EXAMPLE[name]}"
                )
        form = cls(**given)
        if form.decimal == form.thousands:
            raise InputError(f"{where}: decimal and thousands are both {form.decimal!r}")
        if form.format:
            try:
                dt.datetime.strptime(dt.datetime(2020, 7, 31).strftime(form.format), form.format)
            except ValueError:
                raise InputError(
                    f"{where}: format = {form.format!r} is no format of dates; write e.g. "
                    f"{_EXAMPLE['format']}"
                ) from None
        return form

    def plain_number(self, text: str) -> str | None:
        """The number that a text writes in this format, as Python writes it; None if it writes
        none."""
        bare = text.strip()
        for space in _SPACES:
            bare = bare.replace(space, " ")
        found = self._number.fullmatch(bare)
        if not found or not (found["whole"] or found["fraction"]):
            return None
        whole = found["whole"].replace(self.thousands, "") if self.thousands else found["whole"]
        fraction = f".{found['fraction']}" if found["fraction"] else ""
        sign = found["sign"] or found["inner"] or ""
        return f"{sign}{whole or '0'}{fraction}{found['exponent'] or ''}"

    @cached_property
    def _number(self) -> re.Pattern[str]:
        unit = rf"(?:{re.escape(self.unit)})?" if self.unit else ""
        digits = r"\d+"
        if self.thousands:
            digits = rf"(?:\d{{1,3}}(?:{re.escape(self.thousands)}\d{{3}})+|\d+)"
        return re.compile(
            rf"(?P<sign>[+-])?\s*{unit}\s*(?P<inner>[+-])?(?P<whole>{digits})?"
            rf"(?:{re.escape(self.decimal)}(?P<fraction>\d*))?(?P<exponent>[eE][+-]?\d+)?\s*{unit}"
        )

    def plain_date(self, text: str) -> str | None:
        """The moment that a text writes in this format, in ISO 8601; None if it writes none."""
        try:
            return dt.datetime.strptime(text.strip(), self.format).isoformat()
        except ValueError:
            return None

    def describe(self) -> str:
        """The format in words, e.g. ``with decimal sign ','``."""
        words = {
            "decimal": "decimal sign {!r}", "thousands": "{!r} between thousands",
            "unit": "unit {!r}", "format": "format {}",
        }  # fmt: skip
        said = [words[name].format(value) for name, value in self.to_dict().items()]
        return " and ".join(said)


PLAIN = TextFormat()
_EXAMPLE = {"decimal": "','", "thousands": "'.'", "unit": "'%'", "format": "'%d/%m/%Y'"}


@dataclass(frozen=True)
class Reading:
    """One way to read the texts of a column that are numbers or dates but for some."""

    kind: str  # number or date
    form: TextFormat
    missing: tuple[str, ...]  # texts that stand for a missing value
    example: tuple[str, str]  # a text, and what it is in this reading

    def override(self) -> dict[str, Any]:
        """The entry under ``columns`` that asks for it."""
        missing = {"missing": list(self.missing)} if self.missing else {}
        return {"kind": self.kind, **self.form.to_dict(), **missing}


def readings_of(texts: Sequence[str]) -> list[Reading]:
    """All ways to read distinct texts as numbers, else as dates, that give different values.

    Texts of :data:`MISSING_MARKS` count as missing. One reading is certain; several are ambiguous:
    ``1,234`` is a thousand or one and a bit. Numbers with leading zeros are names, not numbers.
    """
    marks = tuple(sorted(text for text in texts if text.strip().lower() in MISSING_MARKS))
    rest = [text for text in texts if text not in marks]
    found: list[Reading] = []
    known: list[list[str]] = []
    for kind, form, values in _candidates(rest) if rest else ():
        if found and found[0].kind != kind:
            break
        if values not in known:
            known.append(values)
            found.append(Reading(kind, form, marks, ("", "")))
        if not form:
            break  # as Python writes numbers: nobody asks whether 1.234 is a thousand
    if not found:
        return []
    # The best example is a text that every reading takes for another value.
    different = [
        (len(set(values)), values[0] != text) for text, *values in zip(rest, *known, strict=True)
    ]
    best = different.index(max(different))
    return [
        replace(reading, example=(rest[best], values[best]))
        for reading, values in zip(found, known, strict=True)
    ]


def overrides_of(
    kind: str, texts: Sequence[str], missing: Sequence[Category] = ()
) -> list[dict[str, Any]]:
    """The entries under ``columns`` that read distinct texts as numbers or as dates, if all are
    written in one way that is not the usual one; none otherwise. ``missing`` are further marks."""
    found = [one for one in readings_of(texts) if one.kind == kind and one.form]
    marks = [[*missing, *one.missing] for one in found]
    return [
        {**one.override(), **({"missing": own} if own else {})}
        for one, own in zip(found, marks, strict=True)
    ]


def doubt(reading: Reading, texts: Iterable[str]) -> tuple[str, str] | None:
    """What makes the only reading of distinct texts uncertain, and what to do; None if nothing
    does.

    If only some numbers have a percent sign, 0.5 may be a half. Of years of two digits, Python
    takes those up to 68 for 20xx, Excel those up to 29, so nobody knows what 30 to 68 mean. Where
    the longest gap between years is elsewhere, as in ``31/12/25`` and ``31/12/85``, the first is
    most likely earlier.
    """
    rest = [text for text in texts if text not in reading.missing]
    if reading.form.unit in ("%", "‰"):
        with_sign = [text for text in rest if reading.form.unit in text]
        bare = [
            text
            for text in rest
            if reading.form.unit not in text and Decimal(reading.form.plain_number(text) or 0)
        ]
        if not bare:
            return None
        return f"{bare[0]!r} and {with_sign[0]!r}: one may be a share", "write them alike"
    if "%y" not in reading.form.format:
        return None
    years = {int((reading.form.plain_date(text) or text)[:4]): text for text in rest}
    known = sorted(years)
    if known[-1] > _LAST_CERTAIN_YEAR:
        year = known[-1]
        return (
            f"years of two digits: {years[year]!r} may be in {year} or in {year - 100}",
            "write four digits",
        )
    gap, before = max(((b - a, a) for a, b in pairwise(known)), default=(0, known[0]))
    if gap <= known[0] + 100 - known[-1]:
        return None
    after = known[known.index(before) + 1]
    return (
        f"years of two digits: {years[before]!r} would be in {before} and {years[after]!r} in "
        f"{after}",
        "write four digits",
    )


def odd_texts(texts: Sequence[str]) -> tuple[str, TextFormat, list[str]] | None:
    """The texts that are no numbers, or no dates, if nine in ten are, and most likely all should
    be; with the kind and the format of the others.

    None if all are, or if formats that give different values fit equally many.
    """
    some = texts[:: max(1, len(texts) // _SAMPLE)]
    units = Counter(sign for text in some if (sign := _unit_of([text])))
    forms = _forms(max(units, key=lambda sign: units[sign], default=""))
    likely = [pair for pair in forms if 2 * len(_unread(*pair, some)) <= len(some)]
    found = [(kind, form, _unread(kind, form, texts)) for kind, form in likely]
    kind, form, odd = min(found, key=lambda one: len(one[2]), default=("", PLAIN, []))
    if not 0 < 10 * len(odd) <= len(texts):
        return None
    if form:  # else it is how Python writes numbers
        strange = {*odd}
        rest = [text for text in texts if text not in strange]
        equal = [pair[:2] for pair in found if len(pair[2]) == len(odd)]
        if len({tuple(_read_all(*pair, rest) or ()) for pair in equal}) > 1:
            return None
    return kind, form, odd


def _unread(kind: str, form: TextFormat, texts: Iterable[str]) -> list[str]:
    return [text for text in texts if _read_all(kind, form, [text]) is None]


def mixed_decimals(texts: Iterable[str]) -> dict[str, list[str]] | None:
    """The texts that write a number with one decimal sign only, ``.`` or ``,``, by that sign.

    None if a text writes no number, but for marks of missing values, or all may have one sign.
    """
    rest = [text for text in texts if text.strip().lower() not in MISSING_MARKS]
    unit = _unit_of(rest)
    forms = [(decimal, TextFormat(decimal, group, unit)) for decimal, group in _SIGNS]
    found: dict[str, list[str]] = {".": [], ",": []}
    for text in rest:
        ways = {sign for sign, form in forms if _read_all("number", form, [text])}
        if not ways:
            return None
        if len(ways) == 1:
            found[ways.pop()].append(text)
    return found if all(found.values()) else None


def _candidates(texts: Sequence[str]) -> Iterator[tuple[str, TextFormat, list[str]]]:
    """Formats in which every text writes a number or a date, with what they write."""
    for kind, form in _forms(_unit_of(texts)):
        values = _read_all(kind, form, texts)
        if values is not None:
            yield kind, form, values


def _forms(unit: str) -> list[tuple[str, TextFormat]]:
    """The formats that are tried, with their kinds."""
    numbers = [("number", TextFormat(decimal, group, unit)) for decimal, group in _SIGNS]
    return numbers + [("date", TextFormat(format=day + time)) for day in _DATES for time in _TIMES]


def _read_all(kind: str, form: TextFormat, texts: Iterable[str]) -> list[str] | None:
    """What each text writes as a plain number or moment, or None if one writes none."""
    values = []
    for text in texts:
        value = form.plain_number(text) if kind == "number" else form.plain_date(text)
        if value is None or (kind == "number" and _LEADING_ZERO.match(value)):
            return None
        values.append(str(written(value)))
    return values


_SAMPLE = 100
_LAST_CERTAIN_YEAR = 2029
_LEADING_ZERO = re.compile(r"[+-]?0\d")
_UNIT = re.compile(r"[+-]?\s*(\D??)\s*[+-]?[\d.,'\s]*\d\s*(\D??)")


def _unit_of(texts: Iterable[str]) -> str:
    """The percent sign or currency that stands before or after some of the numbers, if any."""
    signs: set[str] = set()
    for text in texts:
        found = _UNIT.fullmatch(text.strip())
        if not found:
            return ""
        signs |= {sign for sign in found.groups() if sign and sign not in "+-.,'"}
    sign = next(iter(signs), "")
    is_unit = sign in ("%", "‰") or unicodedata.category(sign or " ") == "Sc"
    return sign if len(signs) == 1 and is_unit else ""
