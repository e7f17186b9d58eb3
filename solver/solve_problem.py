"""The public ``solve`` and ``regularization_path``: check, choose the solver, search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from solver.argument_checks import check_arguments, check_names
from solver.base import Solver
from solver.catalogue import DEPTH, choose_solver, get_solver
from solver.encodings.auto_encoding import AUTO
from solver.features.number_format import count
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact_objective import as_lambda
from solver.path.path import Path
from solver.path.path_search import find_path
from solver.problem.problem import Problem
from solver.solution import Solution
from solver.trees.tree import Tree
from solver.verbose import Verbose


def _settle(name: str, limits: Limits | None, problem: Problem) -> tuple[type[Solver], Limits]:
    """The solver of a name, or the one that ``auto`` stands for, with the limits that it needs."""
    limits = limits or Limits()
    if name != AUTO:
        return get_solver(name), limits
    solver = choose_solver(problem.feature_kind, problem.task)
    needs_depth = limits.depth is None and "depth" in solver.capabilities.needs
    return solver, replace(limits, depth=DEPTH) if needs_depth else limits


def solve(
    problem: Problem,
    lam: str | int | float | Fraction | Decimal,
    solver: str = "branches",
    limits: Limits | None = None,
    *,
    initial_tree: Tree | None = None,
    monitor: Monitor | None = None,
    state: Mapping[str, NDArray[Any]] | None = None,
    verbose: bool = False,
    **options: Any,
) -> Solution:
    """Find the tree of least ``loss + λ·splits``.

    Parameters
    ----------
    problem : Problem
    lam : str, int, float, Fraction or Decimal
        λ, the price of a split, see :func:`solver.objective.exact_objective.as_lambda`.
    solver : str
        Name in the catalogue. ``auto`` is ``quantbnb`` for regression and for the encoding
        ``continuous``, otherwise ``branches``; trees of that ``quantbnb`` have depth 2 unless a
        limit says otherwise.
    limits : Limits, optional
        Limits on the search and on the tree.
    initial_tree : Tree, optional
        A tree that the search starts from, as its best tree so far.
    monitor : Monitor, optional
        Follows and stops the search.
    state : mapping of str to array, optional
        The state to continue from, see :meth:`solver.base.Solver.solve`.
    verbose : bool
        Whether to show each better tree: a line on stderr, or a bar in a notebook.
    **options
        Options of the solver.

    Returns
    -------
    Solution
        If a limit ends the search, it holds the best tree so far and a proven lower bound. Weights
        with too many digits for 64-bit integers are rounded, see
        :meth:`solver.problem.problem.Problem.fitted`; ``tolerance`` says how much better another
        tree may then be.

    Raises
    ------
    InputError
        If λ, an option, a limit or the state is wrong.
    UnsupportedError
        If the solver cannot solve this kind of problem.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> solution = treesweep.solve(problem, lam="0.05")
    >>> str(solution.objective), solution.splits, solution.status.value
    ('1/10', 2, 'optimal')
    """
    check_arguments(problem, limits, monitor, initial_tree)
    kind, limits = _settle(solver, limits, problem)
    check_names(options, kind.options, kind.name)
    chosen, price = kind(**options), as_lambda(lam)
    problem = problem.fitted(price, limits.splits)
    shown = Verbose() if verbose else None
    monitor = shown.monitor(monitor) if shown else monitor
    found = chosen.solve(
        problem, price, limits, initial_tree=initial_tree, monitor=monitor, state=state
    )
    if shown:
        figures = f"objective {float(found.objective):.4g}, {count(found.splits, 'split')}"
        shown.ended(f"{found.status}: {figures}, {found.seconds:.1f} s")
    return found


def regularization_path(
    problem: Problem,
    lam_min: str | int | float | Fraction | Decimal,
    solver: str = "branches",
    limits: Limits | None = None,
    *,
    monitor: Monitor | None = None,
    state: Mapping[str, NDArray[Any]] | None = None,
    verbose: bool = False,
    **options: Any,
) -> Path:
    """Find every tree that is optimal for some λ ≥ ``lam_min``, with exact breakpoints.

    Parameters
    ----------
    problem : Problem
    lam_min : str, int, float, Fraction or Decimal
        The smallest λ, see :func:`solver.objective.exact_objective.as_lambda`.
    solver : str
        Name in the catalogue. ``auto`` is ``quantbnb`` for regression and for the encoding
        ``continuous``, otherwise ``branches``; trees of that ``quantbnb`` have depth 2 unless a
        limit says otherwise.
    limits : Limits, optional
        The limit of seconds holds for the whole path. The limits of nodes and bytes hold for the
        search at each λ. Limits on the tree hold for every tree of the path.
    monitor : Monitor, optional
        Follows and stops the search.
    state : mapping of str to array, optional
        The state to continue from, taken from a snapshot of the same path; see
        :func:`solver.path.path_search.find_path`.
    verbose : bool
        As in :func:`solve`.
    **options
        Options of the solver.

    Returns
    -------
    Path
        If a limit ends the search, it holds the best trees so far and a proven lower bound at every
        λ.

    Raises
    ------
    InputError, UnsupportedError
        As :func:`solve`.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> path = treesweep.regularization_path(problem, lam_min="0.05")
    >>> [str(lam) for lam in path.lams], path.splits, path.status.value
    (['1/20', '1/8'], (2, 0), 'optimal')
    """
    check_arguments(problem, limits, monitor)
    kind, limits = _settle(solver, limits, problem)
    check_names(options, kind.options, kind.name)
    chosen, price = kind(**options), as_lambda(lam_min)
    problem = problem.fitted(price, limits.splits)
    shown = Verbose() if verbose else None
    monitor = shown.monitor(monitor) if shown else monitor
    found = find_path(problem, price, chosen.series(problem), limits, monitor, state)
    if shown:
        shown.ended(f"{found.status}: {count(len(found.steps), 'step')}, {found.seconds:.1f} s")
    return found
