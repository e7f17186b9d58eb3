"""Check what a solver claims: nothing trusts a solver, ours or another's."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from solver.features.number_format import count
from solver.limits import Limits
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Tree
from solver.verify.scorer import Score, score


def disagreement(
    problem: Problem,
    solution: Solution,
    lam: Fraction,
    limits: Limits,
    scorer: Callable[[Problem, Tree, Fraction], Score] = score,
) -> str | None:
    """What is wrong with a solver's claim, by the plain scorer; None if nothing is."""
    known = {
        "lam": lam, "total_weight": problem.total_weight, "tolerance": problem.tolerance,
    }  # fmt: skip
    for name, true in known.items():
        if getattr(solution, name) != true:
            return (
                f"solver {solution.solver!r} claims {name} {getattr(solution, name)}; the problem "
                f"has {true}"
            )
    found = scorer(problem, solution.tree, lam)
    claimed = (solution.objective, solution.errors, solution.splits)
    if claimed != (found.objective, found.errors, found.splits):
        return (
            f"solver {solution.solver!r} claims objective {solution.objective} with "
            f"{count(solution.errors, 'error')} and {count(solution.splits, 'split')}; the plain "
            f"scorer finds {found.objective} with {count(found.errors, 'error')} and "
            f"{count(found.splits, 'split')}"
        )
    bound = solution.lower_bound
    if bound is not None and bound > found.objective:
        return (
            f"solver {solution.solver!r} claims the lower bound {bound}, which is above the "
            f"objective {found.objective} of its own tree"
        )
    gap = None if bound is None else found.objective - bound
    if solution.status is Status.OPTIMAL:
        agrees = gap is not None and gap <= problem.tolerance
    else:  # a limit may end a search of rounded weights whose gap is within the tolerance
        agrees = gap != 0
    if not agrees:
        return (
            f"solver {solution.solver!r} claims status {solution.status.value} with objective "
            f"{found.objective} and lower bound {bound}"
        )
    return beyond_limits(solution.tree, solution.solver, limits)


def beyond_limits(tree: Tree, solver: str, limits: Limits) -> str | None:
    """How a tree exceeds the limits; None if it does not."""
    for name, most in (("depth", limits.depth), ("splits", limits.splits)):
        if most is not None and (value := getattr(tree, name)) > most:
            return f"solver {solver!r} gives a tree of {name} {value}, the limit is {most}"
    least = limits.min_leaf_size
    smallest = None if least is None else smallest_leaf(tree)
    if least is not None and smallest is not None and smallest < least:
        return f"solver {solver!r} gives a leaf of {smallest}, the least is {least}"
    return None


def smallest_leaf(tree: Tree) -> int | None:
    """The weight of the lightest leaf to which ``min_leaf_size`` applies; None if there is none.

    It does not apply to the tree without a split, nor to a child of a multiway split that has no
    rows. A split of two branches of which one has no rows is no such split.
    """
    sizes = [
        sum(leaf.counts)
        for node in tree.nodes
        for leaf in (tree.nodes[child] for child in node.children)
        if leaf.is_leaf and (any(leaf.counts) or len(node.children) == 2)
    ]
    return min(sizes, default=None)
