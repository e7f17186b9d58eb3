"""The λ-path of each dataset, encoding and solver: its points, its trees and the chosen λ."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pipelines.report.analysis.path_points import CELL, Points, make_points
from pipelines.report.analysis.path_trees import PathTree, found_trees, trees_along
from pipelines.report.data import metrics
from pipelines.report.data.exact_path_cross_validation import FoldLosses, choose, cross_validate
from pipelines.report.data.exact_paths import (
    ExactPath,
    Row,
    at_intervals,
    read_exact_paths,
    records,
)
from pipelines.report.data.group_statistics import firsts, floats, groups
from pipelines.report.data.results import Results

Cell: TypeAlias = tuple[str, str, str]
"""A dataset, an encoding and a solver."""

MINIMUM, ONE_SE = "minimum", "one standard error"


@dataclass(frozen=True)
class LambdaPath:
    """The λ-path of a dataset, an encoding and a solver.

    ``table`` has one row a λ, from large to small, see
    :func:`pipelines.report.analysis.path_points.make_points`. On an exact path each row is an
    interval between two breakpoints of any fold. There only the objective varies; its value is that
    at the start. ``minimum`` is the key of the λ of best mean test score, ``one_se`` that of the
    largest λ within one standard error of it. Both are None without validation, and where no λ has
    all its folds.
    """

    dataset: str
    encoding: str
    solver: str
    table: pd.DataFrame
    points: Points  # the table is a part of theirs
    first: int  # where it begins there
    trees: tuple[PathTree, ...]  # at each λ the tree that most folds found
    minimum: str | None
    one_se: str | None
    grid: pd.DataFrame  # the table at the λ of the dataset's other cells
    exact_paths: tuple[ExactPath, ...] = ()  # of each run; none for runs at single λ

    @property
    def names(self) -> dict[str, str]:
        """Its dataset, encoding and solver."""
        return {"dataset": self.dataset, "encoding": self.encoding, "solver": self.solver}

    def rows_in(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Its rows in a table of runs."""
        return rows_of_cell(frame, self.dataset, self.encoding, self.solver)

    @property
    def proves(self) -> bool:
        """Whether an exact path's solver proves anything."""
        return any(one.bounds is not None for one in self.exact_paths)

    @property
    def lam_min(self) -> Fraction:
        """Where an exact path starts."""
        return Fraction(self.table["lam_start_exact"].iloc[-1])

    def point(self, key: str) -> pd.Series[Any]:
        """The row of a λ."""
        return self.table.loc[self.table["lam_key"] == key].iloc[0]

    @cached_property
    def fold_trees(self) -> dict[str, tuple[PathTree, ...]]:
        """The distinct trees of the folds at ``minimum`` and ``one_se``, by key."""
        keys = dict.fromkeys(key for key in (self.minimum, self.one_se) if key is not None)
        return {key: self.trees_at(key) for key in keys}

    def trees_at(self, key: str) -> tuple[PathTree, ...]:
        """The distinct trees of the folds at one λ, most common first. ``trees`` has them with the
        counts and folds of another λ where neighbours are joined."""
        place = self.table["lam_key"].tolist().index(key)
        return found_trees(self.points, self.first + place)


def make_paths(results: Results) -> list[LambdaPath]:
    """All λ-paths of a sweep with at least one run, in the order of its file."""
    rows, at_grid, missing = results.by_lambda, results.at_grid, results.missing_by_lambda
    if rows.empty:
        return []
    grid = _expecting(make_points(at_grid), at_grid, missing)
    grids = {name: i for i, name in enumerate(_cells(grid))}
    stepped: dict[Cell, LambdaPath] = {}
    plain = grid
    if rows["exact"].any():
        stepped = _exact(rows, missing, grid)
        plain = _expecting(make_points(rows), rows, missing)
    places = {name: i for i, name in enumerate(_cells(plain))}
    along = trees_along(plain)
    found = []
    for cell in product(results.datasets, results.encodings, results.solvers):
        if cell in stepped:
            found.append(stepped[cell])
        elif cell in places:
            table = grid.of_cell(grids[cell]) if cell in grids else None
            found.append(_path(plain, places[cell], along[places[cell]], table))
    return found


def least_objectives(paths: Sequence[LambdaPath]) -> pd.Series[float]:
    """The least objective of an encoding at each λ, whatever the solvers' limits on trees."""
    points = pd.concat([path.grid.assign(encoding=path.encoding) for path in paths])
    return points.groupby(["encoding", "lam_key"])["objective"].min()


def _cells(points: Points) -> list[Cell]:
    return _tuples(points.table.iloc[points.cells[:-1]][["dataset", "encoding", "solver"]])


def _tuples(frame: pd.DataFrame) -> list[Cell]:
    return [*frame.astype(object).itertuples(index=False, name=None)]


def _expecting(points: Points, rows: pd.DataFrame, missing: pd.DataFrame) -> Points:
    """The points with the number of runs that were planned at each: the folds of its cell."""
    planned = pd.concat([_cells_and_folds(part) for part in (rows, missing)])
    folds = planned.drop_duplicates().groupby(CELL).size()
    index = pd.MultiIndex.from_frame(points.table[["dataset", "encoding", "solver"]])
    expected = np.maximum(points.table["expected"], folds.reindex(index).to_numpy())
    return replace(points, table=points.table.assign(expected=expected))


def _cells_and_folds(rows: pd.DataFrame) -> pd.DataFrame:
    """Each fold of each cell once; −1 is the whole table."""
    places = ["repeat", "fold"]
    first = rows.iloc[firsts(groups(rows, [*CELL, *places]))]
    numbers = {name: np.nan_to_num(floats(first[name]), nan=-1) for name in places}
    return first[CELL].astype(object).assign(**numbers)


def _exact(rows: pd.DataFrame, missing: pd.DataFrame, grid: Points) -> dict[Cell, LambdaPath]:
    """The exact paths of all cells that have one; ``grid`` has the points at single λ."""
    paths: defaultdict[Cell, list[ExactPath]] = defaultdict(list)
    failed: defaultdict[Cell, list[Row]] = defaultdict(list)
    for one in read_exact_paths(rows):
        paths[_cell(one.row)].append(one)
    for row in records(rows[rows["exact"] & ~rows["ok"]]):
        failed[_cell(row)].append(row)
    if not paths:
        return {}
    intervals = [row for cell, own in paths.items() for row in at_intervals(own, failed[cell])]
    points = make_points(pd.DataFrame(intervals, columns=[*rows.columns, "lam_end_exact"]))
    counts = _tally(rows) + _tally(missing)
    planned = [counts[cell] for cell in paths]
    expected = np.repeat(planned, np.diff(points.cells))
    points = replace(points, table=points.table.assign(expected=expected))
    places = {name: i for i, name in enumerate(_cells(grid))}
    found = {}
    for number, ((cell, own), trees) in enumerate(
        zip(paths.items(), trees_along(points), strict=True)
    ):
        if cell in places:
            at_grid = grid.of_cell(places[cell])
        else:
            at_grid = make_points(rows_of_cell(rows, *cell)).table
        at_grid = at_grid.assign(expected=planned[number])
        path = _path(points, number, trees, at_grid, _choice(own, planned[number]))
        found[cell] = replace(path, exact_paths=tuple(own))
    return found


def _tally(rows: pd.DataFrame) -> Counter[Cell]:
    """The number of rows of each cell."""
    numbers = groups(rows, CELL)
    cells = _tuples(rows[CELL].iloc[firsts(numbers)])
    return Counter(dict(zip(cells, np.bincount(numbers).tolist(), strict=True)))


def _cell(row: Row) -> Cell:
    """The cell of a run."""
    return row["dataset"], row["encoding_label"], row["solver_label"]


def rows_of_cell(frame: pd.DataFrame, dataset: str, encoding: str, solver: str) -> pd.DataFrame:
    """The rows of a dataset, encoding and solver."""
    return frame[
        (frame["dataset"] == dataset)
        & (frame["encoding_label"] == encoding)
        & (frame["solver_label"] == solver)
    ]


_Choice: TypeAlias = tuple[str | None, str | None]


def _path(
    points: Points,
    number: int,
    trees: tuple[PathTree, ...],
    grid: pd.DataFrame | None = None,
    chosen: _Choice | None = None,
) -> LambdaPath:
    table = points.of_cell(number)
    minimum, one_se = chosen or choose_on_grid(table)
    names: dict[str, list[str]] = {}
    for word, key in ((MINIMUM, minimum), (ONE_SE, one_se)):
        if key is not None:
            names.setdefault(key, []).append(word)
    marks = {key: " + ".join(words) for key, words in names.items()}
    table["chosen"] = pd.Series([marks.get(key, "") for key in table["lam_key"]], dtype=object)
    first = table.iloc[0]
    return LambdaPath(
        dataset=first["dataset"],
        encoding=first["encoding"],
        solver=first["solver"],
        table=table,
        points=points,
        first=int(points.cells[number]),
        trees=trees,
        minimum=minimum,
        one_se=one_se,
        grid=table.drop(columns="chosen") if grid is None else grid,
    )


def _choice(exact_paths: Sequence[ExactPath], planned: int) -> _Choice:
    """The λ that cross-validation picks on exact paths, in exact arithmetic; none if a fold is
    missing."""
    folds = [
        FoldLosses(one.starts, losses)
        for one in exact_paths
        if (losses := one.test_losses) is not None
    ]
    if len(folds) < planned:
        return None, None
    intervals, scores = cross_validate(folds)
    minimum, one_se = choose(scores)
    return str(intervals[minimum].start), None if one_se is None else str(intervals[one_se].start)


def complete(table: pd.DataFrame) -> pd.DataFrame:
    """The λ at which every planned run was scored on held-out rows."""
    return table[table["test_score"].notna() & (table["runs"] == table["expected"])]


def choose_on_grid(table: pd.DataFrame) -> tuple[str | None, str | None]:
    """The λ of best mean score, and the largest λ within one standard error of it. Only λ with all
    their folds count. In a tie the larger λ wins. The second rule needs two folds or more."""
    full = complete(table)
    if full.empty:
        return None, None
    scores = full["test_score"]
    best = full[scores >= metrics.at_least(scores.max())].iloc[0]
    if math.isnan(best["test_error"]):
        return str(best["lam_key"]), None
    within = full[scores >= metrics.at_least(best["test_score"], best["test_error"])]
    return str(best["lam_key"]), str(within.iloc[0]["lam_key"])
