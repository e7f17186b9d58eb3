"""Which problems hold claims that contradict each other, told by column and exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.report.data.columns import Ints, floats, groups
from pipelines.report.data.fraction_columns import Exact, least_of
from solver.solution import Status

_NEAR = 1e-9
"""Floats this close are compared as fractions."""


def suspects(rows: pd.DataFrame) -> NDArray[Any]:
    """The problems with a contradiction of any kind, see
    :func:`pipelines.report.analysis.checks.find_disagreements`.

    Parameters
    ----------
    rows : DataFrame
        Rows with a tree.
    """
    if rows.empty:
        return np.zeros(0, np.int64)
    exact = Exact(rows["objective_exact"], rows["lower_bound_exact"], rows["lam_exact"])
    objective, bound = exact.ranks(0), exact.ranks(1)
    optimal = (rows["status"] == Status.OPTIMAL.value).to_numpy(bool)
    known = bound >= 0
    strange = optimal & (objective != bound)
    strange |= known & (bound > objective)
    strange |= _wrongly_scored(rows, exact)
    problem = groups(rows, ["problem"])
    at = groups(pd.DataFrame({"p": problem, "lam": exact.ranks(2)}), ["p", "lam"])
    proven = np.flatnonzero(optimal)
    best = objective[proven]
    strange[proven] |= best != best[least_of(best, at[proven])]
    found: set[Any] = set(problem[strange].tolist())
    found |= _below_bounds(rows, exact, problem, at)
    return np.asarray(rows["problem"].to_numpy()[np.isin(problem, list(found))])


def _wrongly_scored(rows: pd.DataFrame, exact: Exact) -> NDArray[np.bool_]:
    """Whether errors, splits and λ do not give the objective."""
    names = ["errors", "total_weight", "splits"]
    figures = pd.DataFrame({n: floats(rows[n]) for n in names})
    figures["objective"], figures["lam"] = exact.codes(0), exact.codes(2)
    same = groups(figures, list(figures.columns))
    _, first = np.unique(same, return_index=True)
    columns = [figures[name].iloc[first].tolist() for name in figures]
    wrong = []
    for errors, weight, splits, value, lam in zip(*columns, strict=True):
        top, bottom = exact.ratios[lam]
        # Whole numbers: fractions would be brought to lowest terms first.
        scored = int(errors) * bottom + top * int(splits) * int(weight)
        numerator, denominator = exact.ratios[value]
        wrong.append(scored * denominator != numerator * int(weight) * bottom)
    return np.array(wrong, bool)[same]


def _below_bounds(rows: pd.DataFrame, exact: Exact, problem: Ints, at: Ints) -> set[Any]:
    """The problems in which a tree has an objective below a bound, at any λ."""
    bound = exact.ranks(1)
    holders = np.unique(least_of(-bound, at))
    holders = holders[bound[holders] >= 0]
    lam, values = exact.floats[exact.codes(2)], np.append(exact.floats, np.nan)
    figures = pd.DataFrame(
        {"p": problem, "errors": floats(rows["errors"]), "weight": floats(rows["total_weight"]),
         "splits": floats(rows["splits"])}
    )  # fmt: skip
    _, trees = np.unique(groups(figures, list(figures.columns)), return_index=True)
    found: set[Any] = set()
    by_problem = pd.DataFrame({"p": problem[trees], "tree": trees}).groupby("p")["tree"]
    own_trees = {p: group.to_numpy() for p, group in by_problem}
    for p, group in pd.DataFrame({"p": problem[holders], "h": holders}).groupby("p")["h"]:
        lines = _lowest(figures.iloc[own_trees[p]])
        for part in np.array_split(group.to_numpy(), 1 + len(group) // 4096):
            value = lines["loss"].to_numpy() + lam[part][:, None] * lines["splits"].to_numpy()
            limit = values[exact.codes(1)[part]][:, None]
            row, line = np.nonzero(value < limit + _NEAR * (1 + limit))
            if _any_below(lines.iloc[line], part[row], exact):
                found.add(p)
                break
    return found


def _any_below(trees: pd.DataFrame, holders: Ints, exact: Exact) -> bool:
    """Whether any of some trees has an objective below the bound of its row, exactly."""
    pairs = zip(
        *(trees[name].tolist() for name in ("errors", "weight", "splits")),
        *(exact.codes(column)[holders].tolist() for column in (1, 2)),
        strict=True,
    )
    for errors, weight, splits, bound, lam in pairs:
        top, bottom = exact.ratios[lam]
        numerator, denominator = exact.ratios[bound]
        scored = int(errors) * bottom + top * int(splits) * int(weight)
        if scored * denominator < numerator * int(weight) * bottom:
            return True
    return False


def _lowest(trees: pd.DataFrame) -> pd.DataFrame:
    """Of the trees with equal splits that of least loss; the others are nowhere lower."""
    trees = trees.assign(loss=trees["errors"] / trees["weight"])
    trees = trees.sort_values(["splits", "loss"], kind="stable")
    if trees["weight"].nunique() > 1:
        return trees
    return trees.drop_duplicates("splits")
