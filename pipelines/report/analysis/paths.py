"""The λ-path of a dataset, an encoding and a solver: what changes as a split gets cheaper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pipelines.report.analysis.path_trees import PathTree, found_trees, trees_along
from pipelines.report.analysis.points import CELL, Points, make_points
from pipelines.report.data import cross_validation, metrics
from pipelines.report.data.columns import firsts, floats, groups
from pipelines.report.data.path_steps import Stairs, at_intervals, read_stairs
from pipelines.report.data.results import Results

MINIMUM, ONE_SE = "minimum", "one standard error"


@dataclass(frozen=True)
class Path:
    """A λ-path.

    Parameters
    ----------
    dataset, encoding, solver : str
        As in :class:`pipelines.report.data.results.Results`.
    table : DataFrame
        One row a λ, from large to small, see :func:`pipelines.report.analysis.points.make_points`.
        On an exact path one row an interval between two breakpoints of any fold, where all of its
        figures but the objective are constant; the objective is that at its start.
    trees : tuple of PathTree
        Along the path. Where there are folds: at each λ the tree that most folds found.
    fold_trees : dict
        For each chosen λ (its key) all trees that the folds found there, the most common first.
    minimum, one_se : str or None
        Key of the λ of best mean test accuracy (of regression, of least mean squared error), and
        of the largest λ within one standard error of it; None without validation or where no λ has
        all its folds.
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

    @property
    def lam_min(self) -> Fraction:
        """Where an exact path starts."""
        return Fraction(self.table["lam_start_exact"].iloc[-1])

    def point(self, key: str) -> pd.Series[Any]:
        """The row of a λ."""
        return self.table.loc[self.table["lam_key"] == key].iloc[0]


def make_paths(results: Results) -> list[Path]:
    """All λ-paths of a sweep with at least one run, in the order of its file."""
    rows, at_grid, missing = results.by_lambda, results.at_grid, results.missing_by_lambda
    if rows.empty:
        return []
    grid = _expecting(make_points(at_grid), at_grid, missing)
    grids = {name: i for i, name in enumerate(_cells(grid))}
    stepped: dict[tuple[str, str, str], Path] = {}
    plain = grid
    if rows["exact"].any():
        stepped = _by_cell(rows, at_grid, missing)
        plain = _expecting(make_points(rows), rows, missing)
    places = {name: i for i, name in enumerate(_cells(plain))}
    along = trees_along(plain)
    found = []
    for dataset in results.datasets:
        for encoding in results.encodings:
            for solver in results.solvers:
                cell = (dataset, encoding, solver)
                if cell in stepped:
                    found.append(stepped[cell])
                elif cell in places:
                    number = places[cell]
                    table = grid.of_cell(grids[cell]) if cell in grids else None
                    found.append(_path(plain, number, along[number], table))
    return found


def _cells(points: Points) -> list[tuple[str, str, str]]:
    first = points.table.iloc[points.cells[:-1]][["dataset", "encoding", "solver"]]
    return [*first.itertuples(index=False, name=None)]


def _expecting(points: Points, rows: pd.DataFrame, missing: pd.DataFrame) -> Points:
    """The points with as many runs expected as their cell has folds, of all that were planned."""
    planned = pd.concat([_cells_and_folds(part) for part in (rows, missing)])
    folds = planned.drop_duplicates().groupby(CELL).size()
    index = pd.MultiIndex.from_frame(points.table[["dataset", "encoding", "solver"]])
    expected = np.maximum(points.table["expected"], folds.reindex(index).to_numpy())
    return replace(points, table=points.table.assign(expected=expected))


def _cells_and_folds(rows: pd.DataFrame) -> pd.DataFrame:
    """Each cell with each of its folds once; −1 is the whole table."""
    places = ["repeat", "fold"]
    first = rows.iloc[firsts(groups(rows, [*CELL, *places]))]
    numbers = {name: np.nan_to_num(floats(first[name]), nan=-1) for name in places}
    return first[CELL].astype(object).assign(**numbers)


def _by_cell(
    rows: pd.DataFrame, at_grid: pd.DataFrame, missing: pd.DataFrame
) -> dict[tuple[str, str, str], Path]:
    """The paths of those cells that were asked for whole ones, and have one."""
    whole = rows[rows["exact"] & rows["ok"]][CELL].drop_duplicates()
    found = {}
    for cell in whole.astype(object).itertuples(index=False, name=None):
        parts: list[pd.DataFrame] = [p[_is_cell(p, cell)] for p in (rows, at_grid, missing)]
        own, grid, to_come = parts
        found[cell] = make_path(own, len(own) + len(to_come), grid if len(grid) else own)
    return found


def _is_cell(frame: pd.DataFrame, cell: tuple[str, str, str]) -> pd.Series[bool]:
    dataset, encoding, solver = (
        frame[name] == value for name, value in zip(CELL, cell, strict=True)
    )
    both: pd.Series[bool] = dataset & encoding & solver
    return both


def make_path(rows: pd.DataFrame, planned: int, at_grid: pd.DataFrame) -> Path:
    """The exact path of the rows of one dataset, encoding and solver, with a tree in one of them.

    Parameters
    ----------
    planned : int
        Number of planned runs.
    at_grid : DataFrame
        The same rows from ``Results.at_grid``.
    """
    stairs, whole = read_stairs(rows), None
    if len({one.fold is None for one in stairs}) == 2:
        whole = next(one for one in stairs if one.fold is None)
        stairs = [one for one in stairs if one.fold is not None]
        planned -= int(rows["fold"].isna().sum())
        rows = rows[rows["fold"].notna()]
    points = make_points(at_intervals(rows, stairs))
    points = replace(points, table=points.table.assign(expected=planned))
    grid = make_points(at_grid).table.assign(expected=planned)
    (trees,) = trees_along(points)
    path = _path(points, 0, trees, grid, _choice(stairs, planned))
    path = replace(path, stairs=tuple(stairs), whole=whole)
    if whole is not None:
        (trees,) = trees_along(make_points(at_intervals(rows.iloc[:0], [whole])))
        path = replace(path, trees=trees)
    return path


_Choice: TypeAlias = tuple[str | None, str | None]


def _path(
    points: Points,
    number: int,
    trees: tuple[PathTree, ...],
    grid: pd.DataFrame | None = None,
    chosen: _Choice | None = None,
) -> Path:
    table = points.of_cell(number)
    minimum, one_se = chosen or choose(table)
    names: dict[str, list[str]] = {}
    for word, key in ((MINIMUM, minimum), (ONE_SE, one_se)):
        if key is not None:
            names.setdefault(key, []).append(word)
    marks = {key: " + ".join(words) for key, words in names.items()}
    table["chosen"] = pd.Series([marks.get(key, "") for key in table["lam_key"]], dtype=object)
    first, start, keys = table.iloc[0], int(points.cells[number]), table["lam_key"].tolist()
    return Path(
        dataset=first["dataset"],
        encoding=first["encoding"],
        solver=first["solver"],
        table=table,
        trees=trees,
        fold_trees={
            key: found_trees(points, start + keys.index(key))
            for key in (minimum, one_se)
            if key is not None
        },
        minimum=minimum,
        one_se=one_se,
        grid=table.drop(columns="chosen") if grid is None else grid,
    )


def _choice(stairs: Sequence[Stairs], planned: int) -> _Choice:
    """What cross-validation picks on exact paths, by exact figures; nothing if a fold lacks."""
    folds = [
        cross_validation.Fold(one.starts, losses)
        for one in stairs
        if (losses := one.test_losses) is not None
    ]
    if len(folds) < planned:
        return None, None
    intervals, scores = cross_validation.cross_validate(folds)
    minimum, one_se = cross_validation.choose(scores)
    return str(intervals[minimum].start), None if one_se is None else str(intervals[one_se].start)


def complete(table: pd.DataFrame) -> pd.DataFrame:
    """The λ at which every planned run was scored on held-out rows."""
    return table[table["test_score"].notna() & (table["runs"] == table["expected"])]


def choose(table: pd.DataFrame) -> tuple[str | None, str | None]:
    """The λ that cross-validation picks: the minimum of the error, and within one standard error.

    Only λ that have all their folds take part. At a tie the larger λ, i.e. the smaller tree,
    wins. The second rule needs two folds or more.
    """
    full = complete(table)
    if full.empty:
        return None, None
    scores = full["test_score"]
    slack = metrics.slack(scores)
    best = full[scores >= scores.max() - slack].iloc[0]
    if math.isnan(best["test_error"]):
        return str(best["lam_key"]), None
    within = full[scores >= best["test_score"] - best["test_error"] - slack]
    return str(best["lam_key"]), str(within.iloc[0]["lam_key"])
