"""The short answer for each dataset: which encoding, solver and λ to take, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd

from pipelines.report import formats
from pipelines.report.comparison import encoding_facts
from pipelines.report.paths import Path, PathTree, complete

_VALIDATE = (
    "To choose λ, add “validation: {kind: kfold, folds: 5, seed: 0}” to the sweep's file and run "
    "it again. Until then, take the tree whose size you can live with."
)

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
    menu : bool
        Whether to show all trees of the path, as the choice is the reader's.
    """

    dataset: str
    headline: str
    reasons: tuple[str, ...] = ()
    path: Path | None = None
    key: str | None = None
    tree: PathTree | None = None
    warnings: tuple[str, ...] = field(default=())
    menu: bool = False

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
        return f"{self.path.encoding} with {self.path.solver} at {_lam(self.point)}"

    def simplicity(self) -> tuple[float, ...]:
        """Fewest leaves first; then accuracy, proofs, an exact path, the larger λ, and time.

        Time varies from run to run, so it must not choose among the λ of one path.
        """
        p = self.point
        seconds = p["seconds"] if formats.is_number(p["seconds"]) else 0.0
        exact = bool(self.path.stairs)
        return p["leaves"], -p["test_accuracy"], -p["optimal"], not exact, -p["lam"], seconds


def _lam(point: pd.Series[Any]) -> str:
    """``λ = 0.05``, ``any λ from 0.01 to 0.02``, ``any λ of 0.25 or more``."""
    text = str(point["lam_text"])
    if point["lam_start_exact"] is None:
        return f"λ = {text}"
    return f"any λ {'from' if point['lam_end_exact'] else 'of'} {text}"


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
        where = "this λ" if taken.path.stairs == () else "all these λ"
        return f"{what} proven optimal for {where}."
    return (
        f"{proven} of {runs} trees are proven optimal for this λ; the others hit a limit with a "
        f"gap of at most {formats.short(p['gap_max'])}."
    )


def _exactness(taken: _Candidate) -> list[str]:
    """That no λ was left out, which a grid cannot say."""
    table = taken.path.table
    if not taken.path.stairs:
        return []
    low = formats.short(table["lam"].min())
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
            f"{_lam(other.point)}, {_leaves(other.point)})"
        )
    return [f"At its best, {'; '.join(parts)}."] if parts else []


def _warnings(taken: _Candidate, best: _Candidate, paths: Sequence[Path]) -> list[str]:
    notes = []
    full = complete(best.path.table)
    at_end = len(full) > 1 and best.point["lam_key"] == full.iloc[-1]["lam_key"]
    if at_end and best.accuracy < 1 and best.point["lam"] > 0:
        notes.append(
            f"The best mean lies at the end of the {'path' if best.path.stairs else 'grid'} "
            f"({_lam(best.point)}): smaller λ may be better still."
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
    if comparison["lam_key"].nunique() == 1 and not any(path.stairs for path in paths):
        return _single_lambda(dataset, paths, reasons)
    fact = encoding_facts(comparison).get(dataset)
    if fact is not None:
        reasons.append(
            f"The smallest objective is that of {fact['encoding']} at {fact['wins']} of "
            f"{fact['lams']} λ."
        )
    taken = min(paths, key=lambda path: _standing(path, comparison, fact))
    steady = _steadiest(taken)
    if steady is not None:
        return _by_steps(dataset, taken, steady, reasons)
    return Answer(
        dataset,
        f"Take {taken.encoding} with {taken.solver}; training results cannot choose λ.",
        ("A smaller λ always fits the training rows better.", *(r for r in reasons if r)),
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
    return max(widths, key=lambda width: width[:2])[2] if widths else None


def _by_steps(dataset: str, path: Path, tree: PathTree, reasons: list[str]) -> Answer:
    """Without validation an exact path still shows which tree lasts longest as λ changes."""
    start, end = tree.start, tree.end
    assert start is not None
    assert end is not None
    key = str(start)
    point = path.point(key)
    best = "proven best" if tree.proven else "the best known"
    why = [
        f"It is {best} for every λ from {point['lam_text']}, a factor of "
        f"{formats.factor(float(end / start))}: the widest step of the path. It gets "
        f"{formats.percent(point['train_accuracy'])} of the training rows right, with "
        f"{_leaves(point)}."
    ]
    share = formats.percent(float(end))
    gains = f"Each split that the next simpler tree lacks puts {share} of the rows"
    if start == path.stairs[0].steps[0].start:
        why.append(f"{gains} right on average. The path ends here: what smaller λ give is open.")
    else:
        why.append(
            f"{gains} right on average; each further one of the next larger tree only "
            f"{formats.percent(float(start))}."
        )
    splits = formats.plural(tree.tree.splits, "split")
    return Answer(
        dataset,
        f"Without held-out rows, look first at the tree of {splits}: {path.encoding} with "
        f"{path.solver} at {_lam(point)}.",
        (*why, *(reason for reason in reasons if reason)),
        path,
        key,
        tree,
        (_VALIDATE,),
        menu=True,
    )


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
