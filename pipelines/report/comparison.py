"""Who is best, and by how much: solvers and encodings side by side."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pipelines.report.paths import Path
from pipelines.report.results import Results
from solver.solution import Status


def add_excess(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with trees, with what each objective is above the best known one.

    The best one is the smallest objective that any solver has for the same problem and λ; it need
    not be proven. Added are ``excess`` (float), ``excess_exact`` (a fraction) and ``solvers``, the
    number of solvers that the row was compared with, itself included.
    """
    good = rows[rows["ok"]].copy()
    exact = good["objective_exact"].map(Fraction)
    same = [good["problem"], good["lam_exact"]]
    least = exact.groupby(same).transform(min) if len(good) else exact
    above = [a - b for a, b in zip(exact, least, strict=True)]
    good["excess"] = np.array([float(value) for value in above], dtype=float)
    good["excess_exact"] = [str(value) for value in above]
    good["solvers"] = (
        good.groupby(["problem", "lam_exact"])["solver_label"].transform("nunique")
        if len(good)
        else 0
    )
    return good


def compare(paths: list[Path], excess: pd.DataFrame) -> pd.DataFrame:
    """One row a dataset, encoding, λ and solver: means over folds, and the distance to the best.

    Parameters
    ----------
    paths : list of Path
    excess : DataFrame
        From :func:`add_excess` of ``Results.at_grid``, as an exact path is compared at every λ.
    """
    if not paths:
        return pd.DataFrame()
    table = pd.concat([path.grid for path in paths], ignore_index=True)
    by = ["dataset", "encoding_label", "solver_label", "lam_key"]
    means = excess.groupby(by).agg(
        excess=("excess", "mean"), excess_max=("excess", "max"), compared=("solvers", "max")
    )
    keys = pd.MultiIndex.from_frame(table[["dataset", "encoding", "solver", "lam_key"]])
    for column in means:
        table[str(column)] = means[column].reindex(keys).to_numpy()
    table["best"] = (table["excess_max"] == 0) & (table["compared"] > 1)
    kept = [
        "dataset", "encoding", "lam", "lam_text", "solver", "status", "runs", "failed", "expected",
        "optimal", "heuristic", "objective", "objective_exact", "gap_max", "excess", "excess_max",
        "best", "compared", "splits", "leaves", "train_accuracy", "test_accuracy", "seconds",
        "seconds_max", "iterations", "peak_bytes", "lam_key",
    ]  # fmt: skip
    return table[kept]


def rank(results: Results, excess: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """What each solver did, over all λ, folds and whatever is not in ``by``.

    Parameters
    ----------
    by : list of str
        Columns that make a row, e.g. ``["encoding_label", "solver_label"]``.
    """
    records = []
    missing = results.missing.groupby(by).size().to_dict() if len(results.missing) else {}
    trees = dict(list(excess.groupby(by, sort=False)))
    for cell, group in results.rows.groupby(by, sort=False):
        # Costs are those of runs: an exact path is one run that is compared at many λ.
        good, ran = trees.get(cell, excess.iloc[:0]), group[group["ok"]]
        compared = good[good["solvers"] > 1]
        status = group["status"]
        records.append(
            dict(zip(by, cell, strict=True))
            | {
                "runs": len(group),
                "optimal": int((status == Status.OPTIMAL.value).sum()),
                "heuristic": int((status == Status.HEURISTIC.value).sum()),
                "limit": int(status.isin([s.value for s in Status if s.is_limit]).sum()),
                "stopped": int((status == Status.STOPPED.value).sum()),
                "failed": len(group) - len(ran),
                "missing": int(missing.get(cell, 0)),
                "gap_max": good["gap"].max() if len(good) else math.nan,
                "compared": len(compared),
                "best": int((compared["excess"] == 0).sum()),
                "excess": compared["excess"].mean() if len(compared) else math.nan,
                "excess_max": compared["excess"].max() if len(compared) else math.nan,
                "seconds_median": ran["seconds"].median() if len(ran) else math.nan,
                "seconds_total": ran["seconds"].sum() if len(ran) else math.nan,
                "iterations_median": ran["iterations"].median() if len(ran) else math.nan,
                "nodes_median": ran["nodes"].median() if len(ran) else math.nan,
                "peak_bytes": ran["peak_bytes"].max() if len(ran) else math.nan,
            }
        )
    columns = [*by, "runs", "optimal", "heuristic", "limit", "stopped", "failed", "missing"]
    frame = pd.DataFrame(records) if records else pd.DataFrame(columns=columns)
    return results.sort(frame).rename(
        columns={"encoding_label": "encoding", "solver_label": "solver"}
    )


def proof_times(results: Results) -> pd.DataFrame:
    """Each run of a solver that can prove, with the seconds its proof took.

    ``proven`` is False and ``seconds`` missing where there is no proof: after a limit or a
    failure. Heuristics are left out.
    """
    rows = results.rows[results.rows["status"] != Status.HEURISTIC.value]
    proves = results.rows.groupby("solver_label")["lower_bound"].transform("count") > 0
    rows = rows[proves.reindex(rows.index)]
    proven = rows["status"] == Status.OPTIMAL.value
    return pd.DataFrame(
        {
            "dataset": rows["dataset"],
            "encoding": rows["encoding_label"],
            "solver": rows["solver_label"],
            "lam": rows["lam"],
            "fold": rows["fold"],
            "proven": proven,
            "seconds": rows["seconds"].where(proven),
        }
    ).reset_index(drop=True)


def encoding_facts(comparison: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """For each dataset, at how many λ each encoding reaches the lowest mean objective.

    Encodings are different problems; this is information, not a contest of solvers.
    """
    facts: dict[str, dict[str, Any]] = {}
    if comparison.empty:
        return facts
    full = comparison[(comparison["runs"] == comparison["expected"]) & (comparison["runs"] > 0)]
    for dataset, group in full.groupby("dataset", sort=False):
        if group["encoding"].nunique() < 2:
            continue
        wins: dict[str, int] = {}
        lams = 0
        for _, at in group.groupby("lam_key", sort=False):
            least = at.groupby("encoding", sort=False)["objective"].min()
            if len(least) < 2:
                continue
            lams += 1
            for name in least.index[least <= least.min() + 1e-12]:
                wins[str(name)] = wins.get(str(name), 0) + 1
        if lams:
            best = max(wins, key=lambda name: wins[name])
            facts[str(dataset)] = {"encoding": best, "wins": wins[best], "lams": lams}
    return facts
