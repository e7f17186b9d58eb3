"""Random problems, each from a seed: tables, prices of a split, and limits on the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any

import numpy as np

from solver import Limits, Problem
from tests.solver.million.oracle import Oracle, by_codes, by_cuts, by_intervals, by_lines

SHAPES = ("binary", "multiway", "numbers", "points", "curve", "targets")
"""Kinds of tables: features of two codes, of several codes; numbers to be cut; points in the plane;
one column of numbers that a polynomial parts; numbers with targets of regression."""

TARGET_UNIT = Fraction(1, 8)


@dataclass(frozen=True)
class Table:
    """Rows as a user gives them: they repeat and contradict each other, columns may be useless.

    Parameters
    ----------
    shape : str
        One of :data:`SHAPES`.
    columns : list of lists
        The code of every row, by column.
    arities : list of int
    target : list of int
        Classes; in regression lists of targets, in units of :data:`TARGET_UNIT`.
    weights : list of int, or None
        In units of 1/``unit``; some may be 0.
    degree : int
        Of the polynomial of a curve.
    """

    shape: str
    columns: list[list[int]]
    arities: list[int]
    target: list[Any]
    n_classes: int
    weights: list[int] | None
    unit: int = 1
    degree: int = 1

    @property
    def given_weights(self) -> Any:
        """As a user gives them."""
        if self.weights is None or self.unit == 1:
            return self.weights
        return [weight / self.unit for weight in self.weights]

    @cached_property
    def problem(self) -> Problem:
        """What solvers get."""
        codes = np.array(self.columns, np.int64).reshape(len(self.columns), len(self.target)).T
        if self.shape == "targets":
            return Problem.from_codes(
                codes,
                np.array(self.target) * float(TARGET_UNIT),
                weights=self.given_weights,
                task="regression",
                ordered=True,
                target_name=[f"y{i}" for i in range(len(self.target[0]))],
            )
        return Problem.from_codes(
            codes,
            self.target,
            weights=self.given_weights,
            arities=self.arities,
            classes=range(self.n_classes),
            ordered=self.shape not in ("binary", "multiway"),
        )

    @cached_property
    def digest(self) -> int:
        """Equal tables have equal ones."""
        return hash(str((self.shape, self.columns, self.target, self.weights, self.unit)))

    @cached_property
    def rows(self) -> list[int]:
        """Those that have weight."""
        weights = self.weights
        return [r for r in range(len(self.target)) if weights is None or weights[r]]

    @cached_property
    def row_weights(self) -> list[int]:
        """Of every row of the table, in units."""
        return self.weights or [1] * len(self.target)

    def oracle(self, depth: int | None, min_leaf: int | None) -> Oracle:
        """What knows the best trees within these limits."""
        rows = self.rows
        columns = [[column[row] for row in rows] for column in self.columns]
        if self.shape in ("binary", "multiway"):
            ways = by_codes(columns, self.arities)
        elif self.shape == "points":
            ways = by_lines(list(zip(*columns, strict=True)))
        elif self.shape == "curve":
            ways = by_intervals(columns[0], self.degree)
        else:
            ways = by_cuts(columns)
        target = [self.target[row] for row in rows]
        weights = [self.row_weights[row] for row in rows]
        values: Sequence[Any] = target if self.shape == "targets" else ()
        return Oracle(ways, weights, () if values else target, values, depth, min_leaf or 1)


@dataclass(frozen=True)
class Question:
    """A table, a price of a split, and limits on the tree, with the oracle's answer."""

    seed: int
    table: Table
    lam: Fraction
    depth: int | None
    splits: int | None
    min_leaf: int | None  # in units of the weights
    oracle: Oracle

    def limits(self, **others: Any) -> Limits:
        """As solvers get them; ``others`` are limits of the search."""
        least = self.min_leaf
        if least is not None and self.table.unit > 1:
            least = least / self.table.unit  # type: ignore[assignment]
        return Limits(depth=self.depth, splits=self.splits, min_leaf_size=least, **others)

    @cached_property
    def best(self) -> tuple[Fraction, int]:
        """The least objective, and the fewest splits that reach it."""
        return self.oracle.optimum(self.lam, self.splits)

    @property
    def digest(self) -> int:
        """Equal questions have equal ones."""
        return hash((self.table.digest, self.lam, self.depth, self.splits, self.min_leaf))

    @property
    def is_plain(self) -> bool:
        """Whether equally good trees differ, and all splits are allowed."""
        return self.lam > 0 and self.splits is None


def draw(seed: int, table: Table, chance: Random) -> Question:
    """A question about a table."""
    depth = splits = least = None
    if table.shape in ("points", "curve"):
        splits = chance.choice((0, 1, 1, 2, 2, 3))
    if chance.random() < 0.5:
        depth = chance.choice((None, None, None, 0, 1, 2, 2, 3, 3, 4))
        splits = chance.choice((None,) * 4 + (0, 1, 2, 3, 4, 6)) if splits is None else splits
        least = chance.choice((None,) * 4 + (0, 1, 2, 2, 3, 4))
        if least and table.weights and max(table.weights) > 100:
            least *= chance.randrange(1, max(table.weights))
    oracle = table.oracle(depth, least)
    lam = draw_lam(chance, oracle)
    if table.shape == "targets":
        lam *= TARGET_UNIT**2
    return Question(seed, table, lam, depth, splits, least, oracle)


def draw_lam(chance: Random, oracle: Oracle) -> Fraction:
    """A price of a split: where two trees are equally good, next to it, between, or any."""
    kind, errors, weight = chance.random(), oracle.errors, oracle.total
    if kind < 0.45 and len(errors) > 1:
        lams = sorted(
            {
                Fraction(int(errors[few] - errors[more]), weight * (more - few))
                for more in range(1, len(errors))
                for few in (more - 1, 0)
            }
        )
        lam = chance.choice(lams)
        if kind < 0.22:
            return lam
        if kind < 0.30:
            return max(lam + Fraction(chance.choice((-1, 1)), 10 ** chance.randint(6, 12)), lam / 2)
        return (lam + chance.choice(lams)) / 2
    if kind < 0.50:
        return Fraction(0)
    if kind < 0.53:
        return Fraction(chance.choice((1, 3, 5, 7)), chance.choice((1, 2)))
    if kind < 0.65:
        return Fraction(chance.randint(1, 4), weight)
    if kind < 0.85:
        return Fraction(chance.randint(1, 4), weight * chance.randint(1, 5))
    return Fraction(chance.randint(1, 100), chance.choice((100, 1000, 1000, 10000)))


def draw_table(shape: str, chance: Random, harder: bool = True) -> Table:
    """A table of a shape; ``harder`` ones may have more rows and columns."""
    if shape == "binary":
        d = chance.choice((1, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 6, 7))
        n, arities = chance.randint(2, chance.choice((6, 16, 24, 40))), [2] * d
        if not harder:
            n, arities = min(n, 12), arities[:3]
    elif shape == "multiway":
        d = chance.choice((1, 2, 2, 3, 3, 4)) if harder else chance.randint(1, 3)
        n = chance.randint(2, chance.choice((6, 12, 24)))
        arities = [chance.choice((1, 2, 2, 3, 3, 4, 5)) for _ in range(d)]
    elif shape in ("points", "curve"):
        d = 2 if shape == "points" else 1
        n = chance.randint(2, 8)
        arities = [chance.choice((2, 3, 5, 30))] * d
    else:
        d = chance.choice((1, 1, 2, 2, 2, 3))
        n = chance.randint(2, chance.choice((5, 8, 12, 16)) if harder else 8)
        arities = [chance.choice((2, 3, 4, 6, 9)) for _ in range(d)]
    columns = [chance.choices(range(arity), k=n) for arity in arities]
    if shape not in ("points", "curve"):
        _spoil(columns, arities, chance)
    if shape == "targets":
        target: list[Any] = _targets(columns, chance)
        n_classes = 0
    else:
        n_classes = chance.choice((2, 2, 2, 2, 2, 3, 3, 3, 4, 5)) if chance.random() < 0.98 else 1
        target = _labels(columns, n, n_classes, chance)
    weights, unit = _weights(n, chance)
    return Table(
        shape, columns, arities, target, n_classes, weights, unit, chance.choice((1, 2, 2, 3))
    )


def _spoil(columns: list[list[int]], arities: list[int], chance: Random) -> None:
    """Make a copy of a column, its mirror image, or a constant column, sometimes."""
    kind, at = chance.random(), chance.randrange(len(columns))
    if kind < 0.06:
        columns[at] = [0] * len(columns[at])
    elif kind < 0.24:
        column, arity = columns[at], arities[at]
        copy = list(column) if kind < 0.12 else [arity - 1 - code for code in column]
        if kind >= 0.18 and len(copy) > 1:  # but for one row
            copy[chance.randrange(len(copy))] = chance.randrange(arity)
        place = chance.randrange(len(columns) + 1)
        columns.insert(place, copy)
        arities.insert(place, arity)


def _labels(columns: list[list[int]], n: int, n_classes: int, chance: Random) -> list[int]:
    """Classes: any, mostly one, or an interaction of some columns with noise."""
    kind = chance.random()
    if kind < 0.35:
        return chance.choices(range(n_classes), k=n)
    if kind < 0.45:
        return chance.choices(range(n_classes), [8] + [1] * (n_classes - 1), k=n)
    used = chance.choices(columns, k=chance.randint(1, 3))
    noise = chance.choice((0.0, 0.1, 0.3))
    return [
        chance.randrange(n_classes) if chance.random() < noise else sum(codes) % n_classes
        for codes in zip(*used, strict=True)
    ]


def _targets(columns: list[list[int]], chance: Random) -> list[list[int]]:
    """Targets of one or two outputs: few values or many, far from 0 or near."""
    outputs, spread = chance.choice((1, 1, 2)), chance.choice((1, 3, 100))
    offset = chance.choice((0, 0, 5, 8000))
    return [
        [offset + sum(codes[:2]) * 4 + chance.randint(-spread, spread) for _ in range(outputs)]
        for codes in zip(*columns, strict=True)
    ]


def _weights(n: int, chance: Random) -> tuple[list[int] | None, int]:
    """Weights of the rows, and the parts of 1 that they count."""
    kind = chance.random()
    if kind < 0.4:
        return None, 1
    if kind < 0.7:
        return [chance.randint(1, 5) for _ in range(n)], 1
    if kind < 0.8:
        weights = [chance.choice((0, 1, 1, 2, 9)) for _ in range(n)]
    elif kind < 0.9:
        return [chance.randint(1, 9) for _ in range(n)], 4
    else:
        weights = [chance.choice((1, 997, chance.randint(1, 10**6))) for _ in range(n)]
    return (weights if any(weights) else None), 1
