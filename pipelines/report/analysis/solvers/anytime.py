"""Objective against time: how good a solver's tree is if it is taken at any moment."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from pipelines.report.analysis.solvers.solver_comparison import Instance, Problems, solvers_of
from pipelines.report.data.group_statistics import Floats, firsts, groups
from pipelines.report.data.store_reader import decompress
from solver.trees.tree import Tree

Traces: TypeAlias = Mapping[str, Sequence[tuple[float, float]]]
"""By the key of a run: seconds and objective of each better tree, in the order of time."""

MOST_POINTS = 400
"""The largest number of points of a curve."""


class Curve(NamedTuple):
    """A solver's mean over problems: ``share`` is what is left, at ``seconds``, of the way from the
    tree without a split to the best tree known."""

    kind: str
    solver: str
    problems: int
    seconds: Floats
    share: Floats


def anytime_curves(problems: Problems, traces: Traces, leaves: Mapping[str, float]) -> list[Curve]:
    """A curve for each kind of features and solver, on the problems that all of its solvers have.

    A solver without a trace has its tree when it ends, and none before. Problems whose best tree
    has no split are left out, and kinds without two solvers or without a trace.

    Parameters
    ----------
    problems : mapping
        From :func:`pipelines.report.analysis.solvers.solver_comparison.compare_outcomes`.
    traces : mapping
    leaves : mapping of str to float
        By the key of a run: the objective of the tree without a split.
    """
    curves = []
    for kind, found in problems.items():
        solvers = solvers_of(found)
        told = [
            one
            for one in found
            if {i.solver for i in one} == {*solvers}
            and any(leaves.get(i.key, -math.inf) > i.best for i in one)
        ]
        runs = [i for one in told for i in one]
        if len(solvers) < 2 or not any(traces.get(i.key) for i in runs):
            continue
        curves += [_curve(kind, name, told, traces, leaves) for name in solvers]
    return curves


def without_split(rows: pd.DataFrame) -> dict[str, float]:
    """By the key of a run the objective of the tree without a split, where a tree is there."""
    good = rows[rows["ok"]]
    same = groups(good, ["problem"])
    losses = []
    for place in firsts(same):
        row = good.iloc[place]
        root = Tree.from_json(decompress(row["tree"])).nodes[0]
        losses.append(float(root.errors) / float(row["total_weight"]))
    return {str(key): losses[number] for key, number in zip(good["key"], same, strict=True)}


def _curve(
    kind: str,
    solver: str,
    problems: Sequence[Sequence[Instance]],
    traces: Traces,
    leaves: Mapping[str, float],
) -> Curve:
    steps = []
    for one in problems:
        own = next(i for i in one if i.solver == solver)
        leaf = next(leaves[i.key] for i in one if i.key in leaves)
        steps.append(_steps(own, traces.get(own.key, ()), leaf))
    times = _times(seconds for own in steps for seconds, _ in own)
    share = np.zeros(len(times))
    for reached in steps:
        at, left = np.array([(-1.0, 1.0), *reached]).T
        share += left[np.searchsorted(at, times, side="right") - 1]
    return Curve(kind, solver, len(problems), times, share / len(problems))


def _steps(
    own: Instance, trace: Sequence[tuple[float, float]], leaf: float
) -> list[tuple[float, float]]:
    """What is left after each better tree; never more than before."""
    points = [*trace]
    if not math.isnan(own.objective):
        points.append((own.seconds, own.objective))
    steps, least = [], 1.0
    for seconds, objective in points:
        least = min(least, max(0.0, (objective - own.best) / (leaf - own.best)))
        steps.append((seconds, least))
    return sorted(steps, key=lambda step: (step[0], -step[1]))


def _times(seconds: Iterable[float]) -> Floats:
    """The moments at which anything changes, evenly chosen of too many."""
    times: Floats = np.unique([*seconds, 0.0])
    kept = np.unique(np.linspace(0, len(times) - 1, MOST_POINTS).astype(int))
    return np.asarray(times[kept], dtype=float)
