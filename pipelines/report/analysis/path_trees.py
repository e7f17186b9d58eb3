"""The trees along λ-paths: at each λ the one that most folds found, joined where it stays.

Where the runs of two λ are of other folds, the trees of both are of other rows and are not joined.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.report.analysis.points import Points
from pipelines.report.data import metrics as quality
from pipelines.report.data.columns import Floats, Groups, Ints, codes_of, firsts, floats, groups
from pipelines.report.data.compressed_texts import unpack
from pipelines.report.data.formats import is_number
from solver.solution import Status
from solver.trees.tree import Tree

_USED = ["tree", "ok", "status", "fold", "errors", "total_weight", "task", *quality.COLUMNS]

_COUNTS = re.compile(
    r'"counts": ?\[[^\]]*\],? ?'
    r'|"weight": ?\d+, ?"value": ?\[[^\]]*\], ?"squared_error": ?"[^"]*",? ?'
)
_LAST_COMMA = re.compile(r",\s*}")


@dataclass(frozen=True)
class PathTree:
    """A tree that is the best one at neighbouring λ of a path.

    Parameters
    ----------
    text : str
        The tree, as JSON.
    signature : str
        Equal for trees that ask and answer the same, whatever their counts.
    lams : tuple of str
        The grid's λ, or the intervals, at which it was found, from large to small.
    runs, of : tuple of int
        At each λ, in how many folds this tree was found, and how many folds gave a tree.
    fold : int or None
        The fold whose counts the tree shows; None if it was trained on the whole table.
    proven : bool
        Whether every one of its runs is proven optimal.
    errors : int or None
        On the training rows of the run shown; None for regression.
    total_weight : int
        Of these rows.
    quality : dict
        Of :data:`pipelines.report.data.metrics.COLUMNS` those of the task, and ``task``: on the
        training rows of the run shown, on held-out rows the mean over the folds that found it; None
        without any.
    start, end : Fraction or None
        On an exact path the λ from which and up to which it was found; no end is infinity. On a
        grid nobody knows: no start.
    """

    text: str
    signature: str
    lams: tuple[str, ...]
    runs: tuple[int, ...]
    of: tuple[int, ...]
    fold: int | None
    proven: bool
    errors: int | None
    total_weight: int
    quality: dict[str, Any]
    start: Fraction | None = None
    end: Fraction | None = None

    @cached_property
    def tree(self) -> Tree:
        """The tree; made when it is looked at, which few of a long path's are."""
        return Tree.from_json(self.text)


@lru_cache(maxsize=10_000)
def _without_counts(text: str) -> str:
    data = json.loads(text)
    classes = data["classes"]
    # Means differ from fold to fold as counts do; trees of regression answer by what they ask.
    return json.dumps(
        [
            (n.get("test"), n.get("children"), classes[n["prediction"]] if classes else None)
            for n in data["nodes"]
        ]
    )


def signature(text: str) -> str:
    """What a stored tree asks and answers, without its counts."""
    # Counts differ from fold to fold; without them few texts are left to be read.
    return _without_counts(_LAST_COMMA.sub("}", _COUNTS.sub("", text)))


def trees_along(points: Points) -> list[tuple[PathTree, ...]]:
    """For each cell its trees from large λ to small: at each λ the one of most folds, of several
    that of the earliest fold; neighbours that are the same tree are one, if they are of the same
    folds."""
    found = _Found(points)
    cells: list[tuple[PathTree, ...]] = []
    for start, stop in pairwise(points.cells.tolist()):
        low, high = np.searchsorted(found.points, [start, stop])
        cells.append(tuple(found.join(int(low), int(high))))
    return cells


class _Found:
    """The most common tree of each point with one, as columns.

    Attributes
    ----------
    points : array of int
        The points.
    signs : array of int
        Numbers of the signatures.
    rows : array of int
        The first row with the tree, in the points' rows.
    folds : array of int
        Numbers that are equal for points whose trees are of the same folds.
    """

    def __init__(self, points: Points) -> None:
        self.table = points.table
        good = np.flatnonzero(points.rows["ok"].to_numpy(bool))
        self.good = points.rows.iloc[good]
        signs, self.names = _signs(self.good["tree"])
        at = points.points[good]
        pair = at * max(len(self.names), 1) + signs
        _, first, which, count = np.unique(
            pair, return_index=True, return_inverse=True, return_counts=True
        )
        place = at[first]
        # Of each point the pair of most rows, and of these the one that comes first.
        order = np.lexsort((first, -count, place))
        best = order[np.concatenate([[True], np.diff(place[order]) > 0])] if len(order) else order
        self.points, self.signs, self.rows = place[best], signs[first[best]], first[best]
        self.runs = count[best]
        self.of = np.bincount(at, minlength=len(self.table))[self.points]
        fold = np.split(groups(self.good, ["repeat", "fold"]), np.cumsum(self.of)[:-1])
        sets = np.array([own.tobytes() for own in fold], dtype=object)
        self.folds = np.asarray(pd.factorize(sets)[0], np.int64)
        proven = (self.good["status"] == Status.OPTIMAL.value).to_numpy(bool)
        by_pair = np.argsort(which, kind="stable")
        over = Groups(which[by_pair], len(first))
        self.proven: NDArray[np.bool_] = (over.tally(proven[by_pair]) == count)[best]
        self.tests: dict[str, Floats] = {
            name: over.mean(floats(self.good[name])[by_pair])[best]
            for name in quality.COLUMNS
            if name.startswith("test")
        }

    def join(self, low: int, high: int) -> list[PathTree]:
        """The trees of some neighbouring points."""
        if low == high:
            return []
        changes = np.diff(self.signs[low:high]) | np.diff(self.folds[low:high])
        change = np.flatnonzero(changes) + low + 1
        ends = [low, *change.tolist(), high]
        return [self._tree(a, b) for a, b in pairwise(ends)]

    def _tree(self, low: int, high: int) -> PathTree:
        row = self.good.iloc[self.rows[low]]
        at = self.table.iloc[self.points[low:high]]
        start, end = at["lam_start_exact"].iloc[-1], at["lam_end_exact"].iloc[0]
        return PathTree(
            text=unpack(row["tree"]),
            signature=self.names[self.signs[low]],
            lams=tuple(at["lam_text"].tolist()),
            runs=tuple(self.runs[low:high].tolist()),
            of=tuple(self.of[low:high].tolist()),
            fold=int(row["fold"]) if is_number(row["fold"]) else None,
            proven=bool(self.proven[low:high].all()),
            errors=int(row["errors"]) if is_number(row["errors"]) else None,
            total_weight=int(row["total_weight"]),
            quality=_quality(row) | {n: quality.number(v[low]) for n, v in self.tests.items()},
            start=_fraction(start),
            end=_fraction(end),
        )


def _signs(trees: pd.Series[Any]) -> tuple[Ints, list[str]]:
    """The signature of each row's tree as a number, and the signatures."""
    codes = np.asarray(pd.factorize(codes_of(trees))[0], np.int64)
    texts = trees.astype(object).iloc[firsts(codes)] if len(codes) else trees
    known: dict[str, int] = {}
    numbers = [known.setdefault(signature(unpack(text)), len(known)) for text in texts]
    return np.array(numbers, np.int64)[codes], list(known)


def found_trees(points: Points, point: int) -> tuple[PathTree, ...]:
    """The distinct trees at one λ: those of most folds first, then those of earlier folds."""
    low, high = np.searchsorted(points.points, [point, point + 1])
    rows = [row for row in points.rows[_USED].iloc[low:high].to_dict("records") if row["ok"]]
    same: dict[str, list[dict[Any, Any]]] = {}
    for row in rows:
        same.setdefault(signature(unpack(row["tree"])), []).append(row)
    at = points.table.iloc[point]
    # Sorting keeps the order of what is equal.
    common = sorted(same.items(), key=lambda item: -len(item[1]))
    return tuple(_tree_of(sign, own, len(rows), at) for sign, own in common)


def _tree_of(sign: str, same: list[dict[Any, Any]], of: int, at: pd.Series[Any]) -> PathTree:
    first = same[0]
    tests = {
        name: quality.mean([row[name] for row in same])
        for name in quality.COLUMNS
        if name.startswith("test")
    }
    return PathTree(
        text=unpack(first["tree"]),
        signature=sign,
        lams=(at["lam_text"],),
        runs=(len(same),),
        of=(of,),
        fold=int(first["fold"]) if is_number(first["fold"]) else None,
        proven=all(row["status"] == Status.OPTIMAL.value for row in same),
        errors=int(first["errors"]) if is_number(first["errors"]) else None,
        total_weight=int(first["total_weight"]),
        quality=_quality(first) | tests,
        start=_fraction(at["lam_start_exact"]),
        end=_fraction(at["lam_end_exact"]),
    )


def _quality(row: Any) -> dict[str, Any]:
    """The quality of a row's tree."""
    known = {name: quality.number(row[name]) for name in quality.COLUMNS}
    return {"task": str(row["task"]), **known}


def _fraction(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
