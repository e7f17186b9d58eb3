"""Compare a published table with our results, by the columns that it has."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from pipelines.reproduce.branches_tables import printed_rows
from pipelines.reproduce.quantbnb_training_accuracies import (
    compare_accuracies,
    is_accuracies,
    verdict,
)
from solver.errors import InputError
from solver.objective.exact_objective import as_lambda
from solver.solution import Status
from sweep.plan.task_keys import allowed_trees

ENCODINGS = {
    "o": "categorical",
    "full": "onehot",
    "f": "onehot-drop-first",
    "l": "onehot-drop-last",
}
"""Our names of the published encodings."""

ROWS = {row.dataset: row.shape[0] for row in printed_rows()} | {"balance-scale": 625}
"""How many rows the tables of the BRANCHES paper have. Those of the monks are the training files,
and not the complete tables, whose names are the same."""

_NEEDED = ["dataset", "encoding", "lambda", "h_lambda", "iterations", "seconds", "proven_optimal"]


def read_published(path: str | Path) -> pd.DataFrame:
    """Read a published table. Numbers stay text, so that no digit is lost.

    Raises InputError if it cannot be read or lacks a column.
    """
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the published table {path}: {error}") from None
    if is_accuracies(table):
        return table
    lacking = [name for name in _NEEDED if name not in table.columns]
    if lacking:
        raise InputError(f"the published table {path} has no column {lacking[0]!r}")
    return table


def reproduce(results: pd.DataFrame, published_csv: str | Path) -> pd.DataFrame:
    """A published table of the BRANCHES or the Quant-BnB paper next to our results.

    The columns decide between :func:`reproduce_branches` and
    :func:`pipelines.reproduce.quantbnb_training_accuracies.compare_accuracies`.
    Raises InputError if the table cannot be used.
    """
    table = read_published(published_csv)
    if is_accuracies(table):
        return compare_accuracies(table, results)
    return reproduce_branches(results, published_csv)


def reproduce_branches(results: pd.DataFrame, published_csv: str | Path) -> pd.DataFrame:
    """The table of the BRANCHES paper next to our results.

    Objectives are printed as in the paper: H_λ = 1 − objective, maximised. Returns one row for each
    published one. ``verdict`` is ``same`` (both proven, and equal to the last printed digit),
    ``better``, ``no worse`` (equal, but one is not proven), ``worse``, or ``not run``. ``speed_up``
    is given if ours is proven; if the published run hit its limit, it is a lower bound. Raises
    InputError if the published table cannot be used.

    Parameters
    ----------
    results : DataFrame
        From :func:`sweep.store.read_results.read_results`. Runs of ``branches`` on the whole table
        at one λ count, if no limit excludes trees and the table has the :data:`ROWS` of the paper;
        of several modes the one with the best objective, and then a proof, and then the fastest, is
        taken.
    published_csv : str or Path
        Columns ``dataset``, ``encoding`` (``o``, ``full``, ``f``, ``l`` or one of our names),
        ``lambda``, ``h_lambda``, ``iterations``, ``seconds``, ``proven_optimal``.
    """
    table = read_published(published_csv)
    ours = results[
        (results["solver"] == "branches")
        & results["fold"].isna()
        & results["objective_exact"].notna()
        & results["path"].isna()
        & ~results["limits"].map(_excludes_trees).astype(bool)
    ]
    return pd.DataFrame([_compare(row, ours) for row in table.to_dict("records")])


def _excludes_trees(limits: str) -> bool:
    """Whether limits, as JSON, are not only on time, memory and nodes."""
    return bool(allowed_trees(json.loads(limits), {}))


def _compare(row: dict[Any, Any], ours: pd.DataFrame) -> dict[str, Any]:
    encoding = ENCODINGS.get(row["encoding"], row["encoding"])
    lam = str(as_lambda(row["lambda"]))
    # The published monks are the training files; the plain names are the complete tables.
    train = f"{row['dataset']}-train"
    name = train if (ours["dataset"] == train).any() else row["dataset"]
    same = ours[
        (ours["dataset"] == name) & (ours["encoding"] == encoding) & (ours["lam_exact"] == lam)
    ]
    if row["dataset"] in ROWS:
        same = same[same["n_rows"] == ROWS[row["dataset"]]]
    record: dict[str, Any] = {
        "dataset": row["dataset"],
        "encoding": row["encoding"],
        "lambda": row["lambda"],
        "published_h": row["h_lambda"],
        "published_iterations": int(row["iterations"]),
        "published_seconds": float(row["seconds"]),
        "published_proven": row["proven_optimal"] == "yes",
        "our_h": None,
        "our_objective_exact": None,
        "our_iterations": None,
        "our_seconds": None,
        "our_proven": None,
        "our_options": None,
        "speed_up": None,
        "iteration_ratio": None,
        "verdict": "not run",
    }
    if same.empty:
        return record
    exact = same["objective_exact"].map(Fraction)
    best = same[exact == exact.min()].assign(is_open=same["status"] != Status.OPTIMAL.value)
    best = best.sort_values(["is_open", "seconds"]).iloc[0]
    h = 1 - Fraction(best["objective_exact"])
    # Six digits are printed, without trailing zeros.
    digits = max(len(str(row["h_lambda"]).partition(".")[2]), 6)
    proven = best["status"] == Status.OPTIMAL.value
    both_proven = proven and record["published_proven"]
    seconds, iterations = float(best["seconds"]), int(best["iterations"])
    return record | {
        "our_h": f"{float(round(h, 6)):g}",
        "our_objective_exact": best["objective_exact"],
        "our_iterations": iterations,
        "our_seconds": seconds,
        "our_proven": proven,
        "our_options": best["solver_options"],
        "speed_up": record["published_seconds"] / seconds if proven and seconds > 0 else None,
        "iteration_ratio": iterations / record["published_iterations"],
        "verdict": verdict(h, Fraction(row["h_lambda"]), digits, both_proven),
    }
