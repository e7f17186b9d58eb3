"""The options of mode ``full``, and the parameters of its kernels."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from solver.branches.kernels.state import HUGE, Params
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.simd import LANES
from solver.objective.exact_objective import INFINITE, CostScale
from solver.options import Option
from solver.problem.problem import Problem

_MOST_COLUMNS = 4096
_LARGEST_TABLE = 2**20
_MOST_JOINT_COLUMNS = 1024
_MOST_DUALS = 2**14
_MOST_BLOCKS = 256
_MOST_KEPT_WORDS = 2**20
_RECENT_FROM = 2048
# A search of so many iterations × values × rows may not end in time. Its lower bound then counts,
# which is that of the root's best split: the root leaves a split for the next one sooner.
_LONG_SEARCH = 2**32
_ROOT_SHARE = 16
_SHALLOW = 5
_YES_NO = (True, False)
_CHILD_ORDERS = ("lowest-bound", "smallest-gap", "paper")  # as numbered in state.py

OPTIONS: Mapping[str, Option] = {
    "slack": Option(
        4.0,
        "leave a split when it is this many λ worse than the second best, ≥ 0; depth-first at "
        "λ = 0 and up to depth 5",
        kind=(int, float),
        minimum=0,
    ),
    "memo": Option(
        "rows",
        "which branches share one entry of the memo: those with equal rows, or with equal literals",
        ("rows", "literals"),
    ),
    "pairs": Option(True, "bounds from class counts of all pairs of features", _YES_NO),
    "support": Option(True, "drop splits that cannot correct enough errors to pay λ", _YES_NO),
    "class_counts": Option(
        True, "bounds from the number of classes that a tree of s splits can predict", _YES_NO
    ),
    "similar_support": Option(
        True, "bounds from other branches that have mostly the same rows", _YES_NO
    ),
    "child_order": Option(
        "lowest-bound",
        "child searched first: least lower bound, smallest gap, or fewest correct rows (paper)",
        _CHILD_ORDERS,
    ),
    "duplicates": Option(
        True,
        "keep only one of several features that split a branch's rows in the same way",
        _YES_NO,
    ),
    "equivalent_points": Option(
        True, "bounds from errors on rows that no feature distinguishes", _YES_NO
    ),
    "row_duals": Option(True, "bounds from a linear program over the rows of a branch", _YES_NO),
    "subset_bounds": Option(
        True, "bounds from branches left before, most of whose rows are in this one", _YES_NO
    ),
    "two_splits": Option(
        True, "close branches with room for two more splits by counting, without opening", _YES_NO
    ),
    "incumbent": Option(
        True, "first descend once along the cheapest splits, to find a good tree early", _YES_NO
    ),
}


def params_of(
    problem: Problem,
    cost_scale: CostScale,
    constraints: TreeConstraints,
    settings: Mapping[str, Any],
    unit: int,
) -> Params:
    """The parameters of a search.

    ``settings`` are values of :data:`OPTIONS`; ``unit`` is the weight of a unit of the table.
    """
    pairs = settings["pairs"] and _pairs_pay(problem, constraints, unit)
    # A tree for fewer rows may have leaves that more rows leave too small (an empty one becomes
    # small), and a tree for other rows any: these bounds compare with such trees.
    grows = constraints.min_leaf <= unit or constraints.max_arity == 2
    return Params(
        **prices_of(problem, cost_scale, constraints, settings, unit),
        budgets=constraints.budgets,
        depth=constraints.depth,
        min_leaf=-(-constraints.min_leaf // unit),
        max_arity=constraints.max_arity,
        root_slack_from=_LONG_SEARCH // max(int(problem.arities.sum()) * len(problem.codes), 1),
        row_memo=settings["memo"] == "rows",
        child_order=_CHILD_ORDERS.index(settings["child_order"]),
        pairs=pairs,
        support=settings["support"] and grows,
        class_counts=settings["class_counts"],
        similar_support=settings["similar_support"]
        and pairs
        and constraints.min_leaf <= unit
        and _joint_fits(problem, unit),
        duplicates=settings["duplicates"],
        equivalent_points=settings["equivalent_points"],
        incumbent=settings["incumbent"],
        two_splits=settings["two_splits"]
        and pairs
        and constraints.max_arity == 2
        and constraints.budgets == 1
        and constraints.min_leaf <= unit,
        recent=_kept_blocks(problem)
        if settings["subset_bounds"]
        and constraints.min_leaf <= unit
        and _weights_fit(problem, unit)
        else 0,
        recent_from=_RECENT_FROM,
    )


def prices_of(
    problem: Problem,
    cost_scale: CostScale,
    constraints: TreeConstraints,
    settings: Mapping[str, Any],
    unit: int,
) -> dict[str, Any]:
    """The parameters that change with λ, see :func:`params_of`."""
    slack, root_slack = (_slack(settings["slack"], share, cost_scale) for share in (1, _ROOT_SHARE))
    if cost_scale.lam == 0 or constraints.depth <= _SHALLOW:  # depth first
        slack = INFINITE // 2
    if cost_scale.lam == 0:
        root_slack = max(cost_scale.error * problem.leaf_errors // _ROOT_SHARE, 1)
    return {
        "error": cost_scale.error * unit,
        "split": cost_scale.split,
        "slack": slack,
        "root_slack": root_slack,
        "row_duals": settings["row_duals"] and _duals_pay(problem, cost_scale, constraints),
    }


def _slack(lams: float, share: int, cost_scale: CostScale) -> int:
    """A share of the slack as a cost.

    It is a split or an error at least, whichever is cheaper: where bounds follow from each other
    (``subset_bounds``), two branches in turns would else raise each other's by 1, a billion times.
    """
    least = min(cost_scale.error, cost_scale.split)
    numerator, denominator = _ratio(lams)
    cost = numerator * cost_scale.split // (denominator * share)
    return min(max(cost, least), INFINITE // 2)


@cache
def _ratio(slack: float) -> tuple[int, int]:
    """The decimal that a slack was given as."""
    return Fraction(str(slack)).as_integer_ratio()


def _pairs_pay(problem: Problem, constraints: TreeConstraints, unit: int) -> bool:
    """Whether counting pairs of features is worth its time and room.

    Its time grows with the square of the number of codes, what it saves does not.
    """
    few = int((problem.arities - 1).sum()) <= _MOST_COLUMNS
    if constraints.max_arity == 2 and not _weights_fit(problem, unit):
        return False
    return few and constraints.max_arity**2 * problem.n_classes <= _LARGEST_TABLE


def _weights_fit(problem: Problem, unit: int) -> bool:
    """Whether sums of weights fit into the vectors of 32-bit numbers."""
    return problem.total_weight // unit < HUGE


def _duals_pay(problem: Problem, cost_scale: CostScale, constraints: TreeConstraints) -> bool:
    """Whether the leaves of a tree are one more than its splits, splits are not free, and the
    program has room."""
    room = problem.n_features <= _MOST_JOINT_COLUMNS and len(problem.codes) <= _MOST_DUALS
    return room and constraints.max_arity == 2 and cost_scale.lam > 0


def _kept_blocks(problem: Problem) -> int:
    """How many blocks of branches are kept: fewer if a branch has many rows."""
    words = LANES * -(-int(np.count_nonzero(problem.counts)) // 64)
    return max(1, min(_MOST_BLOCKS, _MOST_KEPT_WORDS // words))


def _joint_fits(problem: Problem, unit: int) -> bool:
    """Whether every frame has room for the weights of all pairs of columns, in 32 bits.

    One answer for all frames: a frame with fewer columns than the one below has only the room that
    the one below leaves.
    """
    few = int((problem.arities - 1).sum()) <= _MOST_JOINT_COLUMNS
    return few and problem.total_weight // unit < 2**31
