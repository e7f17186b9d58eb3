"""Solvers compared on equal problems: what each has proven or claims, and which is faster."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import bdtr  # scipy.stats takes half a second to import

from pipelines.report.analysis.rankings import units_of
from pipelines.report.data.exact_paths import at_breakpoints
from pipelines.report.data.formatting import is_number
from pipelines.report.data.group_statistics import groups, labelled
from pipelines.report.data.labels import BASE
from pipelines.report.data.metrics import REGRESSION
from pipelines.report.data.store_reader import decompress
from solver.catalogue import EXTERNAL
from solver.external.base import CLAIM_SLACK
from solver.external.job_messages import FINISHED
from solver.solution import Status
from sweep.plan.task_keys import allowed_trees

SHIFT = 1.0
"""Seconds that are added before a geometric mean: it hides differences of milliseconds."""

MOST_RUNS = 50_000
"""Larger sweeps are not compared problem by problem."""

_KINDS = {"categorical": "multiway", "continuous": "continuous"}
_OUTCOMES = ("proven", "claimed", "refuted", "open", "no_proof", "failed")


@dataclass(frozen=True)
class Instance:
    """What a solver made of a problem at one λ.

    ``fold`` tells problems of other training rows apart, ``allowed`` says which trees are allowed;
    both are in words, and empty for all rows and all trees.
    ``outcome`` is ``proven``; ``claimed``, where a solver of others says that its tree is optimal
    and no better one is known; ``refuted``, where a better one is known; ``open``, where a limit
    ended the search; ``no_proof`` of heuristics, and of solvers of others that ended and say
    nothing (DL8.5 at λ > 0); or ``failed``. ``seconds`` is the time of the search, ``limit`` that
    which it was given, NaN without one. ``objective`` is NaN without a tree, ``bound`` without one
    that is proven or said; ``best`` is the least objective of any tree that is known. What is
    within the tolerance of regression is equal. ``unit`` is 1, or the variance of a regression's
    target.
    """

    key: str
    dataset: str
    encoding: str
    fold: str
    allowed: str
    lam: str
    solver: str
    outcome: str
    seconds: float
    limit: float
    objective: float
    bound: float
    best: float
    unit: float
    test_accuracy: float

    @property
    def is_solved(self) -> bool:
        """Whether the solver ended with an answer that it holds for optimal."""
        return self.outcome in ("proven", "claimed")

    @property
    def gap(self) -> float:
        """How far its tree is above its bound."""
        return self.objective - self.bound

    @property
    def excess(self) -> float:
        """How far its tree is above the best one known."""
        return self.objective - self.best


Problems: TypeAlias = dict[str, list[list[Instance]]]
"""The instances of each problem at each λ, by the kind of its features."""


class Duel(NamedTuple):
    """Two solvers on the problems that both were given.

    ``wins`` and ``losses`` count where the first one alone solved the problem, or was faster;
    ``p`` is that of the two-sided sign test, ``speed_up`` the ratio of the shifted geometric means
    of the seconds where both are known, above 1 if the first is faster.
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
    problems: Problems

    @property
    def is_of_interest(self) -> bool:
        """Whether solvers can be compared, or say more than is proven."""
        says_more = not self.table.empty and self.table[["claimed", "refuted"]].any(axis=None)
        return bool(self.duels) or bool(says_more)


def compare_outcomes(rows: pd.DataFrame) -> Outcomes:
    """Compare solvers at single λ, for each kind of features apart.

    The table has ``kind`` (binary, multiway or continuous, those of regression apart), ``solver``,
    ``runs``, the number of each outcome, ``common`` (problems that were given to all solvers which
    ever prove or claim anything, with known seconds of each), ``seconds`` (the shifted geometric
    mean on these of what :func:`charged` gives),
    ``above_best`` (that by the one of the virtual best solver, which takes the fastest answer to
    each problem), ``fastest`` (to how many of them no other solver was faster), and of the runs
    that ended without an answer
    ``gap`` and ``excess``: how far their trees are, on average, above the solver's own bound and
    above the best tree known, in regression as shares of the target's variance. Sweeps of more than
    :data:`MOST_RUNS` runs have none.
    """
    if len(rows) > MOST_RUNS:
        return Outcomes(pd.DataFrame(), [], {})
    records: list[dict[str, Any]] = []
    duels: list[Duel] = []
    by_kind = _instances(rows)
    for kind, problems in by_kind.items():
        solvers = solvers_of(problems)
        proving = solving(problems)
        common = [found for found in problems if proving and _are_timed(found, proving)]
        best = shifted_mean(virtual_best(found, proving) for found in common)
        for name in solvers:
            own = [i for found in problems for i in found if i.solver == name]
            record: dict[str, Any] = {"kind": kind, "solver": name, "runs": len(own)}
            record |= {outcome: sum(i.outcome == outcome for i in own) for outcome in _OUTCOMES}
            seconds = math.nan
            if name in proving and common:
                seconds = shifted_mean(charged(found, name, proving) for found in common)
            record |= {
                "common": len(common) if name in proving else 0,
                "seconds": seconds,
                "above_best": seconds / best if best else math.nan,
                "fastest": sum(_is_fastest(found, name, proving) for found in common)
                if name in proving
                else 0,
                "gap": _mean(i.gap / i.unit for i in own if not i.is_solved),
                "excess": _mean(i.excess / i.unit for i in own if not i.is_solved),
            }
            records.append(record)
        duels += [_duel(kind, a, b, problems) for a, b in combinations(proving, 2)]
    return Outcomes(pd.DataFrame(records), [duel for duel in duels if duel.problems], by_kind)


def solvers_of(problems: Sequence[Sequence[Instance]]) -> list[str]:
    """All solvers of some problems."""
    return list(dict.fromkeys(i.solver for found in problems for i in found))


def solving(problems: Sequence[Sequence[Instance]]) -> list[str]:
    """The solvers that solve any of some problems."""
    found = {i.solver for found in problems for i in found if i.is_solved}
    return [name for name in solvers_of(problems) if name in found]


def _mean(values: Iterable[float]) -> float:
    """The mean of the values that are there; NaN of none."""
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def _instances(rows: pd.DataFrame) -> Problems:
    trees = _best_trees(rows)
    rows = rows[~rows["exact"].to_numpy(bool)]
    found: dict[str, dict[Any, list[Instance]]] = {}
    rows = rows.assign(problem=_without_idle_limits(rows), unit=1.0)
    rows.loc[rows["ok"], "unit"] = units_of(rows[rows["ok"]])
    columns = ["key", "dataset", "encoding", "encoding_label", "problem", "lam_exact", "lam_text",
               "solver", "solver_label", "status", "objective", "lower_bound", "test_accuracy",
               "seconds", "limits", "extra", "task", "tolerance", "unit", "solver_options",
               "repeat", "fold"]  # fmt: skip
    for row in rows[columns].to_dict("records"):
        key = row["problem"], row["lam_exact"]
        kind = _KINDS.get(str(row["encoding"]), "binary")
        kind += " (regression)" if row["task"] == REGRESSION else ""
        lam = Fraction(row["lam_exact"])
        values = (loss + lam * splits for splits, loss in trees.get(row["problem"], {}).items())
        best = float(min(values, default=math.nan))
        found.setdefault(kind, {}).setdefault(key, []).append(_instance(row, best))
    return {kind: [*problems.values()] for kind, problems in found.items()}


def _without_idle_limits(rows: pd.DataFrame) -> NDArray[np.int64]:
    """The problem of each run. A limit on depth that an optimal tree without one keeps to excludes
    no better tree, so that the problem is that without the limit: STreeD has to have one."""
    allowed = np.asarray(labelled(rows, ["limits", "solver_options"], _depth_limit), float)
    same = groups(rows, [*BASE, "lam_exact"])
    problems = rows["problem"].to_numpy(copy=True)
    columns = allowed, same, rows["status"] == Status.OPTIMAL.value, rows["depth"], problems
    free: dict[int, tuple[float, int]] = {}
    for most, number, is_proven, depth, problem in zip(*columns, strict=True):
        if is_proven and math.isinf(most):
            free[number] = min((depth, problem), free.get(number, (math.inf, -1)))
    for place in np.flatnonzero(np.isfinite(allowed)):
        depth, problem = free.get(same[place], (math.inf, -1))
        if depth <= allowed[place]:
            problems[place] = problem
    return problems


@cache
def _depth_limit(limits: str, options: str) -> float:
    """The limit on depth, infinite without one; NaN where other trees are excluded, too."""
    allowed = allowed_trees(json.loads(limits), json.loads(options))
    return float(allowed.get("depth", math.inf)) if allowed.keys() <= {"depth"} else math.nan


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
    claim, objective = _claim(row), _number(row["objective"])
    if objective - best <= _number(row["tolerance"]):
        objective = best
    outcome = _outcome(str(row["status"]), claim, objective, best)
    seconds = _number(claim.get("own_seconds", row["seconds"]))
    bound = claim.get("lower_bound")
    return Instance(
        key=str(row["key"]),
        dataset=str(row["dataset"]),
        encoding=str(row["encoding_label"]),
        fold=_fold(row),
        allowed=_allowed(str(row["limits"]), str(row["solver_options"])),
        lam=str(row["lam_text"]),
        solver=str(row["solver_label"]),
        outcome=outcome,
        seconds=0.0 if math.isnan(seconds) else seconds,
        limit=_limit(str(row["limits"])),
        objective=objective,
        bound=_number(row["lower_bound"] if bound is None else bound),
        best=best,
        unit=float(row["unit"]),
        test_accuracy=_number(row["test_accuracy"]),
    )


def _fold(row: Mapping[Any, Any]) -> str:
    """``fold 2``, ``repetition 2, fold 1``; the first repetition is not named."""
    parts = [("repetition", row["repeat"], 1), ("fold", row["fold"], 0)]
    told = [(name, n) for name, n, least in parts if is_number(n) and n >= least]
    return ", ".join(f"{name} {int(n) + 1}" for name, n in told)


@cache
def _allowed(limits: str, options: str) -> str:
    """``depth: 3``: what limits the trees."""
    allowed = allowed_trees(json.loads(limits), json.loads(options))
    return ", ".join(f"{name}: {value}" for name, value in allowed.items())


def _number(value: Any) -> float:
    return math.nan if value is None or pd.isna(value) else float(value)


def _claim(row: Mapping[Any, Any]) -> dict[str, Any]:
    """What a solver of others says of its tree."""
    if row["solver"] not in EXTERNAL or not isinstance(row["extra"], (str, bytes)):
        return {}
    claim: dict[str, Any] = json.loads(decompress(row["extra"])).get("claim", {})
    return claim


def _outcome(status: str, claim: Mapping[str, Any], objective: float, best: float) -> str:
    if not Status(status).has_tree:
        return "failed"
    bound = claim.get("lower_bound")
    is_above = claim.get("status") == Status.OPTIMAL and objective - best > CLAIM_SLACK
    if is_above or (bound is not None and bound - best > CLAIM_SLACK):
        return "refuted"
    if status == Status.OPTIMAL:
        return "proven"
    if claim.get("status") == Status.OPTIMAL:
        return "claimed"
    claims_nothing = claim.get("status", FINISHED) == FINISHED
    return "no_proof" if status == Status.HEURISTIC and claims_nothing else "open"


@cache
def _limit(limits: str) -> float:
    return _number(json.loads(limits).get("seconds"))


def _of(found: Sequence[Instance], solver: str, solved: bool = False) -> bool:
    return any(i.solver == solver and (i.is_solved or not solved) for i in found)


def _are_timed(found: Sequence[Instance], solvers: Sequence[str]) -> bool:
    """Whether all these solvers have a run, with known seconds."""
    return all(_of(found, s) and math.isfinite(charged(found, s, solvers)) for s in solvers)


def first_of(found: Sequence[Instance], solver: str) -> Instance:
    return next(i for i in found if i.solver == solver)


def charged(found: Sequence[Instance], solver: str, among: Sequence[str]) -> float:
    """The seconds that count for a solver of a problem, if it is compared with some others.

    Without an answer they are those of the longest search or limit of these solvers: a solver that
    was given less time than others, or ended sooner, was not faster. NaN if it had no limit.
    """
    own = first_of(found, solver)
    if own.is_solved:
        return own.seconds
    return math.nan if math.isnan(own.limit) else _longest(found, among)


def _longest(found: Sequence[Instance], among: Sequence[str]) -> float:
    known = [s for i in found if i.solver in among for s in (i.limit, i.seconds)]
    return max(s for s in known if not math.isnan(s))


def virtual_best(found: Sequence[Instance], proving: Sequence[str]) -> float:
    """The seconds of the fastest answer; of the longest search or limit where there is none."""
    answers = [i.seconds for i in found if i.solver in proving and i.is_solved]
    return min(answers) if answers else _longest(found, proving)


def _is_fastest(found: Sequence[Instance], solver: str, proving: Sequence[str]) -> bool:
    own = first_of(found, solver)
    return own.is_solved and own.seconds <= virtual_best(found, proving)


def shifted_mean(seconds: Iterable[float]) -> float:
    """The geometric mean of the seconds plus :data:`SHIFT`, less that; NaN of none."""
    values = np.array([*seconds], dtype=float)
    return float(np.exp(np.log(values + SHIFT).mean()) - SHIFT) if len(values) else math.nan


def _duel(kind: str, first: str, second: str, problems: Iterable[Sequence[Instance]]) -> Duel:
    both = [found for found in problems if _of(found, first) and _of(found, second)]
    pairs = [(first_of(found, first), first_of(found, second)) for found in both]
    wins, losses = sum(_wins(a, b) for a, b in pairs), sum(_wins(b, a) for a, b in pairs)
    p = sign_test(wins, losses)
    timed = [found for found in both if _are_timed(found, (first, second))]
    ours, theirs = (
        shifted_mean(charged(found, name, (first, second)) for found in timed)
        for name in (first, second)
    )
    speed_up = (theirs + SHIFT) / (ours + SHIFT)
    return Duel(kind, first, second, len(pairs), wins, losses, p, speed_up)


def sign_test(wins: int, losses: int) -> float:
    """The two-sided p-value of these wins and losses, if both were equally likely."""
    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5)))


def _wins(one: Instance, other: Instance) -> bool:
    return one.is_solved and (not other.is_solved or one.seconds < other.seconds)
