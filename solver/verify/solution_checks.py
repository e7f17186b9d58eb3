"""Check what a solver claims: nothing trusts a solver, ours or another's."""

from __future__ import annotations

from fractions import Fraction

from solver.features.number_format import count
from solver.limits import Limits
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Tree
from solver.verify.scorer import score


def disagreement(problem: Problem, solution: Solution, lam: Fraction, limits: Limits) -> str | None:
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
    found = score(problem, solution.tree, lam)
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
    for name, value, most in (
        ("depth", tree.depth, limits.depth),
        ("splits", tree.splits, limits.splits),
    ):
        if most is not None and value > most:
            return f"solver {solver!r} gives a tree of {name} {value}, the limit is {most}"
    least = limits.min_leaf_size
    sizes = [sum(n.counts) for n in tree.nodes if n.is_leaf and any(n.counts)]
    if least is not None and tree.splits and min(sizes) < least:
        return f"solver {solver!r} gives a leaf of {min(sizes)}, the least is {least}"
    return None
