"""Claims that cannot all be true: what must never be in a sweep and is shown in red if it is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipelines.report.analysis.contradictions import suspects
from pipelines.report.data.columns import firsts, groups
from pipelines.report.data.formats import is_number
from pipelines.report.data.metrics import REGRESSION
from pipelines.report.data.path_steps import at_breakpoints
from solver.solution import Status

_USED = [
    "problem", "ok", "exact", "dataset", "encoding_label", "solver_label", "fold", "lam_exact",
    "lam_text", "status", "objective_exact", "lower_bound_exact", "errors", "total_weight",
    "splits", "task", "tolerance",
]  # fmt: skip

_FAILURE = ["status", "error", "dataset", "encoding_label", "solver_label", "lam_text"]

COLUMNS = ["dataset", "encoding", "lam", "fold", "kind", "claim", "against", "difference"]


class _Claim(NamedTuple):
    """A run's figures, exactly."""

    who: str
    lam: Fraction
    lam_text: str
    optimal: bool
    objective: Fraction
    bound: Fraction | None
    loss: Fraction
    splits: int
    tolerance: Fraction = Fraction(0)


def find_disagreements(rows: pd.DataFrame) -> pd.DataFrame:
    """Contradictions between runs of the same problem, and within a run.

    Only runs on the same rows, encoding, fold and limits on the tree's shape are compared; other
    encodings are other problems. All figures are compared as fractions.

    * ``two optima``: two runs are proven optimal at different objectives,
    * ``below a proven bound``: a tree is better than what another run proved impossible. As every
      tree has an objective at every λ (loss + λ·splits), bounds of other λ are held against it too,
    * ``own figures``: a run is optimal with a gap, or its objective is below its own bound.

    Figures of regression contradict each other where they differ by more than the tolerance of the
    searches' floats.

    A path cell claims something at each of its breakpoints and wherever it has proven a bound.

    Parameters
    ----------
    rows : DataFrame
        ``Results.rows``.

    Returns
    -------
    DataFrame
        One row a contradiction: ``dataset``, ``encoding``, ``lam``, ``fold``, ``kind``, ``claim``,
        ``against`` and the exact ``difference``.
    """
    found: list[dict[str, Any]] = []
    rows = rows if rows["exact"].any() else rows[_USED]
    rows = at_breakpoints(rows)
    rows = rows.loc[rows["ok"], _USED]
    # Of a million runs hardly any contradict each other: the others are not looked at one by one.
    numbers = (rows["task"] == REGRESSION).to_numpy(bool)
    rows = rows[numbers | rows["problem"].isin(suspects(rows[~numbers])).to_numpy(bool)]
    for _, group in rows.groupby("problem", sort=False):
        first = group.iloc[0]
        about = {
            "dataset": first["dataset"],
            "encoding": first["encoding_label"],
            "fold": None if pd.isna(first["fold"]) else int(first["fold"]),
        }
        claims = [_claim({str(k): v for k, v in row.items()}) for row in group.to_dict("records")]
        for entry in (*_own(claims), *_two_optima(claims), *_below_bounds(claims)):
            found.append(about | entry)
    return pd.DataFrame(found, columns=COLUMNS)


def _claim(row: dict[str, Any]) -> _Claim:
    bound = row["lower_bound_exact"]
    if row["task"] == REGRESSION:
        # What the tree gets wrong is checked where rows are stored, and by ``treesweep verify``.
        splits = int(row["splits"])
        loss = Fraction(row["objective_exact"]) - Fraction(row["lam_exact"]) * splits
    else:
        loss = Fraction(int(row["errors"]), int(row["total_weight"]))
    return _Claim(
        who=row["solver_label"],
        lam=Fraction(row["lam_exact"]),
        lam_text=row["lam_text"],
        optimal=row["status"] == Status.OPTIMAL.value,
        objective=Fraction(row["objective_exact"]),
        bound=Fraction(bound) if isinstance(bound, str) else None,
        loss=loss,
        splits=int(row["splits"]),
        tolerance=Fraction(row["tolerance"]) if is_number(row["tolerance"]) else Fraction(0),
    )


def _entry(kind: str, lam: str, claim: str, against: str, difference: Fraction) -> dict[str, Any]:
    return {
        "kind": kind,
        "lam": lam,
        "claim": claim,
        "against": against,
        "difference": str(difference),
    }


def _shown(value: Fraction) -> str:
    return f"{value} ≈ {float(value):.6g}" if value.denominator > 1 else str(value)


def _own(claims: list[_Claim]) -> list[dict[str, Any]]:
    found = []
    for c in claims:
        scored = c.loss + c.lam * c.splits
        if scored != c.objective:
            says = f"{c.who}: objective {_shown(c.objective)}"
            truth = f"its errors and splits give {_shown(scored)}"
            found.append(_entry("own figures", c.lam_text, says, truth, c.objective - scored))
        if c.bound is None:
            if c.optimal:
                says = f"{c.who}: optimal"
                found.append(_entry("own figures", c.lam_text, says, "no bound", Fraction(0)))
        elif c.bound > c.objective or (c.optimal and c.objective - c.bound > c.tolerance):
            says = f"{c.who}: {'optimal at' if c.optimal else 'objective'} {_shown(c.objective)}"
            own = f"its own lower bound {_shown(c.bound)}"
            found.append(_entry("own figures", c.lam_text, says, own, c.objective - c.bound))
    return found


def _two_optima(claims: list[_Claim]) -> list[dict[str, Any]]:
    found = []
    first: dict[Fraction, _Claim] = {}
    for c in claims:
        if not c.optimal:
            continue
        other = first.setdefault(c.lam, c)
        if abs(other.objective - c.objective) > c.tolerance:
            found.append(
                _entry(
                    "two optima",
                    c.lam_text,
                    f"{c.who}: optimal at {_shown(c.objective)}",
                    f"{other.who}: optimal at {_shown(other.objective)}",
                    c.objective - other.objective,
                )
            )
    return found


def _below_bounds(claims: list[_Claim]) -> list[dict[str, Any]]:
    """Trees that are better than a bound. Of equal trees the first stands for all."""
    trees: dict[tuple[Fraction, int], _Claim] = {}
    for c in claims:
        trees.setdefault((c.loss, c.splits), c)
    bounds: dict[Fraction, _Claim] = {}
    for c in claims:
        held = bounds.get(c.lam)
        if c.bound is not None and (held is None or c.bound > (held.bound or 0)):
            bounds[c.lam] = c
    found = []
    for lam, holder in bounds.items():
        assert holder.bound is not None
        for (loss, splits), c in trees.items():
            value = loss + lam * splits
            same_run = c is holder
            # An optimum with another objective is told as "two optima" already.
            told = c.lam == lam and c.optimal and holder.optimal
            if value < holder.bound - c.tolerance and not same_run and not told:
                found.append(
                    _entry(
                        "below a proven bound",
                        holder.lam_text,
                        f"{c.who}: a tree of objective {_shown(value)}"
                        + ("" if c.lam == lam else f" (found at λ = {c.lam_text})"),
                        f"{holder.who}: lower bound {_shown(holder.bound)}",
                        value - holder.bound,
                    )
                )
    return found


def failure_groups(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Failed runs, those with the same last line of their error together, most frequent first.

    Each has ``status``, ``reason``, ``count``, ``cells`` (in words) and one full ``text``.
    """
    failed = rows.loc[~rows["ok"], _FAILURE].astype(object)
    # Equal failures at equal places once: a sweep may fail everywhere.
    same = groups(failed, _FAILURE)
    counts, failed = np.bincount(same), failed.iloc[firsts(same)]
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row, count in zip(failed.to_dict("records"), counts.tolist(), strict=False):
        text = row["error"] if isinstance(row["error"], str) and row["error"].strip() else ""
        lines = text.strip().splitlines()
        reason = lines[-1].strip() if lines else "no message"
        entry = found.setdefault(
            (row["status"], reason),
            {"status": row["status"], "reason": reason, "count": 0, "cells": {}, "text": text},
        )
        entry["count"] += count
        cell = f"{row['dataset']}, {row['encoding_label']}, {row['solver_label']}"
        entry["cells"].setdefault(cell, {})[row["lam_text"]] = None
    for entry in found.values():
        entry["cells"] = [
            f"{cell}: λ = {', '.join(list(lams)[:8])}{', …' if len(lams) > 8 else ''}"
            for cell, lams in entry["cells"].items()
        ]
    return sorted(found.values(), key=lambda e: -e["count"])
