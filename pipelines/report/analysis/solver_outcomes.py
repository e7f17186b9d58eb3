"""Solvers compared on equal problems: what each has proven or claims, and which is faster."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import bdtr  # scipy.stats takes half a second to import

from pipelines.report.data.exact_paths import at_breakpoints
from pipelines.report.data.stored_tables import decompress
from solver.catalogue import EXTERNAL
from solver.external.base import CLAIM_SLACK
from solver.solution import Status

SHIFT = 1.0
"""Seconds that are added before a geometric mean: it hides differences of milliseconds."""

MOST_RUNS = 50_000
"""Larger sweeps are not compared problem by problem."""

_KINDS = {"categorical": "multiway", "continuous": "continuous"}
_EXTERNAL = {solver.name for solver in EXTERNAL}
_OUTCOMES = ("proven", "claimed", "refuted", "open", "no_proof", "failed")


@dataclass(frozen=True)
class Instance:
    """What a solver made of a problem at one λ.

    ``outcome`` is ``proven``; ``claimed``, where a solver of others says that its tree is optimal
    and no better one is known; ``refuted``, where a better one is known; ``open``, where a limit
    ended the search; ``no_proof`` of heuristics; or ``failed``. ``seconds`` is the time of the
    search; the limit where there is one and the search did not end before it.
    """

    solver: str
    outcome: str
    seconds: float

    @property
    def is_solved(self) -> bool:
        """Whether the solver ended with an answer that it holds for optimal."""
        return self.outcome in ("proven", "claimed")


class Duel(NamedTuple):
    """Two solvers on the problems that both were given.

    ``wins`` and ``losses`` count where the first one alone solved the problem, or was faster;
    ``p`` is that of the two-sided sign test, ``speed_up`` the ratio of the shifted geometric means
    of the seconds, above 1 if the first is faster.
    """

    kind: str
    first: str
    second: str
    problems: int
    wins: int
    losses: int
    p: float
    speed_up: float


@dataclass(frozen=True)
class Outcomes:
    """``table`` has a row for each kind of features and solver, ``duels`` one for each pair."""

    table: pd.DataFrame
    duels: list[Duel]

    @property
    def is_of_interest(self) -> bool:
        """Whether solvers can be compared, or say more than is proven."""
        says_more = not self.table.empty and self.table[["claimed", "refuted"]].any(axis=None)
        return bool(self.duels) or bool(says_more)


def compare_outcomes(rows: pd.DataFrame) -> Outcomes:
    """Compare solvers at single λ, for each kind of features apart.

    The table has ``kind`` (binary, multiway or continuous), ``solver``, ``runs``, the number of
    each outcome, ``common`` (problems that were given to all solvers which ever prove or claim
    anything), ``seconds`` (their shifted geometric mean on these), ``above_best`` (that by the one
    of the virtual best solver, which takes the fastest answer to each problem) and ``fastest`` (to
    how many of them no other solver was faster). Sweeps of more than :data:`MOST_RUNS` runs have
    none.
    """
    if len(rows) > MOST_RUNS:
        return Outcomes(pd.DataFrame(), [])
    records: list[dict[str, Any]] = []
    duels: list[Duel] = []
    for kind, problems in _instances(rows).items():
        solvers = list(dict.fromkeys(i.solver for found in problems.values() for i in found))
        proving = [
            s for s in solvers if any(_of(found, s, solved=True) for found in problems.values())
        ]
        common = [
            found for found in problems.values() if proving and all(_of(found, s) for s in proving)
        ]
        best = shifted_mean(virtual_best(found, proving) for found in common)
        for name in solvers:
            own = [i for found in problems.values() for i in found if i.solver == name]
            record: dict[str, Any] = {"kind": kind, "solver": name, "runs": len(own)}
            record |= {outcome: sum(i.outcome == outcome for i in own) for outcome in _OUTCOMES}
            seconds = math.nan
            if name in proving and common:
                seconds = shifted_mean(_first(found, name).seconds for found in common)
            record |= {
                "common": len(common) if name in proving else 0,
                "seconds": seconds,
                "above_best": seconds / best if best else math.nan,
                "fastest": sum(_is_fastest(found, name, proving) for found in common)
                if name in proving
                else 0,
            }
            records.append(record)
        duels += [_duel(kind, a, b, problems.values()) for a, b in combinations(proving, 2)]
    return Outcomes(pd.DataFrame(records), [duel for duel in duels if duel.problems])


def _instances(rows: pd.DataFrame) -> dict[str, dict[Any, list[Instance]]]:
    """The instances of each problem at each λ, by the kind of its features."""
    trees = _best_trees(rows)
    rows = rows[~rows["exact"].to_numpy(bool)]
    found: dict[str, dict[Any, list[Instance]]] = {}
    columns = ["encoding", "problem", "lam_exact", "solver", "solver_label", "status", "objective",
               "seconds", "limits", "extra"]  # fmt: skip
    for row in rows[columns].to_dict("records"):
        key = row["problem"], row["lam_exact"]
        kind = _KINDS.get(str(row["encoding"]), "binary")
        lam = Fraction(row["lam_exact"])
        values = (loss + lam * splits for splits, loss in trees.get(row["problem"], {}).items())
        best = float(min(values, default=math.nan))
        found.setdefault(kind, {}).setdefault(key, []).append(_instance(row, best))
    return found


def _best_trees(rows: pd.DataFrame) -> dict[Any, dict[int, Fraction]]:
    """For each problem the least loss of its trees by their number of splits.

    Every tree has an objective at every λ, so that those of λ-paths and of other λ count as well.
    """
    columns = ["problem", "lam_exact", "objective_exact", "splits"]
    known = at_breakpoints(rows)
    known = known.loc[known["objective_exact"].notna(), columns].drop_duplicates()
    found: dict[Any, dict[int, Fraction]] = {}
    for problem, lam, objective, splits in known.itertuples(index=False):
        loss = Fraction(objective) - Fraction(lam) * int(splits)
        least = found.setdefault(problem, {})
        least[int(splits)] = min(loss, least.get(int(splits), loss))
    return found


def _instance(row: Mapping[Any, Any], best: float) -> Instance:
    claim = _claim(row)
    outcome = _outcome(str(row["status"]), claim, row["objective"], best)
    seconds = claim.get("own_seconds") or row["seconds"]
    seconds = 0.0 if seconds is None or seconds != seconds else float(seconds)
    limit = _limit(str(row["limits"]))
    if outcome in ("refuted", "open", "failed") and limit is not None:
        seconds = max(seconds, limit)
    return Instance(str(row["solver_label"]), outcome, seconds)


def _claim(row: Mapping[Any, Any]) -> dict[str, Any]:
    """What a solver of others says of its tree."""
    if row["solver"] not in _EXTERNAL or not isinstance(row["extra"], (str, bytes)):
        return {}
    claim: dict[str, Any] = json.loads(decompress(row["extra"])).get("claim", {})
    return claim


def _outcome(status: str, claim: Mapping[str, Any], objective: Any, best: float) -> str:
    if not Status(status).has_tree:
        return "failed"
    bound = claim.get("lower_bound")
    is_above = claim.get("status") == Status.OPTIMAL and float(objective) - best > CLAIM_SLACK
    if is_above or (bound is not None and bound - best > CLAIM_SLACK):
        return "refuted"
    if status == Status.OPTIMAL:
        return "proven"
    if claim.get("status") == Status.OPTIMAL:
        return "claimed"
    return "no_proof" if status == Status.HEURISTIC and not claim else "open"


@cache
def _limit(limits: str) -> float | None:
    seconds = json.loads(limits).get("seconds")
    return None if seconds is None else float(seconds)


def _of(found: Sequence[Instance], solver: str, solved: bool = False) -> bool:
    return any(i.solver == solver and (i.is_solved or not solved) for i in found)


def _first(found: Sequence[Instance], solver: str) -> Instance:
    return next(i for i in found if i.solver == solver)


def virtual_best(found: Sequence[Instance], proving: Sequence[str]) -> float:
    """The seconds of the fastest answer; of the longest search where there is none."""
    own = [i for i in found if i.solver in proving]
    return min((i.seconds for i in own if i.is_solved), default=max(i.seconds for i in own))


def _is_fastest(found: Sequence[Instance], solver: str, proving: Sequence[str]) -> bool:
    own = _first(found, solver)
    return own.is_solved and own.seconds <= virtual_best(found, proving)


def shifted_mean(seconds: Iterable[float]) -> float:
    """The geometric mean of the seconds plus :data:`SHIFT`, less that; NaN of none."""
    values = np.array([*seconds], dtype=float)
    return float(np.exp(np.log(values + SHIFT).mean()) - SHIFT) if len(values) else math.nan


def _duel(kind: str, first: str, second: str, problems: Iterable[Sequence[Instance]]) -> Duel:
    pairs = [
        (_first(found, first), _first(found, second))
        for found in problems
        if _of(found, first) and _of(found, second)
    ]
    wins, losses = sum(_wins(a, b) for a, b in pairs), sum(_wins(b, a) for a, b in pairs)
    p = sign_test(wins, losses)
    ours, theirs = (shifted_mean(pair[side].seconds for pair in pairs) for side in (0, 1))
    speed_up = (theirs + SHIFT) / (ours + SHIFT)
    return Duel(kind, first, second, len(pairs), wins, losses, p, speed_up)


def sign_test(wins: int, losses: int) -> float:
    """The two-sided p-value of so many wins and losses, if either were as likely."""
    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5)))


def _wins(one: Instance, other: Instance) -> bool:
    return one.is_solved and (not other.is_solved or one.seconds < other.seconds)
