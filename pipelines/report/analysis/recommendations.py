"""The short answer for each dataset: which encoding, solver and λ to take, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipelines.report.analysis.path_trees import PathTree
from pipelines.report.analysis.paths import Path, complete
from pipelines.report.analysis.recommendation_record import (
    Answer,
    lam_words,
    leaves_words,
    splits_words,
)
from pipelines.report.analysis.training_only import by_training
from pipelines.report.data import formats
from pipelines.report.data.metrics import REGRESSION, is_tested, rmse, slack, test_words


class _Candidate(NamedTuple):
    path: Path
    point: pd.Series[Any]

    @property
    def score(self) -> float:
        return float(self.point["test_score"])

    @property
    def name(self) -> str:
        return f"{self.path.encoding} with {self.path.solver} at {lam_words(self.point)}"


class _Candidates:
    """All λ of all paths with all their folds, in the order of the paths."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._tables = [complete(path.table) for path in paths]
        self._ends = np.cumsum([len(table) for table in self._tables])
        points = pd.concat([table[_SHOWN] for table in self._tables], ignore_index=True)
        exact = [bool(path.stairs) for path in paths]
        of = np.repeat(np.arange(len(paths)), [len(table) for table in self._tables])
        self.scores = points["test_score"].to_numpy(float)
        self._slack = slack(self.scores)
        self._solver = np.array([path.solver for path in paths], dtype=object)[of]
        # Fewest leaves first; then scores, proofs, an exact path, the larger λ, and time.
        # Time varies from run to run, so it must not choose among the λ of one path.
        self._order = np.lexsort(
            (
                points["seconds"].fillna(0.0),
                -points["lam"],
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

    def simplest(self, at_least: float) -> _Candidate:
        """The simplest of those with a mean score of at least so much."""
        good = self.scores[self._order] >= at_least - self._slack
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
"""So many of the other solvers are named."""

_SHOWN = ["leaves", "test_score", "optimal", "lam", "seconds"]


def answer(
    dataset: str,
    paths: Sequence[Path],
    comparison: pd.DataFrame,
    missing: int = 0,
    impossible: Sequence[str] = (),
) -> Answer:
    """The answer for one dataset.

    With validation: among all λ, encodings and solvers with all their folds, the best mean test
    accuracy (of regression, the least mean squared error) is found, and of those within one
    standard error of it the one of fewest leaves is taken. Leaves, as splits of different encodings
    are not alike: a multiway split is one split with many leaves.

    Parameters
    ----------
    paths : sequence of Path
        The dataset's.
    comparison : DataFrame
        From :func:`pipelines.report.analysis.comparison.compare`, the dataset's rows.
    missing : int
        How many of the dataset's tasks have not been run.
    impossible : sequence of str
        Why cells of the dataset cannot be run.
    """
    with_trees = [path for path in paths if path.trees]
    if not with_trees:
        return Answer(dataset, _no_answer(dataset, bool(paths), missing, impossible))
    candidates = _Candidates(with_trees)
    if len(candidates):
        return _by_validation(dataset, with_trees, candidates, missing)
    if any(is_tested(path.table) for path in with_trees):
        return Answer(
            dataset,
            "No answer yet: no λ has all of its folds.",
            warnings=("The figures below are of the folds that are there.",),
        )
    return by_training(dataset, with_trees, comparison)


def _no_answer(dataset: str, has_runs: bool, missing: int, impossible: Sequence[str]) -> str:
    if has_runs:
        return f"No answer yet: every run {'so far ' if missing else ''}has failed."
    if missing or not impossible:
        return "No answer yet: no run has given a tree yet."
    why = [reason.removeprefix(f"dataset {dataset!r}: ") for reason in dict.fromkeys(impossible)]
    more = f" (and {formats.plural(len(why) - 1, 'more reason')})" if len(why) > 1 else ""
    return f"No answer: no cell of this dataset can be run: {why[0].rstrip('.')}{more}."


def _by_validation(
    dataset: str, paths: Sequence[Path], candidates: _Candidates, missing: int
) -> Answer:
    best = candidates.simplest(float(candidates.scores.max()))
    error = float(best.point["test_error"])
    allowed = 0.0 if math.isnan(error) else error
    taken = candidates.simplest(best.score - allowed)
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
    tree = taken.path.fold_trees.get(key, ())
    shown = tree[0] if tree else _tree_at(taken.path, str(taken.point["lam_text"]))
    if taken.path.whole is not None:
        shown = next(tree for tree in taken.path.trees if (tree.start or 0) <= Fraction(key))
    return Answer(
        dataset,
        f"Take {taken.name}.",
        tuple(reasons),
        taken.path,
        key,
        shown,
        tuple(_warnings(taken, best, paths, missing)),
    )


def _tree_at(path: Path, lam_text: str) -> PathTree:
    return next(tree for tree in path.trees if lam_text in tree.lams)


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
    """What validation compares, in the words of the task."""
    if one.point["task"] == REGRESSION:
        return f"RMSE {rmse(one.point['test_rmse'])}"
    return formats.percent(one.point["test_accuracy"])


def _proof(taken: _Candidate) -> str:
    p = taken.point
    runs, proven = int(p["runs"]), int(p["optimal"])
    where = "all these λ" if taken.path.stairs else "this λ"
    if p["heuristic"] == runs:
        return f"{taken.path.solver} is a heuristic: nothing is proven about its trees."
    if proven == runs:
        what = {1: "Its tree is", 2: "Both trees are"}.get(runs, f"All {runs} trees are")
        return f"{what} proven optimal for {where}."
    others = "the other" if runs - proven == 1 else "the others"
    return (
        f"{proven} of {runs} trees {'is' if proven == 1 else 'are'} proven optimal for {where}; "
        f"{others} hit a limit with a gap of at most {formats.gap(p['gap_max'])}."
    )


def _exactness(taken: _Candidate) -> list[str]:
    """That no λ was left out, which a grid cannot say."""
    table = taken.path.table
    if not taken.path.stairs:
        return []
    low = formats.lam_from(taken.path.lam_min)
    return [
        f"No λ was left out: validation compared the whole path from λ = {low} up, which has "
        f"{formats.plural(len(table), 'interval')} without a breakpoint in any fold."
    ]


def _rivals(taken: _Candidate, candidates: _Candidates) -> list[str]:
    """What the other solvers reach at best; of many the best ones are named."""
    others = candidates.best_of_others(taken.path.solver)
    best = sorted(range(len(others)), key=lambda i: -others[i].score)[:_MOST_RIVALS]
    parts = [
        f"{other.path.solver} {_in_short(other)} ({other.path.encoding}, "
        f"{lam_words(other.point)}, {leaves_words(other.point)})"
        for other in (others[i] for i in sorted(best))
    ]
    more = len(others) - len(best)
    better = "not better than these" if more == 1 else "none of them better than these"
    parts += [f"{formats.plural(more, 'other')}, {better}"] if more else []
    return [f"At its best, {'; '.join(parts)}."] if parts else []


def _no_split(one: _Candidate, paths: Sequence[Path]) -> str:
    """Why the best path has no split where all its folds are, as far as that is known."""
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


def _all_proven(paths: Sequence[Path], low: float) -> bool:
    """Whether in each encoding a solver has proven its trees of the smallest λ of all, among all
    trees."""
    ends = [(path.encoding, path.table.iloc[-1]) for path in paths]
    proven = {
        encoding for encoding, point in ends
        if point["lam"] <= low
        and point["optimal"] == point["expected"]
        and not point["tree_limits"]
    }  # fmt: skip
    return proven == {encoding for encoding, _ in ends}


def _warnings(
    taken: _Candidate, best: _Candidate, paths: Sequence[Path], missing: int
) -> list[str]:
    notes = []
    full = complete(best.path.table)
    at_end = len(full) > 1 and best.point["lam_key"] == full.iloc[-1]["lam_key"]
    perfect = 0.0 if best.point["task"] == REGRESSION else 1.0
    if at_end and best.score < perfect and best.point["lam"] > 0:
        notes.append(
            f"The best mean lies at the end of the {'path' if best.path.stairs else 'grid'} "
            f"({lam_words(best.point)}): smaller λ may be better still."
        )
    if full["splits"].max() == 0 and not missing:
        notes.append(_no_split(best, paths))
    lacking = sum(len(path.table) - len(complete(path.table)) for path in paths)
    if lacking:
        notes.append(f"{formats.plural(lacking, 'λ-point')} without all folds did not take part.")
    if int(taken.point["runs"]) == 1:
        notes.append("One held-out part has no standard error; folds would tell how sure this is.")
    return notes
