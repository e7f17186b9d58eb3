"""Published training accuracies of optimal trees next to our results."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from solver.errors import InputError
from solver.solution import Status
from sweep.plan.task_keys import allowed_trees

_COLUMN = re.compile(r"depth(\d+)_accuracy_percent")
_ALL_CUTS = ("continuous", "thresholds")


def is_accuracies(table: pd.DataFrame) -> bool:
    """Whether a published table has accuracies by depth."""
    return any(_COLUMN.fullmatch(name) for name in table.columns)


def compare_accuracies(table: pd.DataFrame, results: pd.DataFrame) -> pd.DataFrame:
    """Table 6 of the Quant-BnB paper next to our results.

    Returns one row for each dataset and depth. ``our_percent`` is that of the best tree on all cuts
    (encodings ``continuous`` and ``thresholds``), ``mdlp_percent`` on the cuts of MDLP, both of
    searches that prove bounds; ``cart_percent`` is that of CART on all cuts. ``verdict`` is
    ``same`` (proven, and equal to the last printed digit), ``better``, ``no worse`` (equal, but not
    proven), ``worse``, or ``not run``. Raises InputError if the table cannot be used.

    Parameters
    ----------
    table : DataFrame
        Text, with columns ``dataset`` and ``depth2_accuracy_percent`` (likewise of other depths).
    results : DataFrame
        From :func:`sweep.store.read_results.read_results`. Only runs at one λ with this limit on
        depth, and none else that excludes trees, count, on all rows or on the given training rows.
        An optimum at λ = 0 is a proof of the accuracy.
    """
    if "dataset" not in table.columns:
        raise InputError("the published table has no column 'dataset'")
    depths = {name: int(m[1]) for name in table.columns if (m := _COLUMN.fullmatch(name))}
    runs = _usable(results)
    return pd.DataFrame(
        [
            _compare(row["dataset"], depth, row[name], runs)
            for row in table.to_dict("records")
            for name, depth in depths.items()
            if row[name]
        ]
    )


def _usable(results: pd.DataFrame) -> pd.DataFrame:
    """The runs on all training rows that have a tree, with their limit on depth."""
    # A list, since Series.map of a categorical column stays categorical.
    given = [(json.loads(text) or {}).get("kind") == "given" for text in results["validation"]]
    whole = results["fold"].isna() | pd.Series(given, results.index, dtype=bool)
    runs = results[whole & results["errors"].notna() & results["path"].isna()]
    pairs = zip(runs["limits"], runs["solver_options"], strict=True)
    allowed = [allowed_trees(json.loads(limits), json.loads(options)) for limits, options in pairs]
    runs = runs.assign(depth_limit=pd.array([one.get("depth") for one in allowed], dtype="Int64"))
    return runs[np.array([one.keys() <= {"depth"} for one in allowed], bool)]


def _compare(dataset: str, depth: int, printed: str, runs: pd.DataFrame) -> dict[str, Any]:
    own = runs[(runs["dataset"] == dataset) & (runs["depth_limit"] == depth)]
    on_all_cuts = own["encoding"].isin(_ALL_CUTS)
    is_cart = own["solver"] == "cart"
    is_search = own["lower_bound"].notna()  # TAO and solvers of others prove nothing
    searched = own[on_all_cuts & is_search]
    record: dict[str, Any] = {
        "dataset": dataset,
        "depth": depth,
        "published_percent": printed,
        "our_percent": None,
        "our_seconds": None,
        "our_proven": None,
        "our_options": None,
        "mdlp_percent": _best_percent(own[(own["encoding"] == "mdlp") & is_search]),
        "cart_percent": _best_percent(own[on_all_cuts & is_cart]),
        "verdict": "not run",
    }
    if searched.empty:
        return record
    proven = (searched["status"] == Status.OPTIMAL.value) & (searched["lam_exact"] == "0")
    ranked = searched.assign(proven=proven)
    best = ranked.sort_values(
        ["train_accuracy", "proven", "seconds"], ascending=[False, False, True]
    ).iloc[0]
    digits = len(printed.partition(".")[2])
    percent = 100 * (1 - Fraction(int(best["errors"]), int(best["total_weight"])))
    return record | {
        "our_percent": f"{float(percent):.{digits + 2}f}",
        "our_seconds": float(best["seconds"]),
        "our_proven": bool(best["proven"]),
        "our_options": best["solver_options"],
        "verdict": verdict(percent, Fraction(printed), digits, bool(best["proven"])),
    }


def _best_percent(runs: pd.DataFrame) -> float | None:
    return None if runs.empty else 100 * float(runs["train_accuracy"].max())


def verdict(ours: Fraction, theirs: Fraction, digits: int, proven: bool) -> str:
    """Compare our figure with a published one, which is rounded to its printed digits."""
    if abs(ours - theirs) <= Fraction(1, 2 * 10**digits):
        return "same" if proven else "no worse"
    return "better" if ours > theirs else "worse"
