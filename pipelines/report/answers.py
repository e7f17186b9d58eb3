"""The short answer for each dataset: which encoding, solver and λ to take, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from pipelines.report import formats
from pipelines.report.comparison import encoding_facts
from pipelines.report.paths import Path, PathTree, complete

_MANY_SOLVERS = 5
"""Of more, those that have proven all their trees are counted and not named."""


@dataclass(frozen=True)
class Answer:
    """What to take for a dataset.

    Parameters
    ----------
    dataset : str
    headline : str
        One sentence.
    reasons : tuple of str
        Sentences.
    path : Path or None
        The path that was chosen; None where there is nothing to choose from.
    key : str or None
        Key of the chosen λ; None where training results alone cannot choose it.
    tree : PathTree or None
        The tree to look at.
    warnings : tuple of str
        What may change the answer.
    """

    dataset: str
    headline: str
    reasons: tuple[str, ...] = ()
    path: Path | None = None
    key: str | None = None
    tree: PathTree | None = None
    warnings: tuple[str, ...] = field(default=())

    @property
    def point(self) -> pd.Series[Any] | None:
        """The row of the chosen λ."""
        return None if self.path is None or self.key is None else self.path.point(self.key)


class _Candidate(NamedTuple):
    path: Path
    point: pd.Series[Any]

    @property
    def accuracy(self) -> float:
        return float(self.point["test_accuracy"])

    @property
    def name(self) -> str:
        return f"{self.path.encoding} with {self.path.solver} at λ = {self.point['lam_text']}"

    def simplicity(self) -> tuple[float, float, float, float, float]:
        """Fewest leaves first; then accuracy, proofs, the larger λ, and time.

        Time varies from run to run, so it must not choose among the λ of one path.
        """
        p = self.point
        return p["leaves"], -p["test_accuracy"], -p["optimal"], -p["lam"], p["seconds"]


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
    return _by_training(dataset, with_trees, comparison)


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
            f"{_leaves(best.point)}); of all that come within one standard error of it, this is "
            "the one of fewest leaves."
        )
    elif slack:
        reasons.append("No other choice has a better mean, and none within one standard error of "
                       "it has fewer leaves.")  # fmt: skip
    else:
        reasons.append("No other choice has a better mean.")
    reasons += [_proof(taken), *_rivals(taken, candidates)]
    key = str(taken.point["lam_key"])
    tree = taken.path.fold_trees.get(key, ())
    shown = tree[0] if tree else _tree_at(taken.path, str(taken.point["lam_text"]))
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


def _leaves(point: pd.Series[Any]) -> str:
    return "1 leaf" if point["leaves"] == 1 else f"{formats.mean_count(point['leaves'])} leaves"


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
        f"({over}), {few} {_leaves(p)} and {formats.mean_count(p['splits'])} splits."
    )


def _proof(taken: _Candidate) -> str:
    p = taken.point
    runs, proven = int(p["runs"]), int(p["optimal"])
    if p["heuristic"] == runs:
        return f"{taken.path.solver} is a heuristic: nothing is proven about its trees."
    if proven == runs:
        what = "Its tree is" if runs == 1 else f"All {runs} trees are"
        return f"{what} proven optimal for this λ."
    return (
        f"{proven} of {runs} trees are proven optimal for this λ; the others hit a limit with a "
        f"gap of at most {formats.short(p['gap_max'])}."
    )


def _rivals(taken: _Candidate, candidates: list[_Candidate]) -> list[str]:
    """What the other solvers reach at best."""
    parts = []
    for solver in dict.fromkeys(c.path.solver for c in candidates):
        if solver == taken.path.solver:
            continue
        other = max((c for c in candidates if c.path.solver == solver), key=lambda c: c.accuracy)
        parts.append(
            f"{solver} {formats.percent(other.accuracy)} ({other.path.encoding}, "
            f"λ = {other.point['lam_text']}, {_leaves(other.point)})"
        )
    return [f"At its best, {'; '.join(parts)}."] if parts else []


def _warnings(taken: _Candidate, best: _Candidate, paths: Sequence[Path]) -> list[str]:
    notes = []
    full = complete(best.path.table)
    at_end = len(full) > 1 and best.point["lam_key"] == full.iloc[-1]["lam_key"]
    if at_end and best.accuracy < 1 and best.point["lam"] > 0:
        notes.append(
            f"The best mean lies at the end of the grid (λ = {best.point['lam_text']}): smaller λ "
            "may be better still."
        )
    lacking = sum(len(path.table) - len(complete(path.table)) for path in paths)
    if lacking:
        notes.append(f"{formats.plural(lacking, 'λ-point')} without all folds did not take part.")
    if int(taken.point["runs"]) == 1:
        notes.append("One held-out part has no standard error; folds would tell how sure this is.")
    return notes


def _by_training(dataset: str, paths: Sequence[Path], comparison: pd.DataFrame) -> Answer:
    """Without validation λ stays open, but not the solver."""
    solvers = list(dict.fromkeys(path.solver for path in paths))
    reasons = []
    all_proven = []
    for solver in solvers:
        own = [path.table for path in paths if path.solver == solver]
        points = pd.concat(own)
        runs, proven = int(points["runs"].sum()), int(points["optimal"].sum())
        if 0 < runs == proven and len(solvers) > _MANY_SOLVERS:
            all_proven.append(solver)
        elif points["heuristic"].sum() == runs:
            reasons.append(_behind(solver, comparison))
        else:
            reasons.append(
                f"{solver} has proven {formats.share(proven, runs)} of its trees optimal"
                + ("." if proven == runs else
                   f"; its largest gap is {formats.short(points['gap_max'].max())}.")
            )  # fmt: skip
    if all_proven:
        reasons.insert(
            0, f"{len(all_proven)} of {len(solvers)} solvers have proven all their trees optimal."
        )
    if comparison["lam_key"].nunique() == 1:
        return _single_lambda(dataset, paths, reasons)
    fact = encoding_facts(comparison).get(dataset)
    if fact is not None:
        reasons.append(
            f"The smallest objective is that of {fact['encoding']} at {fact['wins']} of "
            f"{fact['lams']} λ."
        )
    taken = min(paths, key=lambda path: _standing(path, comparison, fact))
    return Answer(
        dataset,
        f"Take {taken.encoding} with {taken.solver}; training results cannot choose λ.",
        ("A smaller λ always fits the training rows better.", *(r for r in reasons if r)),
        taken,
        warnings=(
            "To choose λ, add “validation: {kind: kfold, folds: 5, seed: 0}” to the sweep's file "
            "and run it again. Until then, take the tree whose size you can live with.",
        ),
    )


def _standing(
    path: Path, comparison: pd.DataFrame, fact: dict[str, Any] | None
) -> tuple[bool, float, float, float]:
    """The best first: its encoding, its distance to the best, its proofs, its time."""
    own = comparison[
        (comparison["encoding"] == path.encoding) & (comparison["solver"] == path.solver)
    ]
    return (
        fact is not None and path.encoding != fact["encoding"],
        float(own["excess"].mean()),
        -float(own["optimal"].sum()),
        float(own["seconds"].sum()),
    )


def _behind(solver: str, comparison: pd.DataFrame) -> str:
    own = comparison[(comparison["solver"] == solver) & (comparison["compared"] > 1)]
    if own.empty:
        return f"{solver} is a heuristic and had nothing to be compared with."
    worst = own.sort_values("excess_max", kind="stable").iloc[-1]
    if worst["excess_max"] == 0:
        return f"{solver}, a heuristic, found the best known tree everywhere."
    return (
        f"{solver}, a heuristic, is above the best known objective by "
        f"{formats.short(own['excess'].mean())} on average and by "
        f"{formats.short(worst['excess_max'])} at worst ({worst['encoding']}, "
        f"λ = {worst['lam_text']})."
    )


def _single_lambda(dataset: str, paths: Sequence[Path], reasons: list[str]) -> Answer:
    """One λ and no validation: the user has chosen λ, so the best objective is the answer."""
    least = min(float(path.table["objective"].min()) for path in paths)
    taken = min(
        (path for path in paths if float(path.table["objective"].min()) <= least + 1e-12),
        key=lambda path: (-int(path.table["optimal"].sum()), float(path.table["seconds"].min())),
    )
    point = taken.table.iloc[0]
    head = (
        f"At λ = {point['lam_text']}, {taken.encoding} with {taken.solver} has the smallest "
        f"objective, {formats.objective(point['objective'])}."
    )
    about = (
        f"It gets {formats.percent(point['train_accuracy'])} of the training rows right, with "
        f"{_leaves(point)} and {formats.mean_count(point['splits'])} splits."
    )
    return Answer(
        dataset,
        head,
        (about, *(r for r in reasons if r)),
        taken,
        str(point["lam_key"]),
        taken.trees[0],
        ("Nothing was held out: how well this predicts new rows is not known.",),
    )
