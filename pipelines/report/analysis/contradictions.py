"""Contradictions between results: they must never occur, and the report shows them in red."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.report.data.exact_paths import at_breakpoints
from pipelines.report.data.formatting import is_number
from pipelines.report.data.group_statistics import ExactColumns, Ints, floats, groups, least_of
from pipelines.report.data.metrics import REGRESSION
from solver.solution import Status

_USED = [
    "problem", "ok", "exact", "dataset", "encoding_label", "solver_label", "fold", "lam_exact",
    "lam_text", "status", "objective_exact", "lower_bound_exact", "errors", "total_weight",
    "splits", "task", "tolerance",
]  # fmt: skip

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
    """Contradictions between runs of the same problem, and within a run: one row each, with
    :data:`COLUMNS`.

    Runs are compared if they have the same rows, encoding, fold and limits on the tree. All figures
    are compared as fractions, those of regression with their tolerance. The kinds:

    * ``two optima``: two runs are proven optimal at different objectives,
    * ``below a proven bound``: a tree is better than the lower bound of another run. Every tree has
      an objective at every λ (loss + λ·splits), so it is compared with the bounds of all λ,
    * ``own figures``: a run is optimal with a gap, or its objective is below its own bound.

    A path cell is compared at each of its breakpoints and proven lower bounds.
    """
    found: list[tuple[Any, ...]] = []
    rows = rows if rows["exact"].any() else rows[_USED]
    rows = at_breakpoints(rows)
    rows = rows.loc[rows["ok"], _USED]
    # Hardly any of a million runs contradict each other: only suspects are compared one by one.
    numbers = (rows["task"] == REGRESSION).to_numpy(bool)
    rows = rows[numbers | rows["problem"].isin(_suspects(rows[~numbers])).to_numpy(bool)]
    for _, group in rows.groupby("problem", sort=False):
        first = group.iloc[0]
        cell = first["dataset"], first["encoding_label"]
        fold = None if pd.isna(first["fold"]) else int(first["fold"])
        claims = [_claim(row) for row in group.to_dict("records")]
        for kind, lam, claim, against, difference in (
            *_own(claims), *_two_optima(claims), *_claims_below_bounds(claims)
        ):  # fmt: skip
            found.append((*cell, lam, fold, kind, claim, against, str(difference)))
    return pd.DataFrame(found, columns=COLUMNS)


def has_compared_proofs(rows: pd.DataFrame) -> bool:
    """Whether two solvers, or option sets of one, have proven bounds of the same problem."""
    proven = rows["ok"].to_numpy(bool) & rows["lower_bound_exact"].notna().to_numpy(bool)
    provers = rows.loc[proven, ["problem", "solver_label"]].drop_duplicates()
    return bool(provers["problem"].duplicated().any())


def _claim(row: dict[Any, Any]) -> _Claim:
    bound = row["lower_bound_exact"]
    if row["task"] == REGRESSION:
        # The tree's errors are checked before a row is stored, and by ``treesweep verify``.
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


_Entry: TypeAlias = tuple[str, str, str, str, Fraction]
"""Kind, λ, claim, what it is against, and the difference."""


def _shown(value: Fraction) -> str:
    return f"{value} ≈ {float(value):.6g}" if value.denominator > 1 else str(value)


def _own(claims: list[_Claim]) -> Iterator[_Entry]:
    kind = "own figures"
    for c in claims:
        scored = c.loss + c.lam * c.splits
        if scored != c.objective:
            says = f"{c.who}: objective {_shown(c.objective)}"
            truth = f"its errors and splits give {_shown(scored)}"
            yield kind, c.lam_text, says, truth, c.objective - scored
        if c.bound is None:
            if c.optimal:
                yield kind, c.lam_text, f"{c.who}: optimal", "no bound", Fraction(0)
        elif c.bound > c.objective or (c.optimal and c.objective - c.bound > c.tolerance):
            says = f"{c.who}: {'optimal at' if c.optimal else 'objective'} {_shown(c.objective)}"
            own = f"its own lower bound {_shown(c.bound)}"
            yield kind, c.lam_text, says, own, c.objective - c.bound


def _two_optima(claims: list[_Claim]) -> Iterator[_Entry]:
    first: dict[Fraction, _Claim] = {}
    for c in claims:
        other = first.setdefault(c.lam, c) if c.optimal else c
        if abs(other.objective - c.objective) > c.tolerance:
            says, against = (f"{one.who}: optimal at {_shown(one.objective)}" for one in (c, other))
            yield "two optima", c.lam_text, says, against, c.objective - other.objective


def _claims_below_bounds(claims: list[_Claim]) -> Iterator[_Entry]:
    """Trees that are better than a bound. Equal trees are compared once."""
    trees: dict[tuple[Fraction, int], _Claim] = {}
    for c in claims:
        trees.setdefault((c.loss, c.splits), c)
    bounds: dict[Fraction, _Claim] = {}
    for c in claims:
        held = bounds.get(c.lam)
        if c.bound is not None and (held is None or c.bound > (held.bound or 0)):
            bounds[c.lam] = c
    for lam, holder in bounds.items():
        assert holder.bound is not None
        for (loss, splits), c in trees.items():
            value = loss + lam * splits
            # Reported as "two optima" already.
            reported = c.lam == lam and c.optimal and holder.optimal
            if value < holder.bound - c.tolerance and c is not holder and not reported:
                says = f"{c.who}: a tree of objective {_shown(value)}"
                says += "" if c.lam == lam else f" (found at λ = {c.lam_text})"
                against = f"{holder.who}: lower bound {_shown(holder.bound)}"
                yield "below a proven bound", holder.lam_text, says, against, value - holder.bound


_NEAR = 1e-9
"""Floats this close are compared as fractions."""


def _suspects(rows: pd.DataFrame) -> NDArray[Any]:
    """The problems with a contradiction of any kind, found column by column."""
    if rows.empty:
        return np.zeros(0, np.int64)
    exact = ExactColumns(rows["objective_exact"], rows["lower_bound_exact"], rows["lam_exact"])
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
    found |= _problems_below_bounds(rows, exact, problem, at)
    return np.asarray(rows["problem"].to_numpy()[np.isin(problem, list(found))])


def _wrongly_scored(rows: pd.DataFrame, exact: ExactColumns) -> NDArray[np.bool_]:
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
        # In whole numbers, as fractions would be reduced to lowest terms.
        scored = int(errors) * bottom + top * int(splits) * int(weight)
        numerator, denominator = exact.ratios[value]
        wrong.append(scored * denominator != numerator * int(weight) * bottom)
    return np.array(wrong, bool)[same]


def _problems_below_bounds(
    rows: pd.DataFrame, exact: ExactColumns, problem: Ints, at: Ints
) -> set[Any]:
    """The problems in which the objective of a tree is below a bound of any λ."""
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


def _any_below(trees: pd.DataFrame, holders: Ints, exact: ExactColumns) -> bool:
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
    """Of trees with equally many splits the one of least loss: it is the best at every λ."""
    trees = trees.assign(loss=trees["errors"] / trees["weight"])
    trees = trees.sort_values(["splits", "loss"], kind="stable")
    if trees["weight"].nunique() > 1:
        return trees
    return trees.drop_duplicates("splits")
