"""The oracle of the contract: the best tree of a raw table, by the words of the documentation.

It reads the raw Python values, counts in fractions, and looks at every tree. It shares no code with
the product: nothing of the three floors may be imported here.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import pandas as pd

Key: TypeAlias = tuple[str, Any]
"""What a value is: its kind, and the value in a form whose equality is exact."""

Parts: TypeAlias = tuple[int, ...]
"""What a split does: a set of rows for each branch, as the bits of a number."""

CUTTING = ("thresholds", "quantiles", "mdlp", "continuous")
"""Encodings that cut numbers."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
"""A text that writes a number."""

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Column:
    """A raw column.

    Parameters
    ----------
    name : str
    values : tuple
        Python's values; None where one is missing.
    kind : str, optional
        What the user says that it is: ``category``, ``number`` or ``date``.
    listed : bool
        Whether it is of pandas' type of categories.
    """

    name: str
    values: tuple[Any, ...]
    kind: str | None = None
    listed: bool = False


def exact(value: Any) -> Fraction:
    """A number as it is written: a float stands for its shortest decimal, ``True`` for 1."""
    if value in ("True", "False"):
        return Fraction(value == "True")
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def nanoseconds(value: Any) -> int:
    """A date, a moment, or the text of one, in nanoseconds since 1970 UTC."""
    if isinstance(value, pd.Timestamp):
        return int(value.as_unit("ns").value)
    if isinstance(value, str):
        stamp, _, digits = value.partition(".")
        return nanoseconds(dt.datetime.fromisoformat(stamp)) + int(digits.ljust(9, "0"))
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    since = (value if value.tzinfo else value.replace(tzinfo=dt.UTC)) - _EPOCH
    return ((since.days * 86400 + since.seconds) * 10**6 + since.microseconds) * 1000


def key_of(value: Any) -> Key:
    """What a category is; two rows have the same one exactly if these are equal."""
    if value is None:
        return "missing", None
    if isinstance(value, str):
        return "text", value
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, dt.date):
        return "date", nanoseconds(value)
    return "number", exact(value)


def kind_of(column: Column, cuts: bool) -> str:
    """How a column is read: ``category``, ``number``, ``date`` or ``mixed``, whose texts count as
    the values that they write."""
    kinds = {key_of(value)[0] for value in column.values} - {"missing"}
    if column.kind in ("number", "date"):
        return column.kind
    if len(kinds) > 1:
        return "mixed"
    if column.kind == "category" or column.listed:
        return "category"
    if kinds == {"date"}:
        return "date"
    if kinds != {"number"}:
        return "category"
    numbers = {exact(value) for value in column.values if value is not None}
    few = all(number.denominator == 1 for number in numbers) and len(numbers) <= 10
    return "category" if few and not cuts else "number"


def _written(value: Any) -> Key:
    """What a value of a mixed column writes."""
    if isinstance(value, str) and NUMBER.fullmatch(value):
        return "number", Fraction(value)
    return ("bool", value == "True") if value in ("True", "False") else key_of(value)


def places_of(column: Column, kind: str) -> list[Fraction | None]:
    """Where the rows lie on the line of a column of numbers or dates; None for missing."""
    place: Callable[[Any], Fraction] = exact
    if kind == "date":
        place = lambda value: Fraction(nanoseconds(value))  # noqa: E731
    return [None if value is None else place(value) for value in column.values]


def mask(rows: Iterable[int]) -> int:
    """A set of rows as the bits of a number."""
    return sum(1 << row for row in rows)


@dataclass(frozen=True)
class Asked:
    """What is asked of a table: everything but λ and the number of splits.

    Parameters
    ----------
    columns : sequence of Column
        The features.
    target : sequence
        Labels; of regression a tuple of fractions for each row.
    weights : sequence of Fraction
        All above 0.
    encoding : str
    k : int
        Of ``quantiles``.
    depth : int, optional
    min_leaf : Fraction, optional
        In the unit of the weights.
    """

    columns: Sequence[Column]
    target: Sequence[Any]
    weights: Sequence[Fraction]
    encoding: str
    k: int = 4
    depth: int | None = None
    min_leaf: Fraction | None = None
    regression: bool = False


def ranks_of(key: Key) -> tuple[Any, ...]:
    """The documented order of categories: numbers, False, True, text, and missing last."""
    return ("number", "bool", "date", "text", "missing").index(key[0]), key[1]


def splits_of(asked: Asked) -> list[Parts]:
    """Every different way in which a split of the encoding can part the rows."""
    found: list[Parts] = []
    for column in asked.columns:
        kind = kind_of(column, asked.encoding in CUTTING)
        if kind in ("number", "date") and asked.encoding in CUTTING:
            found += _cuts(asked, places_of(column, kind))
        else:
            read = _written if kind == "mixed" else key_of
            found += _category_splits(asked.encoding, [read(value) for value in column.values])
    return list({frozenset(parts): parts for parts in found}.values())


def _category_splits(encoding: str, keys: list[Key]) -> list[Parts]:
    everything = mask(range(len(keys)))
    groups = {
        key: mask(row for row, other in enumerate(keys) if other == key)
        for key in sorted(set(keys), key=ranks_of)
    }
    if encoding == "categorical":
        return [tuple(groups.values())]
    sets = list(groups.values())
    if encoding == "onehot-drop-first":
        del sets[0]
    if encoding == "onehot-drop-last":
        del sets[-1]
    return [(rows, everything & ~rows) for rows in sets]


def _cuts(asked: Asked, places: list[Fraction | None]) -> list[Parts]:
    everything = mask(range(len(places)))
    distinct = sorted({place for place in places if place is not None})
    chosen: Sequence[int] = range(len(distinct) - 1)
    if asked.encoding == "quantiles":
        chosen = _quantiles(asked, places, distinct)
    if asked.encoding == "mdlp":
        chosen = _mdlp(asked, places, distinct)
    found = []
    for cut in chosen:
        # A missing number counts as below every cut.
        below = mask(r for r, p in enumerate(places) if p is None or p <= distinct[cut])
        found.append((below, everything & ~below))
    if None in places:
        lacking = mask(row for row, place in enumerate(places) if place is None)
        found.append((lacking, everything & ~lacking))
    return found


def _quantiles(
    asked: Asked, places: list[Fraction | None], distinct: list[Fraction]
) -> Sequence[int]:
    """For each j/k the cut whose share of rows below is nearest, the lower one at a tie."""
    known = [(p, w) for p, w in zip(places, asked.weights, strict=True) if p is not None]
    total = sum((w for _, w in known), Fraction(0))
    shares = [sum((w for p, w in known if p <= value), Fraction(0)) / total for value in distinct]
    if len(distinct) < 2:
        return []
    return sorted(
        {
            min(range(len(distinct) - 1), key=lambda i, j=j: (abs(shares[i] - j), i))
            for j in (Fraction(j, asked.k) for j in range(1, asked.k))
        }
    )


def _mdlp(asked: Asked, places: list[Fraction | None], distinct: list[Fraction]) -> Sequence[int]:
    """Fayyad and Irani's cuts, the lowest of equally good ones; weights count as rows."""
    labels = sorted({key_of(label) for label in asked.target})
    rows = list(zip(places, asked.target, asked.weights, strict=True))

    def counts(first: int, end: int) -> list[int]:
        inside = [(key_of(t), w) for p, t, w in rows if p in distinct[first:end]]
        return [int(sum(w for label, w in inside if label == one)) for one in labels]

    def bits(numbers: list[int]) -> float:
        total = sum(numbers)
        return -sum(n * math.log2(n / total) for n in numbers if n)

    found: list[int] = []
    pending = [(0, len(distinct))]
    while pending:
        first, end = pending.pop()
        if end - first < 2:
            continue
        whole, weight = counts(first, end), sum(counts(first, end))
        sums = {c: bits(counts(first, c)) + bits(counts(c, end)) for c in range(first + 1, end)}
        cut = min(c for c in sums if sums[c] <= min(sums.values()) + 1e-9 * weight)
        parts = [whole, counts(first, cut), counts(cut, end)]
        classes = [sum(map(bool, part)) for part in parts]
        terms = [k * bits(part) / sum(part) for k, part in zip(classes, parts, strict=True)]
        cost = math.log2(weight - 1) + math.log2(3 ** classes[0] - 2)
        cost -= terms[0] - terms[1] - terms[2]
        if (bits(whole) - sums[cut]) / weight > cost / weight + 1e-9:
            found.append(cut - 1)
            pending += [(first, cut), (cut, end)]
    return sorted(found)


class Oracle:
    """The least errors of all trees of each number of splits.

    Parameters
    ----------
    asked : Asked

    Attributes
    ----------
    total : Fraction
        Weight of all rows.
    errors : list of Fraction or None
        By number of splits: the least misclassified weight (or squared error) of the trees of at
        most so many splits.
    """

    def __init__(self, asked: Asked) -> None:
        self.total = sum(asked.weights, Fraction(0))
        unit = math.lcm(*(w.denominator for w in asked.weights))
        weights = [int(w * unit) for w in asked.weights]
        least = math.ceil((asked.min_leaf or 0) * unit)
        splits = splits_of(asked)
        everything = mask(range(len(weights)))
        loss = _squares(asked, weights) if asked.regression else _mistakes(asked, weights)

        @cache
        def weigh(rows: int) -> int:
            return sum(w for row, w in enumerate(weights) if rows >> row & 1)

        @cache
        def best(rows: int, depth: int | None) -> tuple[Any, ...]:
            """By number of splits; empty if no tree has leaves that are large enough."""
            if weigh(rows) < least and rows != everything:
                return ()
            errors = [loss(rows)]
            if depth == 0 or errors[0] == 0:
                return tuple(errors)
            seen: set[frozenset[int]] = set()
            for split in splits:
                parts = [part & rows for part in split if part & rows]
                if len(parts) < 2 or frozenset(parts) in seen:
                    continue
                seen.add(frozenset(parts))
                below: tuple[Any, ...] = (0,)
                for part in parts:
                    below = _together(below, best(part, None if depth is None else depth - 1))
                for number, least_errors in enumerate(below, 1):
                    if number == len(errors):
                        errors.append(errors[-1])
                    errors[number] = min(errors[number], least_errors)
            for number in range(1, len(errors)):
                errors[number] = min(errors[number], errors[number - 1])
            while len(errors) > 1 and errors[-1] == errors[-2]:
                errors.pop()
            return tuple(errors)

        self.errors = [Fraction(e) / unit for e in best(everything, asked.depth)]

    def optimum(self, lam: Fraction, most: int | None = None) -> Fraction:
        """The least objective at a λ of the trees of at most so many splits."""
        return min(
            errors / self.total + lam * splits
            for splits, errors in enumerate(self.errors)
            if most is None or splits <= most
        )

    def corners(self, most: int | None = None) -> list[Fraction]:
        """Every λ at which two numbers of splits are equally good, and one beyond all."""
        points = [point for point in enumerate(self.errors) if most is None or point[0] <= most]
        found = {
            (e - f) / self.total / (t - s)
            for i, (s, e) in enumerate(points)
            for t, f in points[i + 1 :]
        }
        ends = [Fraction(0), *sorted(found)]
        return [*ends, *((a + b) / 2 for a, b in pairwise(ends)), ends[-1] + 1]


def _together(some: tuple[Any, ...], others: tuple[Any, ...]) -> tuple[Any, ...]:
    """The least errors of one tree here and one there, by their number of splits."""
    if not some or not others:
        return ()
    return tuple(
        min(
            some[here] + others[number - here]
            for here in range(len(some))
            if 0 <= number - here < len(others)
        )
        for number in range(len(some) + len(others) - 1)
    )


def _mistakes(asked: Asked, weights: list[int]) -> Callable[[int], int]:
    labels: dict[Key, int] = {}
    for row, label in enumerate(asked.target):
        labels[key_of(label)] = labels.get(key_of(label), 0) | 1 << row

    def weigh(rows: int) -> int:
        return sum(w for row, w in enumerate(weights) if rows >> row & 1)

    return lambda rows: weigh(rows) - max(weigh(rows & own) for own in labels.values())


def _squares(asked: Asked, weights: list[int]) -> Callable[[int], Fraction]:
    def loss(rows: int) -> Fraction:
        inside = [(w, asked.target[r]) for r, w in enumerate(weights) if rows >> r & 1]
        weight, total = sum(w for w, _ in inside), Fraction(0)
        for output in range(len(asked.target[0])):
            first = sum((w * y[output] for w, y in inside), Fraction(0))
            second = sum((w * y[output] ** 2 for w, y in inside), Fraction(0))
            total += second - first * first / weight
        return total

    return loss
