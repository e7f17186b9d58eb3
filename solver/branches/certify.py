"""Certificates: a search that knows the optimum proves it once more, and logs the proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from solver.branches.engine import ThresholdEngine
from solver.branches.kernels.memo import feature_of
from solver.branches.kernels.state import LEFT, OPENED
from solver.engine.tree_constraints import TreeConstraints
from solver.errors import InputError
from solver.features.number_format import count
from solver.kernels.constants import FULL, RUNNING, Ints
from solver.kernels.jit import kernel
from solver.kernels.packed_rows import Table
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact_objective import CostScale
from solver.problem.problem import Problem
from solver.verify.certificate import LARGEST_COST, RULES, Certificate

SPLITS, COUNTS, KNOWN = range(len(RULES))

_SLICE = 4096


@kernel
def script(table: Table, events: Ints, rows: Ints, opened: Ints) -> int:
    """Turn the events of a log into the rows of a certificate; return their number.

    ``rows``, (events + 1, 5), get level, feature, code, bound and rule; the bound of row 0, the
    root's, is not set. ``opened``, (events + 1,), holds the open row of every level.
    """
    n, level = 1, 0
    opened[0] = 0
    rows[0, 0], rows[0, 1], rows[0, 2], rows[0, 3], rows[0, 4] = 0, -1, -1, 0, COUNTS
    for i in range(len(events)):
        value, bound = events[i, 0], events[i, 1]
        if value == LEFT:
            rows[opened[level], 3] = bound
            level -= 1
            continue
        rows[opened[level], 4] = SPLITS
        feature = feature_of(table, value)
        rows[n, 0], rows[n, 1], rows[n, 2] = level + 1, feature, value - table.values[feature]
        if bound == OPENED:
            level += 1
            opened[level] = n
            rows[n, 3], rows[n, 4] = 0, COUNTS
        else:
            rows[n, 3], rows[n, 4] = bound, KNOWN
        n += 1
    return n


def certify(
    problem: Problem,
    claims: Sequence[tuple[Fraction, int, int]],
    limits: Limits,
    settings: Mapping[str, Any],
    monitor: Monitor,
) -> Certificate:
    """Prove the optimum at one λ or several, and write the proof.

    ``claims`` are (λ, errors, splits) of an optimal tree, as a search has proven. The limit on
    depth is part of the claims; that of bytes holds for each proof. ``settings`` are the options of
    :class:`solver.branches.Branches`.

    Raises
    ------
    InputError
        If a claim is false, the limits allow no certificate, or it was stopped.
    """
    if limits.splits is not None or (limits.min_leaf_size or 0) > 1:
        raise InputError(
            "a certificate covers a limit on depth, but none on splits or the size of leaves; "
            "leave these or the proof out"
        )
    return Certificate.joined(
        [_prove(problem, *claim, limits, settings, monitor) for claim in claims]
    )


def _prove(
    problem: Problem,
    lam: Fraction,
    errors: int,
    splits: int,
    limits: Limits,
    settings: Mapping[str, Any],
    monitor: Monitor,
) -> Certificate:
    cost_scale = CostScale.plain(lam, problem.total_weight)
    if not cost_scale.fits or cost_scale.error * problem.total_weight >= LARGEST_COST:
        raise InputError(
            f"λ = {lam} has too many digits for a certificate, whose bounds are 64-bit integers; "
            "write it with fewer"
        )
    goal = cost_scale.cost(errors, splits)
    if goal <= cost_scale.error * problem.unavoidable_errors:
        rows = np.array([[0, -1, -1, goal, COUNTS]], np.int64)
    else:
        constraints = TreeConstraints.of(problem, lam, Limits(depth=limits.depth))
        engine = ThresholdEngine(problem, cost_scale, constraints, settings)
        engine.aim(goal)
        while (outcome := engine.step(_SLICE, -1)) in (RUNNING, FULL):
            if outcome == FULL and not engine.grow(limits.bytes):
                raise InputError("the proof does not fit into the memory limit")
            if monitor.stop():
                raise InputError("the proof was stopped before its end")
        if engine.lower_bound < goal:
            raise InputError(
                f"at λ = {lam} a tree of {count(errors, 'error')} and "
                f"{count(splits, 'split')} is not optimal: "
                "there is no proof of it"
            )
        events = engine.log.events[: int(engine.log.used[0])]
        rows = np.zeros((len(events) + 1, 5), np.int64)
        rows = rows[: script(engine.table, events, rows, np.zeros(len(rows), np.int64))]
        rows[0, 3] = min(engine.lower_bound, goal)
    level, feature, code, bound, rule = rows.T
    return Certificate(
        lam=[str(lam)] * len(rows),
        level=level.astype(np.int32),
        feature=feature.astype(np.int32),
        code=code.astype(np.int32),
        bound=bound.copy(),
        rule=rule.astype(np.int8),
        depth=limits.depth,
        total_weight=problem.total_weight,
    )
