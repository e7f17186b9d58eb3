"""What to take for each dataset: encoding, solver and λ, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipelines.report.analysis.lambda_paths import LambdaPath, complete, least_objectives
from pipelines.report.analysis.path_trees import PathTree
from pipelines.report.analysis.rankings import above_least, encoding_facts
from pipelines.report.data import formatting
from pipelines.report.data.group_statistics import lam_ranks
from pipelines.report.data.metrics import (
    REGRESSION,
    at_least,
    is_tested,
    rmse,
    test_words,
    train_sentence,
)
from solver.catalogue import EXTERNAL, SOLVERS


@dataclass(frozen=True)
class Recommendation:
    """What to take for a dataset."""

    dataset: str
    headline: str  # one sentence
    reasons: tuple[str, ...] = ()  # sentences
    path: LambdaPath | None = None  # the chosen one; None if there is nothing to choose from
    key: str | None = None  # of the chosen λ; None if training results alone cannot choose it
    tree: PathTree | None = None  # to be shown
    warnings: tuple[str, ...] = ()  # what may change the recommendation
    menu: bool = False  # whether to show all trees of the path: the reader chooses

    @property
    def point(self) -> pd.Series[Any] | None:
        """The row of the chosen λ."""
        return None if self.path is None or self.key is None else self.path.point(self.key)


def lam_words(point: pd.Series[Any]) -> str:
    """``λ = 0.05``, ``any λ from 0.01 to 0.02``, ``any λ of 0.25 or more``."""
    text = str(point["lam_text"])
    if point["lam_start_exact"] is None:
        return f"λ = {text}"
    return f"any λ {'from' if point['lam_end_exact'] else 'of'} {text}"


def splits_words(point: pd.Series[Any]) -> str:
    """The mean number of splits."""
    return formatting.mean_plural(point["splits"], "split")


def leaves_words(point: pd.Series[Any]) -> str:
    return formatting.mean_plural(point["leaves"], "leaf")


_VALIDATE = (
    "To choose λ, add “validation: {kind: kfold, folds: 5, seed: 0}” to the sweep's file and run "
    "it again. Until then, take the tree whose size you can live with."
)

_NEVER_WORSE = "The optimal tree of a smaller λ never fits the training rows worse."
_STEADY = 1.3
"""A tree stands out if it is best over a range of λ of at least this ratio."""

_MANY_SOLVERS = 5
"""Of more solvers, those that have proven all their trees are counted, not named."""


def _by_training(
    dataset: str, paths: Sequence[LambdaPath], comparison: pd.DataFrame
) -> Recommendation:
    """Without validation: recommends the solver, but no λ."""
    solvers = list(dict.fromkeys(path.solver for path in paths))
    reasons, all_proven = [], []
    for solver in solvers:
        points = pd.concat([path.table for path in paths if path.solver == solver])
        runs, proven = int(points["runs"].sum()), int(points["optimal"].sum())
        if 0 < runs == proven and len(solvers) > _MANY_SOLVERS:
            all_proven.append(solver)
        elif points["heuristic"].sum() == runs:
            reasons.append(_behind(solver, comparison))
        else:
            largest, share = points["gap_max"].max(), formatting.share(proven, runs)
            is_open = proven < runs and formatting.is_number(largest)
            gap = f"; its largest gap is {formatting.gap(largest)}" if is_open else ""
            reasons.append(f"{solver} has proven {share} of its trees optimal{gap}.")
    if all_proven:
        counts = f"{len(all_proven)} of {len(solvers)} solvers"
        reasons.insert(0, f"{counts} have proven all their trees optimal.")
    if comparison["lam_key"].nunique() == 1 and not any(path.exact_paths for path in paths):
        return _single_lambda(dataset, paths, reasons)
    fact = encoding_facts(comparison).get(dataset)
    if fact is not None:
        reasons.append(f"The smallest objective is that of {fact['encoding']} {fact['where']}.")
    least = least_objectives(paths)
    taken = min(paths, key=lambda path: _standing(path, least, comparison, fact))
    steady = _steadiest(taken)
    if steady is not None:
        return _by_steps(dataset, taken, steady, reasons)
    return Recommendation(
        dataset,
        f"Take {taken.encoding} with {taken.solver}; training results cannot choose λ.",
        (_NEVER_WORSE, *reasons),
        taken,
        warnings=(_VALIDATE,),
    )


def _steadiest(path: LambdaPath) -> PathTree | None:
    """The tree with a split that is best over the widest range of λ of an exact path, by ratio. The
    first step counts only if it is alone, as its start is the user's choice."""
    if len(path.exact_paths) != 1:
        return None
    low = path.exact_paths[0].steps[0].start
    widths = [
        (tree.start > low, float(tree.end / tree.start), tree)
        for tree in path.trees
        if tree.start and tree.end is not None
    ]
    if not widths:
        return None
    _, width, tree = max(widths, key=lambda width: width[:2])
    return tree if width >= _STEADY else None


def _by_steps(dataset: str, path: LambdaPath, tree: PathTree, reasons: list[str]) -> Recommendation:
    """Without validation: recommends the tree of the widest step of an exact path."""
    start, end = tree.start, tree.end
    assert start is not None
    assert end is not None
    key = str(start)
    point = path.point(key)
    best = "proven best" if tree.proven else "the best known"
    limits = point["tree_limits"]
    among = f" among trees within the limits ({limits})" if limits else ""
    why = (
        f"It is {best}{among} for every λ from {formatting.interval(start, end)}, a factor of "
        f"{formatting.factor(end / start)}: {_which_step(path, start, end)}. "
        f"{train_sentence(point)}, with {leaves_words(point)}."
    )
    splits = formatting.plural(tree.tree.splits, "split")
    return Recommendation(
        dataset,
        f"Without held-out rows, look first at the tree of {splits}: {path.encoding} with "
        f"{path.solver} at {lam_words(point)}.",
        (why, _gains(path, tree, start, end), *reasons),
        path,
        key,
        tree,
        (_VALIDATE,),
        menu=True,
    )


def _which_step(path: LambdaPath, start: Fraction, end: Fraction) -> str:
    """Says that no step with splits is wider by ratio; of the first step only the part from λ_min
    on is known."""
    first = path.trees[-1]
    low, high = first.start, first.end
    if low == start:
        known = formatting.lam_from(start)
        return f"the only step of a tree with splits, known only from λ = {known} on"
    assert low is not None
    assert high is not None
    widest = "the widest step of a tree with splits but for the first step, which is known"
    if low and high / low <= end / start:
        return f"{widest} only from λ = {formatting.lam_from(low)} on"
    known = f", a factor of {formatting.factor(high / low)} or more" if low else ""
    return f"{widest} for λ from {formatting.interval(low, high)}{known}"


def _gains(path: LambdaPath, tree: PathTree, start: Fraction, end: Fraction) -> str:
    """What each split of a step gains: the λ at its ends."""
    if tree.quality["task"] == REGRESSION:
        variance = tree.tree.nodes[0].squared_error / tree.total_weight
        much, little = (f"{formatting.percent(lam / variance)} more" for lam in (end, start))
        gains = f"Each split that the next simpler tree lacks explains {much} of the variance"
    else:
        much, little = (formatting.percent(float(lam)) for lam in (end, start))
        gains = f"Each split that the next simpler tree lacks puts {much} of the rows right"
    if start == path.exact_paths[0].steps[0].start:
        return f"{gains} on average. The path ends here: what smaller λ give is open."
    return f"{gains} on average; each further one of the next larger tree only {little}."


def _standing(
    path: LambdaPath,
    least: pd.Series[float],
    comparison: pd.DataFrame,
    fact: dict[str, Any] | None,
) -> tuple[float, ...]:
    """The order of paths: best encoding, distance to the best of all limits and of the same limits,
    proofs, exactness, rank, time."""
    points = path.grid.set_index("lam_key")["objective"]
    behind = float((points - least[path.encoding]).mean())
    own = comparison[
        (comparison["encoding"] == path.encoding) & (comparison["solver"] == path.solver)
    ]
    return (
        fact is not None and path.encoding != fact["encoding"],
        behind if math.isfinite(behind) else math.inf,
        float(own["excess"].mean()),
        -float(own["optimal"].sum()),
        not path.exact_paths,
        _rank(path.solver),
        float(own["seconds"].sum()),
    )


def _what(solver: str) -> str:
    """What a labelled solver is whose runs end without a proof."""
    return "a solver of others" if solver.split(" (")[0] in EXTERNAL else "a heuristic"


def _behind(solver: str, comparison: pd.DataFrame) -> str:
    all_points = comparison[comparison["solver"] == solver]
    own = all_points[all_points["compared"] > 1]
    if own.empty:
        return f"{solver} is {_what(solver)} and had nothing to be compared with."
    named = f"{solver}, {_what(solver)},"
    worst = own.sort_values("excess_max", kind="stable").iloc[-1]
    if worst["excess_max"] == 0:
        if len(own) == len(all_points):
            return f"{named} found the best known tree everywhere."
        return (
            f"{named} found the best known tree wherever it and another solver gave "
            f"one: in {formatting.share(len(own), len(all_points))} cases."
        )
    return (
        f"{named} is above the best known objective by "
        f"{formatting.short(own['excess'].mean())} on average and by "
        f"{formatting.short(worst['excess_max'])} at worst ({worst['encoding']}, "
        f"λ = {worst['lam_text']})."
    )


def _single_lambda(dataset: str, paths: Sequence[LambdaPath], reasons: list[str]) -> Recommendation:
    """One λ and no validation: recommends the smallest objective, as the user has chosen λ. Of
    repetitions that a limit ended with different trees the best one counts."""
    points = pd.concat([path.table for path in paths])
    points["objective_exact"] = [str(_least_objective(path)) for path in paths]
    above, _ = above_least(points, np.zeros(len(points), np.int64))
    taken = min(
        (path for path, distance in zip(paths, above, strict=True) if distance == 0),
        key=lambda path: (
            -int(path.table["optimal"].sum()),
            _rank(path.solver),
            float(path.table["seconds"].min()),
        ),
    )
    point = taken.table.iloc[0]
    head = (
        f"At λ = {point['lam_text']}, {taken.encoding} with {taken.solver} has the smallest "
        f"objective, {formatting.objective(float(_least_objective(taken)))}."
    )
    key, lam = str(point["lam_key"]), Fraction(point["lam_exact"])
    shown = min(taken.trees_at(key), key=lambda one: _objective(one, lam))
    size = [
        formatting.plural(shown.tree.leaves, "leaf"),
        formatting.plural(shown.tree.splits, "split"),
    ]
    about = f"{train_sentence(shown.quality)}, with {' and '.join(size)}."
    return Recommendation(
        dataset,
        head,
        (about, *reasons),
        taken,
        key,
        shown,
        ("Nothing was held out: how well this predicts new rows is not known.",),
    )


def _least_objective(path: LambdaPath) -> Fraction:
    """The smallest objective of the runs at the only λ of a path."""
    rows = path.points.rows[path.points.points == path.first]
    return min(map(Fraction, rows["objective_exact"][rows["ok"].to_numpy(bool)]))


def _objective(one: PathTree, lam: Fraction) -> Fraction:
    return Fraction(one.tree.errors) / one.total_weight + lam * one.tree.splits


class _Candidate(NamedTuple):
    path: LambdaPath
    point: pd.Series[Any]

    @property
    def score(self) -> float:
        return float(self.point["test_score"])

    @property
    def name(self) -> str:
        return f"{self.path.encoding} with {self.path.solver} at {lam_words(self.point)}"


def _rank(solver: str) -> int:
    """The place of a labelled solver in the catalogue, whose first one is the default."""
    names = list(SOLVERS)
    name = solver.split(" (")[0]
    return names.index(name) if name in names else len(names)


class _Candidates:
    """All λ of all paths with all their folds, in the order of the paths."""

    def __init__(self, paths: Sequence[LambdaPath]) -> None:
        self._paths = paths
        self._tables = [complete(path.table) for path in paths]
        self._ends = np.cumsum([len(table) for table in self._tables])
        points = pd.concat([table[_SHOWN] for table in self._tables], ignore_index=True)
        exact = [bool(path.exact_paths) for path in paths]
        of = np.repeat(np.arange(len(paths)), [len(table) for table in self._tables])
        self.scores = points["test_score"].to_numpy(float)
        self._solver = np.array([path.solver for path in paths], dtype=object)[of]
        # Fewest leaves first; then by score, proofs, exact paths, larger λ, the catalogue's order,
        # and time. Time comes last: it varies from run to run and must not choose among the λ of a
        # path, nor among solvers that tie.
        self._order = np.lexsort(
            (
                points["seconds"].fillna(0.0),
                np.array([_rank(path.solver) for path in paths], np.int64)[of],
                -lam_ranks(points),
                ~np.array(exact, bool)[of],
                -points["optimal"],
                -self.scores,
                points["leaves"],
            )
        )

    def __len__(self) -> int:
        return len(self.scores)

    def get(self, place: int) -> _Candidate:
        """The candidate at a place."""
        number = int(np.searchsorted(self._ends, place, side="right"))
        start = int(self._ends[number - 1]) if number else 0
        return _Candidate(self._paths[number], self._tables[number].iloc[place - start])

    def simplest(self, best: float, error: float = 0.0) -> _Candidate:
        """The simplest candidate with a mean score within an error of the best one."""
        good = self.scores[self._order] >= at_least(best, error)
        return self.get(int(self._order[np.argmax(good)]))

    def best_of_others(self, solver: str) -> list[_Candidate]:
        """The best candidate of each other solver."""
        found = []
        for other in dict.fromkeys(self._solver.tolist()):
            if other != solver:
                own = np.flatnonzero(self._solver == other)
                found.append(self.get(int(own[np.argmax(self.scores[own])])))
        return found


_MOST_RIVALS = 5
"""The number of other solvers that are named."""

_SHOWN = ["leaves", "test_score", "optimal", "lam_exact", "seconds"]


def recommend(
    dataset: str,
    paths: Sequence[LambdaPath],
    comparison: pd.DataFrame,
    missing: int = 0,
    impossible: Sequence[str] = (),
) -> Recommendation:
    """The recommendation for a dataset.

    With validation, find the best mean test score of all λ, encodings and solvers with all their
    folds. Of those within one standard error of it take the one with the fewest leaves. Splits of
    different encodings are not alike: a multiway split is one split with many leaves.

    Parameters
    ----------
    paths : sequence of LambdaPath
    comparison : DataFrame
        From :func:`pipelines.report.analysis.rankings.compare`.
    missing : int
        Number of tasks without a run.
    impossible : sequence of str
        The reasons of impossible cells.
    """
    with_trees = [path for path in paths if path.trees]
    if not with_trees:
        return Recommendation(
            dataset, _no_recommendation(dataset, bool(paths), missing, impossible)
        )
    candidates = _Candidates(with_trees)
    if len(candidates):
        return _by_validation(dataset, with_trees, candidates, missing)
    if any(is_tested(path.table) for path in with_trees):
        return Recommendation(
            dataset,
            "No answer yet: no λ has all of its folds.",
            warnings=("The figures below are of the folds that are there.",),
        )
    return _by_training(dataset, with_trees, comparison)


def _no_recommendation(
    dataset: str, has_runs: bool, missing: int, impossible: Sequence[str]
) -> str:
    if has_runs:
        return f"No answer yet: every run {'so far ' if missing else ''}has failed."
    if missing or not impossible:
        return "No answer yet: no run has given a tree yet."
    why = [reason.removeprefix(f"dataset {dataset!r}: ") for reason in dict.fromkeys(impossible)]
    more = f" (and {formatting.plural(len(why) - 1, 'more reason')})" if len(why) > 1 else ""
    return f"No answer: no cell of this dataset can be run: {why[0].rstrip('.')}{more}."


def _by_validation(
    dataset: str, paths: Sequence[LambdaPath], candidates: _Candidates, missing: int
) -> Recommendation:
    best = candidates.simplest(float(candidates.scores.max()))
    error = float(best.point["test_error"])
    allowed = 0.0 if math.isnan(error) else error
    taken = candidates.simplest(best.score, allowed)
    reasons = [_accuracy(taken)]
    if taken.path is not best.path or taken.point["lam_key"] != best.point["lam_key"]:
        reasons.append(
            f"The best mean is {_in_short(best)} ({best.name}, "
            f"{leaves_words(best.point)}); of all that come within one standard error of it, this "
            "is the one of fewest leaves."
        )
    elif allowed:
        reasons.append("No other choice has a better mean, and none within one standard error of "
                       "it has fewer leaves.")  # fmt: skip
    else:
        reasons.append("No other choice has a better mean.")
    reasons += [_proof(taken), *_exactness(taken), *_rivals(taken, candidates)]
    key = str(taken.point["lam_key"])
    return Recommendation(
        dataset,
        f"Take {taken.name}.",
        tuple(reasons),
        taken.path,
        key,
        taken.path.trees_at(key)[0],
        tuple(_warnings(taken, best, paths, missing)),
    )


def _accuracy(taken: _Candidate) -> str:
    p = taken.point
    runs = int(p["runs"])
    over = f"mean ± standard error over {runs} folds" if runs > 1 else "one held-out part"
    few = "with" if runs == 1 else "with on average"
    size = f"{few} {leaves_words(p)} and {splits_words(p)}."
    if p["task"] == REGRESSION:
        return f"On the held-out rows it has {test_words(p)} ({over}), {size}"
    return f"It gets {test_words(p)} of the held-out rows right ({over}), {size}"


def _in_short(one: _Candidate) -> str:
    """The test accuracy, or the RMSE of regression."""
    if one.point["task"] == REGRESSION:
        return f"RMSE {rmse(one.point['test_rmse'])}"
    return formatting.percent(one.point["test_accuracy"])


def _proof(taken: _Candidate) -> str:
    p = taken.point
    runs, proven = int(p["runs"]), int(p["optimal"])
    where = "all these λ" if taken.path.exact_paths else "this λ"
    if p["heuristic"] == runs:
        what = _what(taken.path.solver)
        return f"{taken.path.solver} is {what}: nothing is proven about its trees."
    if proven == runs:
        what = {1: "Its tree is", 2: "Both trees are"}.get(runs, f"All {runs} trees are")
        return f"{what} proven optimal for {where}."
    if not formatting.is_number(p["gap_max"]):
        return f"{taken.path.solver} proves nothing about its trees."
    if runs == 1:
        limit = f"a limit ended its search with a gap of {formatting.gap(p['gap_max'])}"
        return f"Its tree is not proven optimal for {where}: {limit}."
    others = "the other" if runs - proven == 1 else "the others"
    return (
        f"{proven} of {runs} trees {'is' if proven == 1 else 'are'} proven optimal for {where}; "
        f"{others} hit a limit with a gap of at most {formatting.gap(p['gap_max'])}."
    )


def _exactness(taken: _Candidate) -> list[str]:
    """On an exact path: says that no λ was left out."""
    table = taken.path.table
    if not taken.path.exact_paths:
        return []
    low = formatting.lam_from(taken.path.lam_min)
    return [
        f"No λ was left out: validation compared the whole path from λ = {low} up, which has "
        f"{formatting.plural(len(table), 'interval')} without a breakpoint in any fold."
    ]


def _rivals(taken: _Candidate, candidates: _Candidates) -> list[str]:
    """The best of each other solver; of many solvers the best ones."""
    others = candidates.best_of_others(taken.path.solver)
    best = sorted(range(len(others)), key=lambda i: -others[i].score)[:_MOST_RIVALS]
    parts = [
        f"{other.path.solver} {_in_short(other)} ({other.path.encoding}, "
        f"{lam_words(other.point)}, {leaves_words(other.point)})"
        for other in (others[i] for i in sorted(best))
    ]
    more = len(others) - len(best)
    better = "not better than these" if more == 1 else "none of them better than these"
    parts += [f"{formatting.plural(more, 'other')}, {better}"] if more else []
    return [f"At its best, {'; '.join(parts)}."] if parts else []


def _no_split(one: _Candidate, paths: Sequence[LambdaPath]) -> str:
    """Why the best path has no split at any λ with all its folds, as far as that is known."""
    table = one.path.table
    own = table[table["splits"] > 0]
    if len(own):
        return (
            f"{one.path.encoding} with {one.path.solver} has no split at any λ with all its folds; "
            f"at {lam_words(own.iloc[0])}, which lacks folds, it has."
        )
    splitting = [path for path in paths if path.table["splits"].max() > 0]
    if splitting:
        other = splitting[0]
        return (
            f"{one.path.encoding} with {one.path.solver} has no split at any λ here; "
            f"{other.encoding} with {other.solver} has."
        )
    limits = dict.fromkeys(path.table["tree_limits"].iloc[0] for path in paths)
    limited = "; ".join(words for words in limits if words)
    low = min(float(path.table["lam"].min()) for path in paths)
    smaller = "; try smaller λ" if low > 0 else ""
    if not _all_proven(paths, low):
        note = "No tree here has a split"
        note += (
            f"; other limits ({limited}) may allow one that pays" if limited else
            ", but it is not proven that none pays"
        )  # fmt: skip
    elif low == 0:
        return "No tree with a split fits the training rows better than one leaf, even at λ = 0."
    else:
        note = "No λ here is small enough for a split to pay"
    note += f"{smaller}."
    if smaller and one.point["task"] == REGRESSION:
        note += (
            " λ is in the square of the target's unit: to pay, a split must take so much off the "
            f"mean squared error, which is {one.point['loss']:.4g} without a split."
        )
    return note


def _all_proven(paths: Sequence[LambdaPath], low: float) -> bool:
    """Whether in each encoding a solver has proven its trees at the smallest λ, without limits on
    the tree."""
    ends = [(path.encoding, path.table.iloc[-1]) for path in paths]
    proven = {
        encoding for encoding, point in ends
        if point["lam"] <= low
        and point["optimal"] == point["expected"]
        and not point["tree_limits"]
    }  # fmt: skip
    return proven == {encoding for encoding, _ in ends}


def _warnings(
    taken: _Candidate, best: _Candidate, paths: Sequence[LambdaPath], missing: int
) -> list[str]:
    notes = []
    full = complete(best.path.table)
    at_end = len(full) > 1 and best.point["lam_key"] == full.iloc[-1]["lam_key"]
    perfect = 0.0 if best.point["task"] == REGRESSION else 1.0
    if at_end and best.score < perfect and best.point["lam"] > 0:
        notes.append(
            f"The best mean lies at the end of the {'path' if best.path.exact_paths else 'grid'} "
            f"({lam_words(best.point)}): smaller λ may be better still."
        )
    if full["splits"].max() == 0 and not missing:
        notes.append(_no_split(best, paths))
    lacking = sum(len(path.table) - len(complete(path.table)) for path in paths)
    if lacking:
        notes.append(
            f"{formatting.plural(lacking, 'λ-point')} without all folds did not take part."
        )
    if int(taken.point["runs"]) == 1:
        notes.append("One held-out part has no standard error; folds would tell how sure this is.")
    return notes
