"""The short answer for each dataset: which encoding, solver and λ to take, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd

from pipelines.report import formats
from pipelines.report.answer import Answer, lam_words, leaves_words
from pipelines.report.paths import Path, PathTree, complete
from pipelines.report.training import by_training


class _Candidate(NamedTuple):
    path: Path
    point: pd.Series[Any]

    @property
    def accuracy(self) -> float:
        return float(self.point["test_accuracy"])

    @property
    def name(self) -> str:
        return f"{self.path.encoding} with {self.path.solver} at {lam_words(self.point)}"

    def simplicity(self) -> tuple[float, ...]:
        """Fewest leaves first; then accuracy, proofs, an exact path, the larger λ, and time.

        Time varies from run to run, so it must not choose among the λ of one path.
        """
        p = self.point
        seconds = p["seconds"] if formats.is_number(p["seconds"]) else 0.0
        exact = bool(self.path.stairs)
        return p["leaves"], -p["test_accuracy"], -p["optimal"], not exact, -p["lam"], seconds


def answer(dataset: str, paths: Sequence[Path], comparison: pd.DataFrame) -> Answer:
    """The answer for one dataset.

    With validation: among all λ, encodings and solvers with all their folds, the best mean test
    accuracy is found, and of those within one standard error of it the one of fewest leaves is
    taken. Leaves, as splits of different encodings are not alike: a multiway split is one split
    with many leaves.

    Parameters
    ----------
    paths : sequence of Path
        The dataset's.
    comparison : DataFrame
        From :func:`pipelines.report.comparison.compare`, the dataset's rows.
    """
    with_trees = [path for path in paths if path.trees]
    if not with_trees:
        reason = "no run has given a tree yet" if not paths else "every run has failed"
        return Answer(dataset, f"No answer yet: {reason}.")
    candidates = [
        _Candidate(path, point)
        for path in with_trees
        for _, point in complete(path.table).iterrows()
    ]
    if candidates:
        return _by_validation(dataset, with_trees, candidates)
    if any(path.table["test_accuracy"].notna().any() for path in with_trees):
        return Answer(
            dataset,
            "No answer yet: no λ has all of its folds.",
            warnings=("The figures below are of the folds that are there.",),
        )
    return by_training(dataset, with_trees, comparison)


def _by_validation(dataset: str, paths: Sequence[Path], candidates: list[_Candidate]) -> Answer:
    top = max(c.accuracy for c in candidates)
    best = min((c for c in candidates if c.accuracy >= top - 1e-12), key=_Candidate.simplicity)
    error = float(best.point["test_error"])
    slack = 0.0 if math.isnan(error) else error
    taken = min(
        (c for c in candidates if c.accuracy >= best.accuracy - slack - 1e-12),
        key=_Candidate.simplicity,
    )
    reasons = [_accuracy(taken)]
    if taken.point is not best.point:
        reasons.append(
            f"The best mean is {formats.percent(best.accuracy)} ({best.name}, "
            f"{leaves_words(best.point)}); of all that come within one standard error of it, this "
            "is the one of fewest leaves."
        )
    elif slack:
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
        tuple(_warnings(taken, best, paths)),
    )


def _tree_at(path: Path, lam_text: str) -> PathTree:
    return next(tree for tree in path.trees if lam_text in tree.lams)


def _accuracy(taken: _Candidate) -> str:
    p = taken.point
    spread = ""
    if formats.is_number(p["test_error"]):
        spread = f" ± {formats.points(p['test_error'])}"
    runs = int(p["runs"])
    over = f"mean ± standard error over {runs} folds" if runs > 1 else "one held-out part"
    few = "with" if runs == 1 else "with on average"
    return (
        f"It gets {formats.percent(p['test_accuracy'])}{spread} of the held-out rows right "
        f"({over}), {few} {leaves_words(p)} and {formats.mean_count(p['splits'])} splits."
    )


def _proof(taken: _Candidate) -> str:
    p = taken.point
    runs, proven = int(p["runs"]), int(p["optimal"])
    where = "all these λ" if taken.path.stairs else "this λ"
    if p["heuristic"] == runs:
        return f"{taken.path.solver} is a heuristic: nothing is proven about its trees."
    if proven == runs:
        what = {1: "Its tree is", 2: "Both trees are"}.get(runs, f"All {runs} trees are")
        return f"{what} proven optimal for {where}."
    return (
        f"{proven} of {runs} trees are proven optimal for {where}; the others hit a limit with a "
        f"gap of at most {formats.short(p['gap_max'])}."
    )


def _exactness(taken: _Candidate) -> list[str]:
    """That no λ was left out, which a grid cannot say."""
    table = taken.path.table
    if not taken.path.stairs:
        return []
    low = formats.lam(table["lam"].min())
    return [
        f"No λ was left out: validation compared the whole path from λ = {low} up, which has "
        f"{formats.plural(len(table), 'interval')} without a breakpoint in any fold."
    ]


def _rivals(taken: _Candidate, candidates: list[_Candidate]) -> list[str]:
    """What the other solvers reach at best."""
    parts = []
    for solver in dict.fromkeys(c.path.solver for c in candidates):
        if solver == taken.path.solver:
            continue
        other = max((c for c in candidates if c.path.solver == solver), key=lambda c: c.accuracy)
        parts.append(
            f"{solver} {formats.percent(other.accuracy)} ({other.path.encoding}, "
            f"{lam_words(other.point)}, {leaves_words(other.point)})"
        )
    return [f"At its best, {'; '.join(parts)}."] if parts else []


def _warnings(taken: _Candidate, best: _Candidate, paths: Sequence[Path]) -> list[str]:
    notes = []
    full = complete(best.path.table)
    at_end = len(full) > 1 and best.point["lam_key"] == full.iloc[-1]["lam_key"]
    if at_end and best.accuracy < 1 and best.point["lam"] > 0:
        notes.append(
            f"The best mean lies at the end of the {'path' if best.path.stairs else 'grid'} "
            f"({lam_words(best.point)}): smaller λ may be better still."
        )
    lacking = sum(len(path.table) - len(complete(path.table)) for path in paths)
    if lacking:
        notes.append(f"{formats.plural(lacking, 'λ-point')} without all folds did not take part.")
    if int(taken.point["runs"]) == 1:
        notes.append("One held-out part has no standard error; folds would tell how sure this is.")
    return notes
