"""The trees along λ-paths, and what changes from one to the next.

At each λ the tree that most folds found. Neighbouring λ with the same tree are joined, if the runs
of both are of the same folds.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.report.analysis.path_points import Points
from pipelines.report.data import metrics as quality
from pipelines.report.data.formatting import is_number
from pipelines.report.data.group_statistics import Groups, Ints, firsts, groups
from pipelines.report.data.store_reader import decompress
from solver.features.node_tests import CategoryTest, NodeTest
from solver.solution import Status
from solver.trees.tree import Tree
from solver.trees.tree_view import in_short

_USED = ["tree", "ok", "status", "fold", "errors", "total_weight", "task", *quality.COLUMNS]

_COUNTS = re.compile(
    r'"counts": ?\[[^\]]*\],? ?'
    r'|"weight": ?\d+, ?"value": ?\[[^\]]*\], ?"squared_error": ?"[^"]*",? ?'
)

_LAST_COMMA = re.compile(r",\s*}")


@dataclass(frozen=True)
class PathTree:
    """A tree that is the best one at neighbouring λ of a path.

    ``quality`` has ``task`` and :data:`pipelines.report.data.metrics.COLUMNS`: on the training rows
    of the run shown, and on held-out rows the mean over the folds that found the tree.
    """

    text: str  # JSON
    signature: str  # equal for trees with the same tests and predictions, whatever their counts
    lams: tuple[str, ...]  # λ of the grid, or intervals, from large to small
    runs: tuple[int, ...]  # at each λ: how many folds found this tree
    of: tuple[int, ...]  # at each λ: how many folds found a tree
    fold: int | None  # the fold of the run shown; None: trained on the whole table
    proven: bool  # whether all its runs are proven optimal
    errors: int | None  # on the training rows of the run shown; None for regression
    total_weight: int  # of these rows
    quality: dict[str, Any]
    start: Fraction | None = None  # of an exact path: the smallest λ; None on a grid
    end: Fraction | None = None  # the λ below which it is best; None: no end

    @cached_property
    def tree(self) -> Tree:
        """The tree. It is parsed when it is first used: most trees of a long path never are."""
        return Tree.from_json(self.text)


@lru_cache(maxsize=10_000)
def _without_counts(text: str) -> str:
    data = json.loads(text)
    classes = data["classes"]
    # The means of regression differ from fold to fold as counts do: only the tests are compared.
    return json.dumps(
        [
            (n.get("test"), n.get("children"), classes[n["prediction"]] if classes else None)
            for n in data["nodes"]
        ]
    )


def signature(text: str) -> str:
    """The tests and predictions of a stored tree, without its counts."""
    # Counts differ from fold to fold. Without them few different texts are left to parse.
    return _without_counts(_LAST_COMMA.sub("}", _COUNTS.sub("", text)))


def trees_along(points: Points) -> list[tuple[PathTree, ...]]:
    """The trees of each cell from large λ to small: at each λ the tree of most folds, in a tie that
    of the earliest fold. Equal neighbours of the same folds are joined."""
    found = _CommonTrees(points)
    cells: list[tuple[PathTree, ...]] = []
    for start, stop in pairwise(points.cells.tolist()):
        low, high = np.searchsorted(found.points, [start, stop])
        cells.append(tuple(found.join(int(low), int(high))))
    return cells


_OF_TREE = ("tree", "fold", "errors", "total_weight", "task", *quality.COLUMNS)
"""The columns of a row that belong to its tree."""


class _CommonTrees:
    """The most common tree of each point that has one, as columns: the ``points``, the numbers of
    the signatures (``signs``), the first of the ``rows`` with the tree, and ``folds``: equal for
    points whose trees are of the same folds."""

    def __init__(self, points: Points) -> None:
        self.table = points.table
        good = np.flatnonzero(points.rows["ok"].to_numpy(bool))
        self.good = points.rows.iloc[good]
        signs, self.names = _signs(self.good["tree"])
        self.row_signs, self.at = signs, points.points[good]
        at = self.at
        pair = at * max(len(self.names), 1) + signs
        _, first, which, count = np.unique(
            pair, return_index=True, return_inverse=True, return_counts=True
        )
        place = at[first]
        # At each point: the pair of most rows; in a tie the one that comes first.
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
        self.tested = self.good[["repeat", "fold", *quality.TEST_COLUMNS]]
        tests = quality.mean_tests(self.tested.iloc[by_pair], over)
        self.tests = {name: values[best] for name, values in tests.items()}

    def join(self, low: int, high: int) -> list[PathTree]:
        """The trees of some neighbouring points."""
        if low == high:
            return []
        changes = np.diff(self.signs[low:high]) | np.diff(self.folds[low:high])
        change = np.flatnonzero(changes) + low + 1
        ends = [low, *change.tolist(), high]
        rows = self.good[list(_OF_TREE)].iloc[self.rows[ends[:-1]]].to_dict("records")
        return [self._tree(row, a, b) for row, (a, b) in zip(rows, pairwise(ends), strict=True)]

    def _held_out(self, low: int, high: int) -> dict[str, float | None]:
        """The quality on held-out rows over all folds that found the tree at one of the points."""
        if (self.runs[low:high] == self.of[low:high]).all():
            return {name: quality.number(values[low]) for name, values in self.tests.items()}
        part = slice(*np.searchsorted(self.at, [self.points[low], self.points[high - 1] + 1]))
        own = self.tested[part][self.row_signs[part] == self.signs[low]]
        return _mean_tests(own.drop_duplicates(["repeat", "fold"]))

    def _tree(self, row: dict[Any, Any], low: int, high: int) -> PathTree:
        return _path_tree(
            row=row,
            sign=self.names[self.signs[low]],
            at=self.table.iloc[self.points[low:high]],
            runs=self.runs[low:high].tolist(),
            of=self.of[low:high].tolist(),
            proven=bool(self.proven[low:high].all()),
            tests=self._held_out(low, high),
        )


def _signs(trees: pd.Series[Any]) -> tuple[Ints, list[str]]:
    """The signature of each row's tree as a number, and the signatures."""
    codes = groups(trees.to_frame(), ["tree"])
    texts = trees.astype(object).iloc[firsts(codes)] if len(codes) else trees
    known: dict[str, int] = {}
    numbers = [known.setdefault(signature(decompress(text)), len(known)) for text in texts]
    return np.array(numbers, np.int64)[codes], list(known)


def found_trees(points: Points, point: int) -> tuple[PathTree, ...]:
    """The distinct trees at one λ: most folds first, in a tie the earlier fold."""
    low, high = np.searchsorted(points.points, [point, point + 1])
    rows = [row for row in points.rows[_USED].iloc[low:high].to_dict("records") if row["ok"]]
    same: dict[str, list[dict[Any, Any]]] = {}
    for row in rows:
        same.setdefault(signature(decompress(row["tree"])), []).append(row)
    at = points.table.iloc[[point]]
    return tuple(
        _path_tree(
            row=own[0],
            sign=sign,
            at=at,
            runs=[len(own)],
            of=[len(rows)],
            proven=all(row["status"] == Status.OPTIMAL.value for row in own),
            tests=_mean_tests(pd.DataFrame(own)),
        )
        for sign, own in sorted(same.items(), key=lambda item: -len(item[1]))
    )


def _mean_tests(rows: pd.DataFrame) -> dict[str, float | None]:
    found = quality.mean_tests(rows, Groups(np.zeros(len(rows), np.int64), 1))
    return {name: quality.number(values[0]) for name, values in found.items()}


def _path_tree(
    row: dict[Any, Any], sign: str, at: pd.DataFrame, runs: list[int], of: list[int], proven: bool,
    tests: dict[str, float | None],
) -> PathTree:  # fmt: skip
    """The tree of a row, best at some neighbouring points, with its quality on held-out rows."""
    known = {name: quality.number(row[name]) for name in quality.COLUMNS}
    return PathTree(
        text=decompress(row["tree"]),
        signature=sign,
        lams=tuple(at["lam_text"].tolist()),
        runs=tuple(runs),
        of=tuple(of),
        fold=int(row["fold"]) if is_number(row["fold"]) else None,
        proven=proven,
        errors=int(row["errors"]) if is_number(row["errors"]) else None,
        total_weight=int(row["total_weight"]),
        quality={"task": str(row["task"]), **known, **tests},
        start=_fraction(at["lam_start_exact"].iloc[-1]),
        end=_fraction(at["lam_end_exact"].iloc[0]),
    )


def _fraction(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


_MOST_CONDITIONS = 3
"""Of a deeper place only the last conditions are named."""

Condition: TypeAlias = tuple[NodeTest, int]
_Position: TypeAlias = tuple[NodeTest, frozenset[Condition]]


class Split(NamedTuple):
    """A split: its test, and the conditions on the way to it from the root."""

    test: NodeTest
    conditions: tuple[Condition, ...]

    @property
    def asks(self) -> str:
        """The test in words: ``odor = foul``, ``age > 30``, ``colour``."""
        test = self.test
        if isinstance(test, CategoryTest) and not test.is_indicator:
            return test.column
        return in_short(test, 1)

    @property
    def place(self) -> str:
        """Its place in the tree: ``at the root``, ``where odor = foul and age > 30``."""
        if not self.conditions:
            return "at the root"
        shown = self.conditions[-_MOST_CONDITIONS:]
        words = " and ".join(in_short(test, branch) for test, branch in shown)
        return f"where {'… ' if len(shown) < len(self.conditions) else ''}{words}"


@dataclass(frozen=True)
class Change:
    """What changes from one tree to another."""

    kept: int  # splits of both trees at the same place, whatever the order of the tests above
    moved: tuple[Split, ...]  # tests of both trees at different places, as the new tree has them
    added: tuple[Split, ...]
    removed: tuple[Split, ...]


def splits_of(tree: Tree) -> Iterator[Split]:
    """The splits of a tree, the root first."""
    pending: list[tuple[int, tuple[Condition, ...]]] = [(0, ())]
    while pending:
        position, conditions = pending.pop()
        node = tree.nodes[position]
        if node.feature is None:
            continue
        test = tree.tests[node.feature]
        yield Split(test, conditions)
        below = [(child, (*conditions, (test, i))) for i, child in enumerate(node.children)]
        pending += reversed(below)


def find_change(old: Tree, new: Tree) -> Change:
    """The splits of the new tree that the old one lacks, and the other way round."""
    before, after = list(splits_of(old)), list(splits_of(new))
    same = Counter(map(_place_of, before)) & Counter(map(_place_of, after))
    gone, come = _without(before, same), _without(after, same)
    free = Counter(split.test for split in gone)
    moved, added = [], []
    for split in come:
        if free[split.test]:
            free[split.test] -= 1
            moved.append(split)
        else:
            added.append(split)
    removed = []
    # Of equal tests the last ones have no counterpart in the new tree.
    for split in reversed(gone):
        if free[split.test]:
            free[split.test] -= 1
            removed.append(split)
    return Change(same.total(), tuple(moved), tuple(added), tuple(reversed(removed)))


def _place_of(split: Split) -> _Position:
    return split.test, frozenset(split.conditions)


def _without(splits: list[Split], same: Counter[_Position]) -> list[Split]:
    left = same.copy()
    rest = []
    for split in splits:
        if left[_place_of(split)]:
            left[_place_of(split)] -= 1
        else:
            rest.append(split)
    return rest
