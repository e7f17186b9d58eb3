"""The short answer for a dataset without held-out rows: all but the choice of λ."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pandas as pd

from pipelines.report.analysis.comparison import encoding_facts
from pipelines.report.analysis.path_trees import PathTree
from pipelines.report.analysis.paths import Path
from pipelines.report.analysis.recommendation_record import (
    Answer,
    lam_words,
    leaves_words,
    splits_words,
)
from pipelines.report.data import formats
from pipelines.report.data.metrics import REGRESSION, train_sentence

_VALIDATE = (
    "To choose λ, add “validation: {kind: kfold, folds: 5, seed: 0}” to the sweep's file and run "
    "it again. Until then, take the tree whose size you can live with."
)

_NEVER_WORSE = "The optimal tree of a smaller λ never fits the training rows worse."

_STEADY = 1.3
"""A tree that is best over a narrower range of λ than this ratio does not stand out."""

_MANY_SOLVERS = 5
"""Of more, those that have proven all their trees are counted and not named."""


def by_training(dataset: str, paths: Sequence[Path], comparison: pd.DataFrame) -> Answer:
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
                   f"; its largest gap is {formats.gap(points['gap_max'].max())}.")
            )  # fmt: skip
    if all_proven:
        reasons.insert(
            0, f"{len(all_proven)} of {len(solvers)} solvers have proven all their trees optimal."
        )
    if comparison["lam_key"].nunique() == 1 and not any(path.stairs for path in paths):
        return _single_lambda(dataset, paths, reasons)
    fact = encoding_facts(comparison).get(dataset)
    if fact is not None:
        reasons.append(f"The smallest objective is that of {fact['encoding']} {fact['where']}.")
    taken = min(paths, key=lambda path: _standing(path, comparison, fact))
    steady = _steadiest(taken)
    if steady is not None:
        return _by_steps(dataset, taken, steady, reasons)
    return Answer(
        dataset,
        f"Take {taken.encoding} with {taken.solver}; training results cannot choose λ.",
        (_NEVER_WORSE, *(r for r in reasons if r)),
        taken,
        warnings=(_VALIDATE,),
    )


def _steadiest(path: Path) -> PathTree | None:
    """Of an exact path the tree with a split that is best over the widest range of λ, by ratio.

    The first step takes part only if it is the only one: where it begins was the user's choice.
    """
    if len(path.stairs) != 1:
        return None
    low = path.stairs[0].steps[0].start
    widths = [
        (tree.start > low, float(tree.end / tree.start), tree)
        for tree in path.trees
        if tree.start and tree.end is not None
    ]
    if not widths:
        return None
    _, width, tree = max(widths, key=lambda width: width[:2])
    return tree if width >= _STEADY else None


def _by_steps(dataset: str, path: Path, tree: PathTree, reasons: list[str]) -> Answer:
    """Without validation an exact path still shows which tree lasts longest as λ changes."""
    start, end = tree.start, tree.end
    assert start is not None
    assert end is not None
    key = str(start)
    point = path.point(key)
    best = "proven best" if tree.proven else "the best known"
    why = [
        f"It is {best} for every λ from {formats.interval(start, end)}, a factor of "
        f"{formats.factor(end / start)}: {_which_step(path, start, end)}. "
        f"{train_sentence(point)}, with {leaves_words(point)}."
    ]
    why.append(_gains(path, tree, start, end))
    splits = formats.plural(tree.tree.splits, "split")
    return Answer(
        dataset,
        f"Without held-out rows, look first at the tree of {splits}: {path.encoding} with "
        f"{path.solver} at {lam_words(point)}.",
        (*why, *(reason for reason in reasons if reason)),
        path,
        key,
        tree,
        (_VALIDATE,),
        menu=True,
    )


def _which_step(path: Path, start: Fraction, end: Fraction) -> str:
    """That no step with splits is wider by ratio; the first is known from λ_min on only."""
    first = path.trees[-1]
    low, high = first.start, first.end
    if low == start:
        return (
            f"the only step of a tree with splits, known only from λ = {formats.lam_from(start)} on"
        )
    assert low is not None
    assert high is not None
    widest = "the widest step of a tree with splits but for the first step, which is known"
    if low and high / low <= end / start:
        return f"{widest} only from λ = {formats.lam_from(low)} on"
    known = f", a factor of {formats.factor(high / low)} or more" if low else ""
    return f"{widest} for λ from {formats.interval(low, high)}{known}"


def _gains(path: Path, tree: PathTree, start: Fraction, end: Fraction) -> str:
    """What the splits of a step are worth: the λ at its ends."""
    if tree.quality["task"] == REGRESSION:
        variance = tree.tree.nodes[0].squared_error / tree.total_weight
        much, little = (f"{formats.percent(lam / variance)} more" for lam in (end, start))
        gains = f"Each split that the next simpler tree lacks explains {much} of the variance"
    else:
        much, little = (formats.percent(float(lam)) for lam in (end, start))
        gains = f"Each split that the next simpler tree lacks puts {much} of the rows right"
    if start == path.stairs[0].steps[0].start:
        return f"{gains} on average. The path ends here: what smaller λ give is open."
    return f"{gains} on average; each further one of the next larger tree only {little}."


def _standing(
    path: Path, comparison: pd.DataFrame, fact: dict[str, Any] | None
) -> tuple[float, ...]:
    """The best first: its encoding, its distance to the best, its proofs, exactness, its time."""
    own = comparison[
        (comparison["encoding"] == path.encoding) & (comparison["solver"] == path.solver)
    ]
    return (
        fact is not None and path.encoding != fact["encoding"],
        float(own["excess"].mean()),
        -float(own["optimal"].sum()),
        not path.stairs,
        float(own["seconds"].sum()),
    )


def _behind(solver: str, comparison: pd.DataFrame) -> str:
    all_points = comparison[comparison["solver"] == solver]
    own = all_points[all_points["compared"] > 1]
    if own.empty:
        return f"{solver} is a heuristic and had nothing to be compared with."
    worst = own.sort_values("excess_max", kind="stable").iloc[-1]
    if worst["excess_max"] == 0:
        if len(own) == len(all_points):
            return f"{solver}, a heuristic, found the best known tree everywhere."
        return (
            f"{solver}, a heuristic, found the best known tree wherever another solver ran: in "
            f"{formats.share(len(own), len(all_points))} cases."
        )
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
    about = f"{train_sentence(point)}, with {leaves_words(point)} and {splits_words(point)}."
    return Answer(
        dataset,
        head,
        (about, *(r for r in reasons if r)),
        taken,
        str(point["lam_key"]),
        taken.trees[0],
        ("Nothing was held out: how well this predicts new rows is not known.",),
    )
