"""Comparisons of solvers and encodings: which is best, and by how much."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.report.analysis.lambda_paths import LambdaPath
from pipelines.report.data.exact_paths import run_gaps
from pipelines.report.data.group_statistics import (
    ExactColumns,
    Floats,
    Ints,
    differences,
    firsts,
    floats,
    groups,
    least_of,
)
from pipelines.report.data.metrics import COLUMNS, REGRESSION, open_gap
from pipelines.report.data.results import LABELS, Results
from pipelines.report.data.store_reader import decompress
from solver.solution import Status
from solver.trees.tree import Tree

_CELL = ["dataset", "encoding_label", "solver_label"]

_COMPARED = [
    "key", "problem", "dataset", "encoding_label", "solver_label", "lam_key", "lam_exact",
    "objective_exact", "gap", "tolerance",
]  # fmt: skip


def add_excess(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with trees, few columns, and how far each objective is above the best known one.

    The best is the smallest objective of any solver for the same problem and λ, proven or not.
    Adds ``excess`` (float), ``excess_exact`` (a fraction), ``solvers``, the number of solvers
    compared, and ``share``, the excess as a share of the rows, in regression of the target's
    variance. Objectives of regression within the tolerance are equal.
    """
    good = rows.loc[rows["ok"], _COMPARED]
    same = groups(good, ["problem", "lam_exact"])
    above, texts = above_least(good, same)
    # The number of solvers of each group is its number of pairs of group and solver.
    pair = groups(good.assign(_same=same), ["_same", "solver_label"])
    solvers = np.bincount(same[firsts(pair)], minlength=1) if len(good) else np.zeros(1, np.int64)
    good = good.assign(gap=open_gap(floats(good["gap"]), good))
    good["share"] = above / units_of(rows[rows["ok"]])
    return good.assign(excess=above, excess_exact=texts, solvers=solvers[same])


def above_least(table: pd.DataFrame, same: Ints) -> tuple[Floats, NDArray[np.object_]]:
    """How far each ``objective_exact`` is above the least one of its group, as a float and as a
    fraction. Both are 0 within the ``tolerance``."""
    exact = ExactColumns(table["objective_exact"])
    codes = exact.codes()
    above, texts = differences(exact, codes, codes[least_of(exact.ranks(), same)])
    equal = above <= np.nan_to_num(floats(table["tolerance"]))
    above[equal], texts[equal] = 0.0, "0"
    return above, texts


def units_of(rows: pd.DataFrame) -> Floats:
    """The unit of each objective: 1, or the variance of a regression's target."""
    units = np.ones(len(rows))
    numbers = np.flatnonzero((rows["task"] == REGRESSION).to_numpy(bool))
    # Trees of one problem are of the same rows, so their roots are the same.
    same = groups(rows.iloc[numbers], ["problem"])
    for number, place in enumerate(firsts(same)):
        row = rows.iloc[numbers[place]]
        root = Tree.from_json(decompress(row["tree"])).nodes[0]
        variance = float(root.squared_error / int(row["total_weight"]))
        units[numbers[same == number]] = variance or 1.0
    return units


def compare(paths: list[LambdaPath], excess: pd.DataFrame) -> pd.DataFrame:
    """One row a dataset, encoding, λ and solver: means over folds, and the distance to the best,
    from :func:`add_excess` of ``Results.at_grid``."""
    if not paths:
        return pd.DataFrame()
    table = pd.concat([path.grid for path in paths], ignore_index=True)
    by = ["dataset", "encoding_label", "solver_label", "lam_key"]
    small = excess[[*by, "excess", "solvers"]].astype(dict.fromkeys(by, object))
    means = small.groupby(by).agg(
        excess=("excess", "mean"), excess_max=("excess", "max"), compared=("solvers", "max")
    )
    keys = pd.MultiIndex.from_frame(table[["dataset", "encoding", "solver", "lam_key"]])
    for column in means:
        table[str(column)] = means[column].reindex(keys).to_numpy()
    table["best"] = (table["excess_max"] == 0) & (table["compared"] > 1)
    kept = [
        "dataset", "encoding", "lam", "lam_text", "solver", "status", "runs", "failed", "expected",
        "optimal", "heuristic", "objective", "objective_exact", "tolerance", "gap_max",
        "excess", "excess_max", "best", "compared", "splits", "leaves", "task", "loss", *COLUMNS,
        "test_error", "seconds", "seconds_max", "iterations", "peak_bytes", "lam_key", "lam_exact",
    ]  # fmt: skip
    return table[kept]


def rank(results: Results, excess: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """The figures of each solver over all λ and folds, one row for each value of the columns
    ``by``. If the dataset is not among them, ``excess`` is the ``share`` of :func:`add_excess`."""
    rows = results.rows
    number = groups(rows, by)
    first = rows[by].iloc[firsts(number)].astype(object).reset_index(drop=True)
    status, ok = rows["status"], rows["ok"].to_numpy(bool)
    limits, n = [s.value for s in Status if s.is_limit], len(first)

    def count(chosen: Any) -> Ints:
        return np.bincount(number[np.asarray(chosen, bool)], minlength=n)

    frame = first.assign(
        runs=np.bincount(number, minlength=n),
        optimal=count(status == Status.OPTIMAL.value),
        heuristic=count(status == Status.HEURISTIC.value),
        limit=count(status.isin(limits)),
        stopped=count(status == Status.STOPPED.value),
        failed=count(~ok),
        missing=_at(first, by, results.missing.groupby(by, observed=True).size(), 0),
    )
    # An exact path is compared at many λ, but it has the costs of one run.
    above = "excess" if "dataset" in by else "share"
    # A run whose λ has two names counts once.
    best = excess[excess["solvers"] > 1].drop_duplicates(["dataset", "key", "lam_exact"])
    compared = _grouped(best.assign(best=best["excess"] == 0)[[*by, "best", above]], by)
    known = rows.loc[ok, by].assign(gap=run_gaps(rows[ok]))
    costs = ["seconds", "iterations", "nodes", "peak_bytes"]
    ran = _grouped(rows.loc[ok, [*by, *costs]], by)
    frame["gap_max"] = _at(first, by, _grouped(known, by)["gap"].max())
    frame["compared"] = _at(first, by, compared.size(), 0)
    frame["best"] = _at(first, by, compared["best"].sum(), 0)
    frame["excess"] = _at(first, by, compared[above].mean())
    frame["excess_max"] = _at(first, by, compared[above].max())
    for name in ("seconds", "iterations", "nodes"):
        frame[f"{name}_median"] = _at(first, by, ran[name].median())
        if name == "seconds":
            frame["seconds_total"] = _at(first, by, ran[name].sum())
    frame["peak_bytes"] = _at(first, by, ran["peak_bytes"].max())
    return results.sort(frame).rename(columns=LABELS)


def _grouped(frame: pd.DataFrame, by: list[str]) -> Any:
    """The groups that have rows."""
    return frame.groupby(by, observed=True, sort=False)


def _at(first: pd.DataFrame, by: list[str], found: pd.Series[Any], none: float = math.nan) -> Any:
    """The value of each group in the order of the groups."""
    if found.empty:
        return np.full(len(first), none)
    keys = first[by[0]] if len(by) == 1 else pd.MultiIndex.from_frame(first[by])
    if len(by) > 1:
        found.index = pd.MultiIndex.from_frame(found.index.to_frame().astype(object))
    else:
        found.index = found.index.astype(object)
    return found.reindex(keys, fill_value=none).to_numpy()


def proof_times(results: Results) -> pd.DataFrame:
    """Each run of a solver that can prove, with the seconds of its proof. After a limit or failure
    ``proven`` is False and ``seconds`` missing."""
    used = [*_CELL, "lam", "fold", "status", "lower_bound", "seconds"]
    rows = results.rows[used][(results.rows["status"] != Status.HEURISTIC.value).to_numpy()]
    proving = rows.loc[rows["lower_bound"].notna(), "solver_label"].unique()
    rows = rows[rows["solver_label"].isin(proving)].rename(columns=LABELS)
    proven = rows["status"] == Status.OPTIMAL.value
    rows = rows.assign(proven=proven, seconds=rows["seconds"].where(proven))
    kept = ["dataset", "encoding", "solver", "lam", "fold", "proven", "seconds"]
    return rows[kept].reset_index(drop=True)


def encoding_facts(comparison: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """For each dataset the encoding that reaches the lowest mean objective at most λ. This is only
    information, as encodings are different problems."""
    facts: dict[str, dict[str, Any]] = {}
    if comparison.empty:
        return facts
    full = comparison[(comparison["runs"] == comparison["expected"]) & (comparison["runs"] > 0)]
    for dataset, group in full.groupby("dataset", sort=False):
        if group["encoding"].nunique() < 2:
            continue
        above, _ = above_least(group, groups(group, ["lam_key"]))
        by = ["lam_key", "encoding"]
        least = group.assign(above=above).groupby(by, sort=False)["above"].min().unstack()
        least = least[least.notna().sum(axis=1) > 1]
        if least.empty:
            continue
        is_best = least.eq(0)
        at_best = is_best.sum()
        best = max(at_best.index, key=lambda name: at_best[name])
        shared = int((is_best[best] & (is_best.sum(axis=1) > 1)).sum())
        wins = {"encoding": best, "wins": int(at_best[best]), "lams": len(least)}
        at = f"at {wins['wins']} of {len(least)} λ"
        also = f" (at {shared} of them another encoding has the same)" if shared else ""
        facts[str(dataset)] = wins | {"where": at + also}
    return facts
