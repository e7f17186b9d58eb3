"""Checks of what a program passes to ``solve``: each error says what to write instead."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields

from solver.errors import InputError
from solver.features.oblique_tests import SurfaceTest
from solver.limits import OTHER_NAMES, Limits
from solver.monitor import Monitor
from solver.problem.problem import Problem
from solver.trees.tree import Tree

_LIMITS = {field.name: field.name for field in fields(Limits)} | OTHER_NAMES
"""Limits, by the names that programs call them."""


def check_arguments(
    problem: object, limits: object, monitor: object, initial_tree: object = None
) -> None:
    """Refuse arguments of another type than :func:`solver.solve_problem.solve` takes."""
    if not isinstance(problem, Problem):
        raise InputError(
            f"the problem is a {type(problem).__name__}; make one by treesweep.Problem.from_table("
            'table, target="COLUMN", encoding="auto")'
        )
    if limits is not None and not isinstance(limits, Limits):
        given = limits if isinstance(limits, Mapping) else {"seconds": limits}
        raise InputError(f"limits = {limits!r} are no Limits; write {_written(given)}")
    if monitor is not None and not isinstance(monitor, Monitor):
        raise InputError(
            f"monitor = {monitor!r} is no Monitor; write "
            "monitor=treesweep.Monitor(snapshot=FUNCTION)"
        )
    if initial_tree is not None and not isinstance(initial_tree, Tree):
        raise InputError(
            f"initial_tree = {initial_tree!r} is no tree; give that of a solution, "
            "initial_tree=solution.tree"
        )
    for number, test in () if initial_tree is None else initial_tree.tests.items():
        own = problem.tests[number] if number < len(problem.tests) else None
        if test != own and not isinstance(test, SurfaceTest):
            raise InputError(
                f"initial_tree asks {test.name}, which is no feature of this problem; give a tree "
                "of the same table and encoding"
            )


def check_names(options: Mapping[str, object], known: Collection[str], solver: str) -> None:
    """Refuse a limit among the options of a solver."""
    limits = {_LIMITS[key]: value for key, value in options.items()
              if key in _LIMITS and key not in known}  # fmt: skip
    if limits:
        first = next(key for key in options if key in _LIMITS and key not in known)
        raise InputError(
            f"solver {solver!r} has no option {first!r}, which is a limit; write {_written(limits)}"
        )


def _written(limits: Mapping[str, object]) -> str:
    words = ", ".join(f"{_LIMITS.get(name, name)}={value!r}" for name, value in limits.items())
    return f"limits=treesweep.Limits({words})"
