"""Random small tables of every kind of value, and random questions about them."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa

from solver import ENCODINGS, SOLVERS, Limits, UnsupportedError
from solver.catalogue import OURS
from tests.contract.oracle import CUTTING, NUMBER, Asked, Column, exact, key_of, kind_of

Rng = np.random.Generator

_WHOLE = re.compile(r"[+-]?\d+")
_LEADING_ZERO = re.compile(r"[+-]?0\d")


@dataclass(frozen=True)
class Table:
    """A raw table, as its user has it.

    Parameters
    ----------
    columns : tuple of Column
    dtypes : tuple
        The pandas type of each column.
    target : tuple
        Labels, or numbers to predict.
    weights : tuple of int or float, optional
        One a row, 0 included.
    class_weight : dict, "balanced" or None
        What an estimator is given.
    """

    columns: tuple[Column, ...]
    dtypes: tuple[Any, ...]
    target: tuple[Any, ...]
    target_dtype: Any
    weights: tuple[Any, ...] | None = None
    regression: bool = False
    class_weight: Any = None

    @property
    def features(self) -> pd.DataFrame:
        """The table without its target."""
        return pd.DataFrame(
            {c.name: series(c.values, d) for c, d in zip(self.columns, self.dtypes, strict=True)}
        )

    @property
    def labels(self) -> pd.Series[Any]:
        """The target."""
        return series(self.target, self.target_dtype).rename("target")

    @property
    def frame(self) -> pd.DataFrame:
        """The table with its target."""
        return self.features.assign(target=self.labels)

    @property
    def overrides(self) -> dict[str, str]:
        """How the user wants columns to be read."""
        return {c.name: c.kind for c in self.columns if c.kind is not None}

    @property
    def exact_weights(self) -> list[Fraction]:
        """The weight of each row as it is written, times that of its class."""
        weights = [1] * len(self.target) if self.weights is None else self.weights
        labels = [key_of(label) for label in self.target]
        if self.class_weight == "balanced":
            sizes = Counter(labels)
            of_class = {own: Fraction(len(labels), len(sizes) * n) for own, n in sizes.items()}
        else:
            given = self.class_weight or {}
            of_class = {key_of(label): exact(weight) for label, weight in given.items()}
        pairs = zip(weights, labels, strict=True)
        return [exact(weight) * of_class.get(label, 1) for weight, label in pairs]

    def asked(self, encoding: str, **more: Any) -> Asked:
        """What a question asks of the rows that count."""
        weights = self.exact_weights
        kept = [row for row, weight in enumerate(weights) if weight]
        columns = [replace(c, values=tuple(c.values[r] for r in kept)) for c in self.columns]
        target = [self.target[row] for row in kept]
        if self.regression:
            target = [(Fraction(value),) for value in target]
        return Asked(
            columns, target, [weights[row] for row in kept], encoding,
            regression=self.regression, **more,
        )  # fmt: skip

    def write(self, path: Path) -> Table:
        """Write a file with the target and the weights, and tell what it then says."""
        frame = self.frame
        if self.weights is not None:
            frame["weight"] = list(self.weights)
        if path.suffix == ".parquet":
            if any(len({type(v) for v in c.values if v is not None}) > 1 for c in self.columns):
                raise TypeError("a column of Parquet has one type")
            frame.to_parquet(path)
            # Parquet keeps no type of categories but that of text.
            return replace(
                self, columns=tuple(replace(c, listed=_is_text(c)) for c in self.columns)
            )
        if path.suffix == ".xlsx":
            return self._write_sheet(path)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(frame.columns)
        weights = [()] * len(frame) if self.weights is None else [(w,) for w in self.weights]
        cells = [*(c.values for c in self.columns), self.target]
        for row, weight in zip(zip(*cells, strict=True), weights, strict=True):
            writer.writerow([_cell(value) for value in (*row, *weight)])
        path.write_text(text.getvalue())
        columns = [Column(c.name, _read(c.values), c.kind) for c in self.columns]
        return replace(self, columns=tuple(columns), target=_read(self.target))

    def _write_sheet(self, path: Path) -> Table:
        """Write a sheet; it says what openpyxl reads, which rounds floats to 16 digits."""
        weights = [()] * len(self.target) if self.weights is None else [(w,) for w in self.weights]
        cells = [*(c.values for c in self.columns), self.target]
        book = openpyxl.Workbook()
        names = [c.name for c in self.columns]
        book.active.append([*names, "target", *(["weight"] if self.weights is not None else [])])
        for row, weight in zip(zip(*cells, strict=True), weights, strict=True):
            book.active.append([_in_sheet(value) for value in (*row, *weight)])
        book.save(path)
        _, *read = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
        found = [tuple(map(_of_sheet, values)) for values in zip(*read, strict=True)]
        width = len(self.columns)
        columns = [
            Column(c.name, _read(values), c.kind)
            for c, values in zip(self.columns, found, strict=False)
        ]
        return replace(
            self, columns=tuple(columns), target=_read(found[width]),
            weights=None if self.weights is None else found[-1],
        )  # fmt: skip


def _in_sheet(value: Any) -> Any:
    """A value as a cell: a day is one, a moment is text, as a sheet has no nanoseconds."""
    return value.isoformat() if isinstance(value, dt.datetime) else value


def _of_sheet(value: Any) -> Any:
    """What a cell says: sheets have no whole floats, and a day is a moment."""
    if isinstance(value, dt.datetime):
        return value.date()
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if is_whole else value


def _is_text(column: Column) -> bool:
    return column.listed and all(isinstance(v, str | None) for v in column.values)


def series(values: Sequence[Any], dtype: Any) -> pd.Series[Any]:
    """A column of a table."""
    if dtype == "category":
        return pd.Series(pd.Categorical(list(values)))
    return pd.Series(list(values), dtype=dtype)


def _cell(value: Any) -> str:
    """A value as a text file has it."""
    if isinstance(value, dt.date):
        return value.isoformat()
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _read(values: Sequence[Any]) -> tuple[Any, ...]:
    """What the cells of a column say: text files have no types."""
    cells = [_cell(value) for value in values]
    present = [cell for cell in cells if cell]
    if set(present) <= {"True", "False"}:
        return tuple(cell == "True" if cell else None for cell in cells)
    if not all(map(NUMBER.fullmatch, present)) or any(map(_LEADING_ZERO.match, present)):
        return tuple(cell or None for cell in cells)
    numbers = [Decimal(cell) if cell else None for cell in cells]
    if all(map(_WHOLE.fullmatch, cells)):
        return tuple(numbers)
    kept = len({*map(float, present)}) == len({*map(Decimal, present)}) and all(
        int(cell) == float(cell) for cell in present if _WHOLE.fullmatch(cell)
    )
    return tuple(numbers if kept else (cell or None for cell in cells))


def pick(rng: Rng, choices: Sequence[Any]) -> Any:
    """One of some things, which stays what it is."""
    return choices[int(rng.integers(len(choices)))]


def _neighbours(value: float) -> list[float]:
    return [math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf)]


_DECIMALS: list[float] = [
    0.1, 0.2, 0.3, 0.1 + 0.2, 1 / 3, 2 / 3, 1.5, 2.5, 3.5, -0.5, 0.0, -0.0, 1e-9, 1e9, 1e300,
    5e-324,
    *_neighbours(1e9 + 0.5), *_neighbours(0.7), 123456.789, 123456.78900000001,
]  # fmt: skip
_MOMENT = 1_700_000_000_123_456_789
_DAYS = [dt.date(2019, 12, 31), dt.date(2020, 1, 1), dt.date(2020, 2, 29), dt.date(1969, 7, 20)]
_TEXTS = ["a", "b", "B", "missing", "ü", "a b", "x=1", "≤", "yes", "5more", "1.0x"]


_EXACT = ("0.1", "0.10", "0.3", "0.30000000000000001", "2", "1e3")
_BIG = [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, -(2**53) - 1, 2**62, 2**62 + 1]
_HUGE = [2**64, 2**64 + 1, 10**30, 10**30 + 1, 3]
_LISTED: list[list[Any]] = [["a", "b", "c"], [1, 2, 3], [0.1, 0.2, 0.1 + 0.2], [True, False]]


def _moments(rng: Rng) -> list[pd.Timestamp]:
    step = pick(rng, [1, 7, 50, 1_000, 10**6, 86_400 * 10**9])
    return [pd.Timestamp(_MOMENT + step * i, unit="ns") for i in range(-3, 4)]


class Kind(NamedTuple):
    """A kind of column: a pool of values, pandas' types for them, and what users say of them."""

    pool: Sequence[Any]
    dtypes: Sequence[Any]
    wishes: Sequence[str | None] = (None,)


_ANY = (None, None, "number", "category")
_MOSTLY = ("category", "category", None, "number")
"""Numbers beyond floats are refused as numbers."""


def _kinds(rng: Rng) -> list[Kind]:
    """All kinds of columns."""
    moments = _moments(rng)
    return [
        Kind(_DECIMALS, ["float64"], _ANY),
        Kind([i / 10 for i in range(9)], ["float64"]),
        Kind([1.0, 2.0, 3.0, -0.0, 0.0, 2.0**53, 2.0**53 + 2], ["float64"], _ANY),
        Kind(range(3), ["int64"]),
        Kind(range(15), ["int64"]),
        Kind([0, 1, 2, 3, -7, 2**40], ["Int64"], _ANY),
        Kind(_BIG, ["int64", "Int64"], _MOSTLY),
        Kind([2**63, 2**63 + 1, 2**64 - 1, 0], ["uint64"], _MOSTLY),
        Kind([*_BIG, *_HUGE], ["object"], _ANY),
        Kind([*map(str, [*_BIG, *_HUGE]), "1", "1.0", "01", "1.5"], ["object"], _ANY),
        Kind([Decimal(text) for text in _EXACT], ["object"], _ANY),
        Kind([True, False], ["bool", "object", "boolean"]),
        Kind(_TEXTS, ["object", "str"]),
        Kind([True, 1, False, 0, 1.0, 2], ["object"], _ANY),
        Kind([1, "1", 1.0, "a", 2.5, True, "True", "missing", "1.0"], ["object"], _ANY),
        *(Kind(pool, ["category"]) for pool in _LISTED),
        Kind(moments, ["datetime64[ns]"], (None, None, "date", "category")),
        Kind(_DAYS, ["object"], (None, "date")),
        Kind([moment.isoformat() for moment in moments], ["object"], ("date", None)),
    ]


def _column(rng: Rng, n: int) -> tuple[list[Any], Any, str | None]:
    """Values, pandas' type, and what the user says of them."""
    kind = pick(rng, _kinds(rng))
    few = [pick(rng, kind.pool) for _ in range(int(rng.integers(1, min(n, 6) + 2)))]
    values, dtype = [pick(rng, few) for _ in range(n)], pick(rng, kind.dtypes)
    if dtype not in ("int64", "uint64", "bool") and rng.random() < 0.3:
        values = [None if rng.random() < 0.3 else value for value in values]
    return values, dtype, pick(rng, kind.wishes)


_LABELS: list[tuple[list[Any], Any]] = [
    (["a", "b"], "object"), (["a", "b", "c"], "str"), ([0, 1], "int64"), ([0, 1, 2], "int64"),
    ([True, False], "bool"), (["x", "y", "z"], "category"), ([1.0, 2.0], "float64"),
    (["0", "1"], "object"), ([2**53, 2**53 + 1, 5], "int64"),
]  # fmt: skip
_HARD_LABELS: list[tuple[list[Any], Any]] = [
    ([True, 1, 0], "object"), ([2**53, 2**53 + 1, 5], "object"), (["1.0", "1", "True"], "object"),
]  # fmt: skip


_WEIGHTS = [
    "none", "none", "none", "none", "whole", "whole", "tenths", "tenths", "thirds", "wide",
    "wide", "wide digits", "big",
]  # fmt: skip


def _weights(rng: Rng, n: int) -> tuple[Any, ...] | None:
    kind = pick(rng, _WEIGHTS)
    if kind == "none":
        return None
    makers: dict[str, Callable[[], Any]] = {
        "whole": lambda: int(rng.integers(0, 6)),
        "tenths": lambda: int(rng.integers(0, 30)) / 10,
        "thirds": lambda: int(rng.integers(0, 9)) / 3,
        "wide": lambda: float(f"{10 ** rng.uniform(-9, 9):.2g}"),
        "wide digits": lambda: float(10 ** rng.uniform(-9, 9)),
        "big": lambda: int(rng.integers(1, 10**9)),
    }
    found = tuple(makers[kind]() for _ in range(n))
    return found if any(found) else None


def random_table(rng: Rng, *, regression: bool = False, weighted: bool = True) -> Table:
    """A table of 1 to 12 rows and 1 to 3 columns."""
    n = int(rng.integers(1, 13)) if rng.random() < 0.3 else int(rng.integers(3, 9))
    made = [_column(rng, n) for _ in range(int(rng.integers(1, 4)))]
    columns = tuple(
        Column(f"c{i}", tuple(values), wish, dtype == "category")
        for i, (values, dtype, wish) in enumerate(made)
    )
    labels, label_dtype = pick(rng, _LABELS if rng.random() < 0.9 else _HARD_LABELS)
    target = [pick(rng, labels) for _ in range(n)]
    if n > 1 and rng.random() < 0.95:  # a single class is refused
        target[:2] = labels[:2]
    if regression:
        target, label_dtype = [float(f"{rng.normal() * 10:.3g}") for _ in range(n)], "float64"
    return Table(
        columns=columns,
        dtypes=tuple(dtype for _, dtype, _ in made),
        target=tuple(target),
        target_dtype=label_dtype,
        weights=_weights(rng, n) if weighted else None,
        regression=regression,
    )


_CLASS_WEIGHTS = [1, 2, 5, 0.5, 0.1, 2.75, 1 / 3, 0, 10**6]


def with_class_weight(rng: Rng, table: Table) -> Table:
    """The table, often with weights of classes, of all of them or of some."""
    labels = [*{key_of(label): label for label in table.target}.values()]
    if table.regression or rng.random() < 0.6:
        return table
    if rng.random() < 0.4:
        return replace(table, class_weight="balanced")
    given = {label: pick(rng, _CLASS_WEIGHTS) for label in labels if rng.random() < 0.8}
    return replace(table, class_weight=given)


def random_lambda(rng: Rng, *, text: bool = False) -> Any:
    """A price of a split, in any form that is documented."""
    size = float(10 ** rng.uniform(-3, 0)) / 2
    digits = int(rng.integers(1, 18))
    choices: list[Any] = [
        f"{size:.{digits}g}",
        f"{size:.2g}",
        "0",
        "0.01",
        "1/3",
        "1/7",
        "0.05",
        "1/958",
    ]
    if not text:
        choices += [
            0.1 + 0.2,
            0.1,
            0,
            size,
            Fraction(1, 3),
            Fraction(1, 12),
            Fraction(2, 997),
            0.01,
        ]
    return pick(rng, choices)


def exact_lambda(lam: Any, rows: int) -> Fraction:
    """λ as it is written; ``2/n`` is two rows' worth."""
    if isinstance(lam, str) and lam.endswith("/n"):
        return exact(Decimal(lam[:-2])) / rows
    return exact(lam)


@dataclass(frozen=True)
class Question:
    """What is asked about a table, and of whom.

    Parameters
    ----------
    limits : dict
        ``depth``, ``splits``, ``min_leaf_size`` and ``nodes``, those that are given.
    """

    solver: str
    encoding: str
    lam: Any
    limits: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    encoding_options: dict[str, Any] = field(default_factory=dict)


def least_leaf(rng: Rng, weights: Sequence[Fraction], *, whole: bool) -> Any:
    """A limit on the size of a leaf, often just what some rows weigh."""
    size = sum((w for w in weights if rng.random() < 0.4), Fraction(0))
    if whole:
        return min(math.ceil(size), 2**59)
    return pick(rng, [float(size), float(size), math.ceil(size), 0.5, 2])


def random_question(
    rng: Rng, table: Table, *, solver: str | None = None, text: bool = False,
    whole: bool = True, by_rows: bool = False,
) -> Question:  # fmt: skip
    """A question that the solver's description allows.

    Parameters
    ----------
    solver : str, optional
    text : bool
        Whether λ must be text.
    whole : bool
        Whether a least size of a leaf must be a whole number.
    by_rows : bool
        Whether λ may be the worth of some rows, ``2/n``.
    """
    task = "regression" if table.regression else "classification"
    able = [name for name in OURS if task in SOLVERS[name].capabilities.tasks]
    kind = SOLVERS[solver or pick(rng, [*able, next(iter(able))])]
    features = {"continuous"} if table.regression else kind.capabilities.features
    encoding = pick(rng, [e for e in ENCODINGS.values() if e.feature_kind in features])
    limits: dict[str, Any] = {}
    for name in sorted(kind.capabilities.limits):
        if name in kind.capabilities.needs or rng.random() < 0.3:
            least = int(rng.random() > 0.1)
            limits[name] = int(rng.integers(least, 4))
            if name == "min_leaf_size":
                limits[name] = least_leaf(rng, table.exact_weights, whole=whole)
    options = _options(rng, kind.options)
    for name in sorted(limits.keys() - kind.capabilities.needs):
        given = Limits(**{n: limits[n] for n in (name, *kind.capabilities.needs)})
        try:  # a task or an option may rule it out
            kind.check_task(encoding.feature_kind, None, given, task, options)
        except UnsupportedError:
            del limits[name]
    if options or rng.random() < 0.05:
        # What an option switches off may be all that makes a search short.
        limits["nodes"] = 2000 if options else int(rng.integers(0, 30))
    how = {
        name: int(rng.integers(option.minimum, 6))
        for name, option in encoding.options.items()
        if rng.random() < 0.7
    }
    lam = random_lambda(rng, text=text)
    if by_rows and table.weights is None and rng.random() < 0.1:
        lam = pick(rng, ["1/n", "0.5/n", "2/n"])
    return Question(kind.name, encoding.name, lam, limits, options, how)


def _options(rng: Rng, known: Mapping[str, Any]) -> dict[str, Any]:
    """Mostly none; else another value of one of those that list their values."""
    choices = [
        {name: value}
        for name, option in known.items()
        for value in option.allowed or ()
        if value != option.default
    ]
    return pick(rng, choices) if choices and rng.random() < 0.3 else {}


def readable(rng: Rng, table: Table, question: Question) -> Table:
    """The table, mostly with its numbers read as categories where the encoding cuts none."""
    if question.encoding in CUTTING or rng.random() < 0.1:
        return table
    columns = [
        replace(c, kind="category") if kind_of(c, False) in ("number", "date") else c
        for c in table.columns
    ]
    return replace(table, columns=tuple(columns))


def writable(table: Table, path: Path) -> Table | None:
    """The table as its file says it; None where the format cannot hold such values."""
    try:
        return table.write(path)
    except (pa.ArrowException, TypeError, OverflowError):
        return None
