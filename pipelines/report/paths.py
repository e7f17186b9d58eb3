"""The λ-path of a dataset, an encoding and a solver: what changes as a split gets cheaper."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import pandas as pd

from pipelines import crossval
from pipelines.report.formats import is_number, mean_fraction
from pipelines.report.results import Results
from pipelines.report.stairs import Stairs, at_intervals, read_stairs
from solver.solution import Status
from solver.tree import Tree

_Row: TypeAlias = dict[str, Any]

_NUMBERS = (
    "objective", "gap", "train_accuracy", "test_accuracy", "splits", "leaves", "depth", "seconds",
    "iterations", "peak_bytes",
)  # fmt: skip
_USED = [
    "dataset", "encoding_label", "solver_label", "lam", "lam_key", "lam_text", "lam_exact",
    "lam_end_exact", "ok", "status",
    "objective_exact", "lower_bound_exact", "errors", "total_weight", "tree", "fold", "repeat",
    *_NUMBERS,
]  # fmt: skip

MINIMUM, ONE_SE = "minimum", "one standard error"


@dataclass(frozen=True)
class PathTree:
    """A tree that is the best one at neighbouring λ of a path.

    Parameters
    ----------
    tree : Tree
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
    errors, total_weight : int
        On the training rows of the run shown.
    test_accuracy : float or None
        Mean over the folds that found it.
    start, end : Fraction or None
        On an exact path the λ from which and up to which it was found; no end is infinity. On a
        grid nobody knows: no start.
    """

    tree: Tree
    signature: str
    lams: tuple[str, ...]
    runs: tuple[int, ...]
    of: tuple[int, ...]
    fold: int | None
    proven: bool
    errors: int
    total_weight: int
    test_accuracy: float | None
    start: Fraction | None = None
    end: Fraction | None = None


@dataclass(frozen=True)
class Path:
    """A λ-path.

    Parameters
    ----------
    dataset, encoding, solver : str
        As in :class:`pipelines.report.results.Results`.
    table : DataFrame
        One row a λ, from large to small, see :func:`_point`. On an exact path one row an interval
        between two breakpoints of any fold, where all of its figures but the objective are
        constant; the objective is that at its start.
    trees : tuple of PathTree
        Along the path. Where there are folds: at each λ the tree that most folds found.
    fold_trees : dict
        For each chosen λ (its key) all trees that the folds found there, the most common first.
    minimum, one_se : str or None
        Key of the λ of best mean test accuracy, and of the largest λ within one standard error of
        it; None without validation or where no λ has all its folds.
    grid : DataFrame
        The same at single λ only: those that other cells of the dataset were run at.
    stairs : tuple of Stairs
        The exact path of each run; none where the solver was run at single λ.
    whole : Stairs or None
        Where folds were held out: the path of the whole table, if that was found as well.
    """

    dataset: str
    encoding: str
    solver: str
    table: pd.DataFrame
    trees: tuple[PathTree, ...]
    fold_trees: dict[str, tuple[PathTree, ...]]
    minimum: str | None
    one_se: str | None
    grid: pd.DataFrame
    stairs: tuple[Stairs, ...] = ()
    whole: Stairs | None = None

    @property
    def proves(self) -> bool:
        """Whether an exact path's solver proves anything."""
        return any(one.bounds is not None for one in self.stairs)

    def point(self, key: str) -> pd.Series[Any]:
        """The row of a λ."""
        return self.table.loc[self.table["lam_key"] == key].iloc[0]


def make_paths(results: Results) -> list[Path]:
    """All λ-paths of a sweep with at least one run, in the order of its file."""
    planned = pd.concat([results.rows, results.missing], ignore_index=True)
    by = ["dataset", "encoding_label", "solver_label"]
    expected = {
        cell: {str(key): int(count) for key, count in group["lam_key"].value_counts().items()}
        for cell, group in planned.groupby(by)
    }
    groups, grids = (
        dict(list(rows.groupby(by, sort=False))) for rows in (results.rows, results.at_grid)
    )
    return [
        make_path(groups[cell], expected[cell], grids.get(cell, groups[cell]))
        for dataset in results.datasets
        for encoding in results.encodings
        for solver in results.solvers
        if (cell := (dataset, encoding, solver)) in groups
    ]


def make_path(rows: pd.DataFrame, expected: dict[str, int], at_grid: pd.DataFrame) -> Path:
    """The path of the rows of one dataset, encoding and solver.

    Parameters
    ----------
    expected : dict
        For each λ (its key) the number of planned runs.
    at_grid : DataFrame
        The same rows from ``Results.at_grid``.
    """
    stairs = read_stairs(rows)
    if not stairs:
        return _path(rows, expected, _table(_by_lambda(rows), expected))
    whole = None
    planned = sum(expected.values())
    if len({one.fold is None for one in stairs}) == 2:
        whole = next(one for one in stairs if one.fold is None)
        stairs = [one for one in stairs if one.fold is not None]
        planned -= int(rows["fold"].isna().sum())
        rows = rows[rows["fold"].notna()]
    points = at_intervals(rows, stairs)
    grid = _table(_by_lambda(at_grid), dict.fromkeys(at_grid["lam_key"], planned))
    path = _path(points, dict.fromkeys(points["lam_key"], planned), grid, _choice(stairs, planned))
    path = replace(path, stairs=tuple(stairs), whole=whole)
    if whole is not None:
        own = _by_lambda(at_intervals(rows.iloc[:0], [whole]))
        path = replace(path, trees=_along([_trees(own[key], 1)[0] for key in reversed(own)]))
    return path


def _by_lambda(rows: pd.DataFrame) -> dict[str, list[_Row]]:
    """The rows at each λ."""
    # Plain records: a path may have thousands of rows, and slicing tables is slow.
    at: dict[str, list[_Row]] = {}
    used = [name for name in _USED if name in rows]
    for row in rows[used].sort_values(["repeat", "fold"], kind="stable").to_dict("records"):
        at.setdefault(str(row["lam_key"]), []).append({str(k): v for k, v in row.items()})
    return at


def _table(at: dict[str, list[_Row]], expected: dict[str, int]) -> pd.DataFrame:
    points = [_point(group, expected[key]) for key, group in at.items()]
    table = pd.DataFrame(points).sort_values("lam", ascending=False, ignore_index=True)
    # A column of text would hold NaN where an interval has no end, which is neither None nor false.
    ends = [point if isinstance(point, str) else None for point in table["lam_end_exact"]]
    table["lam_end_exact"] = pd.Series(ends, table.index, dtype=object)
    return table


_Choice: TypeAlias = tuple[str | None, str | None]


def _path(
    rows: pd.DataFrame,
    expected: dict[str, int],
    grid: pd.DataFrame,
    chosen: _Choice | None = None,
) -> Path:
    at = _by_lambda(rows)
    table = _table(at, expected)
    minimum, one_se = chosen or choose(table)
    table["chosen"] = [
        " + ".join(w for w, k in ((MINIMUM, minimum), (ONE_SE, one_se)) if k == key)
        for key in table["lam_key"]
    ]
    good = {key: [row for row in group if row["ok"]] for key, group in at.items()}
    keys = [key for key in table["lam_key"] if good[key]]
    first = rows.iloc[0]
    return Path(
        dataset=first["dataset"],
        encoding=first["encoding_label"],
        solver=first["solver_label"],
        table=table,
        trees=_along([_trees(good[key], 1)[0] for key in keys]),
        fold_trees={key: _trees(good[key]) for key in (minimum, one_se) if key is not None},
        minimum=minimum,
        one_se=one_se,
        grid=grid,
    )


def _choice(stairs: Sequence[Stairs], planned: int) -> _Choice:
    """What cross-validation picks on exact paths, by exact figures; nothing if a fold lacks."""
    folds = [
        crossval.Fold(one.starts, losses)
        for one in stairs
        if (losses := one.test_losses) is not None
    ]
    if len(folds) < planned:
        return None, None
    intervals, scores = crossval.cross_validate(folds)
    minimum, one_se = crossval.choose(scores)
    return str(intervals[minimum].start), None if one_se is None else str(intervals[one_se].start)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _deviation(values: Sequence[float]) -> float:
    """Standard deviation of a sample; missing for fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else math.nan


def _point(group: list[_Row], expected: int) -> dict[str, Any]:
    """What is known at one λ: means over folds, and how far they spread."""
    good = [row for row in group if row["ok"]]
    values: dict[str, list[float]] = {
        name: [float(row[name]) for row in good if is_number(row[name])] for name in _NUMBERS
    }
    tests, spread = values["test_accuracy"], _deviation(values["test_accuracy"])
    exact = mean_fraction(row["objective_exact"] for row in good)
    bound = mean_fraction(row["lower_bound_exact"] for row in good)
    statuses = [row["status"] for row in group]
    first = group[0]
    return {
        "dataset": first["dataset"],
        "encoding": first["encoding_label"],
        "solver": first["solver_label"],
        "lam": _mean([row["lam"] for row in group]),
        "lam_key": first["lam_key"],
        "lam_text": first["lam_text"],
        **_interval(first),
        "runs": len(good),
        "failed": len(group) - len(good),
        "expected": expected,
        "optimal": statuses.count(Status.OPTIMAL.value),
        "heuristic": statuses.count(Status.HEURISTIC.value),
        "status": ", ".join(f"{name} {statuses.count(name)}" for name in sorted(set(statuses))),
        "objective": _mean(values["objective"]),
        "objective_exact": None if exact is None else str(exact),
        "objective_min": min(values["objective"], default=math.nan),
        "objective_max": max(values["objective"], default=math.nan),
        "lower_bound": math.nan if bound is None else float(bound),
        "lower_bound_exact": None if bound is None else str(bound),
        "gap_max": math.nan if bound is None else max(values["gap"]),
        "train_accuracy": _mean(values["train_accuracy"]),
        "train_spread": _deviation(values["train_accuracy"]),
        "test_accuracy": _mean(tests),
        "test_spread": spread,
        "test_error": spread / math.sqrt(len(tests)) if len(tests) > 1 else math.nan,
        "splits": _mean(values["splits"]),
        "splits_min": min(values["splits"], default=math.nan),
        "splits_max": max(values["splits"], default=math.nan),
        "leaves": _mean(values["leaves"]),
        "depth": _mean(values["depth"]),
        "depth_max": max(values["depth"], default=math.nan),
        "seconds": _mean(values["seconds"]),
        "seconds_max": max(values["seconds"], default=math.nan),
        "iterations": _mean(values["iterations"]),
        "peak_bytes": max(values["peak_bytes"], default=math.nan),
    }


def _interval(row: _Row) -> dict[str, Any]:
    """Where an interval of λ begins and ends; nothing for a single λ."""
    if "lam_end_exact" not in row:
        return {"lam_start_exact": None, "lam_end": math.nan, "lam_end_exact": None}
    end = row["lam_end_exact"]
    known = isinstance(end, str)
    return {
        "lam_start_exact": row["lam_exact"],
        "lam_end": float(Fraction(end)) if known else math.inf,
        "lam_end_exact": end if known else None,
    }


def complete(table: pd.DataFrame) -> pd.DataFrame:
    """The λ at which every planned run was scored on held-out rows."""
    return table[table["test_accuracy"].notna() & (table["runs"] == table["expected"])]


def choose(table: pd.DataFrame) -> tuple[str | None, str | None]:
    """The λ that cross-validation picks: the minimum of the error, and within one standard error.

    Only λ that have all their folds take part. At a tie the larger λ, i.e. the smaller tree,
    wins. The second rule needs two folds or more.
    """
    full = complete(table)
    if full.empty:
        return None, None
    best = full[full["test_accuracy"] >= full["test_accuracy"].max() - 1e-12].iloc[0]
    if math.isnan(best["test_error"]):
        return str(best["lam_key"]), None
    within = full[full["test_accuracy"] >= best["test_accuracy"] - best["test_error"] - 1e-12]
    return str(best["lam_key"]), str(within.iloc[0]["lam_key"])


@lru_cache(maxsize=10_000)
def signature(text: str) -> str:
    """What a stored tree asks and answers, without its counts."""
    data = json.loads(text)
    classes = data["classes"]
    return json.dumps(
        [(n.get("test"), n.get("children"), classes[n["prediction"]]) for n in data["nodes"]]
    )


def _trees(rows: list[_Row], most: int | None = None) -> tuple[PathTree, ...]:
    """The distinct trees at one λ: those of most folds first, then those of earlier folds."""
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        groups.setdefault(signature(row["tree"]), []).append(row)
    # Sorting keeps the order of what is equal.
    common = sorted(groups.items(), key=lambda item: -len(item[1]))
    return tuple(_tree(name, same, len(rows)) for name, same in common[:most])


def _tree(name: str, same: list[_Row], of: int) -> PathTree:
    first = same[0]
    tests = [row["test_accuracy"] for row in same if is_number(row["test_accuracy"])]
    interval = _interval(first)
    start, end = interval["lam_start_exact"], interval["lam_end_exact"]
    return PathTree(
        tree=Tree.from_json(first["tree"]),
        signature=name,
        lams=(str(first["lam_text"]),),
        runs=(len(same),),
        of=(of,),
        fold=int(first["fold"]) if is_number(first["fold"]) else None,
        proven=all(row["status"] == Status.OPTIMAL.value for row in same),
        errors=int(first["errors"]),
        total_weight=int(first["total_weight"]),
        test_accuracy=_mean(tests) if tests else None,
        start=None if start is None else Fraction(start),
        end=None if end is None else Fraction(end),
    )


def _along(trees: Sequence[PathTree]) -> tuple[PathTree, ...]:
    """Join what is the same tree at neighbouring λ."""
    joined: list[PathTree] = []
    for tree in trees:
        last = joined[-1] if joined else None
        if last is None or last.signature != tree.signature:
            joined.append(tree)
            continue
        joined[-1] = replace(
            last,
            lams=last.lams + tree.lams,
            runs=last.runs + tree.runs,
            of=last.of + tree.of,
            proven=last.proven and tree.proven,
            start=tree.start,
        )
    return tuple(joined)
