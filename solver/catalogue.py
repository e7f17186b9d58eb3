"""The catalogue of solvers, and the public ``solve`` and ``regularization_path``."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import replace
from fractions import Fraction
from importlib import metadata
from inspect import isabstract
from typing import Any

from numpy.typing import NDArray

from solver.argument_checks import check_arguments, check_names
from solver.base import Capabilities, Solver
from solver.baselines.cart import Cart
from solver.baselines.tao import Tao
from solver.branches import Branches
from solver.encodings.auto_encoding import AUTO
from solver.errors import InputError
from solver.external.binoct import BinOct
from solver.external.contree import Contree
from solver.external.dl85 import Dl85
from solver.external.flowoct import FlowOct
from solver.external.gosdt import Gosdt
from solver.external.oct import Oct
from solver.external.pytrees import PyTreesContree, PyTreesDl85, PyTreesLgdt
from solver.external.streed import Streed
from solver.features.number_format import count
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact_objective import as_lambda
from solver.options import Option
from solver.osdt import Osdt
from solver.path.path import Path
from solver.path.path_search import find_path
from solver.problem.problem import Problem
from solver.proper import Proper
from solver.quantbnb import QuantBnB
from solver.solution import Solution
from solver.trees.tree import TaskType, Tree
from solver.verbose import Verbose

GROUP = "treesweep.solvers"
"""The entry points by which an installed package offers solvers."""

OURS = (Branches, Osdt, QuantBnB, Proper, Cart, Tao)

EXTERNAL = (
    Gosdt,
    Streed,
    Dl85,
    Contree,
    PyTreesDl85,
    PyTreesContree,
    PyTreesLgdt,
    FlowOct,
    BinOct,
    Oct,
)


class Catalogue(MutableMapping[str, type[Solver]]):
    """The solvers by name: ours, others' with an adapter of ours, those of installed packages, and
    those that were registered."""

    def __init__(self) -> None:
        self._solvers: dict[str, type[Solver]] = {
            solver.name: solver for solver in (*OURS, *EXTERNAL)
        }
        self._looked = False

    def _all(self) -> dict[str, type[Solver]]:
        # Not at import: a package's solver imports this one.
        if not self._looked:
            self._looked = True
            for entry in metadata.entry_points(group=GROUP):
                try:
                    self.register(entry.load())
                except Exception as error:  # whatever a package does, our solvers work
                    text = f"the solver {entry.name!r} ({entry.value}) is left out: {error!r}"
                    warnings.warn(text, stacklevel=2)
        return self._solvers

    def __getitem__(self, name: str) -> type[Solver]:
        return self._all()[name]

    def __setitem__(self, name: str, solver: type[Solver]) -> None:
        self._all()[name] = solver

    def __delitem__(self, name: str) -> None:
        del self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def register(self, solver: type[Solver]) -> type[Solver]:
        """See :func:`register`."""
        given: object = solver
        if not (isinstance(given, type) and issubclass(given, Solver)):
            raise InputError(f"{solver!r} is not a subclass of solver.base.Solver")
        missing = [name for name in _DECLARED if not hasattr(solver, name)]
        if missing or isabstract(solver):
            what = ", ".join([*missing, *sorted(solver.__abstractmethods__)])
            raise InputError(f"solver {solver.__name__} lacks: {what}")
        if wrong := _wrongly_declared(solver):
            raise InputError(f"solver {solver.__name__}: {wrong}")
        if self._all().setdefault(solver.name, solver) is not solver:
            raise InputError(f"there is a solver {solver.name!r} already; choose another name")
        return solver


_DECLARED = ("name", "version", "summary", "capabilities")
_NAME = re.compile(r"[A-Za-z][\w-]*", re.ASCII)


def _wrongly_declared(solver: type[Solver]) -> str | None:
    """What a solver declares that nothing can store or show; None if all is well."""
    name: object = solver.name
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return f"name = {solver.name!r} must be letters, digits, _ and -, and begin with a letter"
    for field in ("version", "summary"):
        if not isinstance(getattr(solver, field), str):
            return f"{field} = {getattr(solver, field)!r} must be text"
    capabilities: object = solver.capabilities
    if not isinstance(capabilities, Capabilities):
        return f"capabilities = {solver.capabilities!r} must be solver.base.Capabilities"
    options: Mapping[str, object] = solver.options
    wrong = [key for key, option in options.items() if not isinstance(option, Option)]
    return f"option {wrong[0]!r} must be a solver.options.Option" if wrong else None


SOLVERS = Catalogue()
"""The solvers by name: ours, adapters to solvers of others, and solvers of installed packages.

Examples
--------
>>> import treesweep
>>> "branches" in treesweep.SOLVERS
True
>>> sorted(name for name, kind in treesweep.SOLVERS.items() if kind.certifies)
['branches']
"""


def register(solver: type[Solver]) -> type[Solver]:
    """Add a solver to the catalogue of this process; also a class decorator.

    The workers of a sweep are other processes. For a sweep, let a package that is installed on
    every worker name the class as an entry point of the group ``treesweep.solvers``.

    Parameters
    ----------
    solver : type
        A subclass of :class:`solver.base.Solver`.

    Returns
    -------
    type
        The same class.

    Raises
    ------
    InputError
        If it is not a solver, lacks a declaration, or has the name of another solver.

    Examples
    --------
    >>> import treesweep
    >>> class Stump(treesweep.get_solver("cart")):
    ...     name, version = "stump", "1"
    ...     summary = "CART with another name"
    >>> treesweep.register(Stump).name
    'stump'
    >>> "stump" in treesweep.SOLVERS
    True
    """
    return SOLVERS.register(solver)


def get_solver(name: str) -> type[Solver]:
    """The solver of a name; InputError if there is none.

    Examples
    --------
    >>> import treesweep
    >>> treesweep.get_solver("branches").capabilities.proves
    True
    """
    if not isinstance(name, str):
        raise InputError(
            f"the solver is a value of type {type(name).__name__}",
            "give its name, e.g. solver='branches', and limits as limits=treesweep.Limits(…)",
        )
    if name not in SOLVERS:
        close = difflib.get_close_matches(str(name), SOLVERS, 1)
        hint = f"did you mean {close[0]!r}? There" if close else "there"
        raise InputError(f"there is no solver {name!r}; {hint} are: {', '.join(SOLVERS)}")
    return SOLVERS[name]


DEPTH = 2
"""The depth of trees where the solver needs a limit and the user has named neither."""


def choose_solver(feature_kind: str, task: TaskType) -> type[Solver]:
    """The solver for a user who has named none: the first that proves, and can do the task."""
    continuous = task == "regression" or feature_kind == "continuous"
    return get_solver("quantbnb" if continuous else "branches")


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
    lam: str | int | float | Fraction,
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
    lam : str, int, float or Fraction
        λ, the price of a split, see :func:`solver.objective.exact_objective.as_lambda`.
    solver : str
        Name in the catalogue. ``auto`` is ``quantbnb`` for regression and for the encoding
        ``continuous``, otherwise ``branches``. Trees of ``quantbnb`` have depth 2 unless a limit
        says otherwise.
    limits : Limits, optional
        Limits on the search and on the tree.
    initial_tree : Tree, optional
        The first incumbent.
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
        After any limit it holds the best tree so far and a proven lower bound. Weights with too
        many digits for 64-bit costs are rounded, see
        :meth:`solver.problem.problem.Problem.fitted`; ``tolerance`` says what that may change.

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
    lam_min: str | int | float | Fraction,
    solver: str = "branches",
    limits: Limits | None = None,
    *,
    monitor: Monitor | None = None,
    state: Mapping[str, NDArray[Any]] | None = None,
    verbose: bool = False,
    **options: Any,
) -> Path:
    """Every tree that is optimal for some λ ≥ ``lam_min``, with exact breakpoints.

    Parameters
    ----------
    problem : Problem
    lam_min : str, int, float or Fraction
        The smallest λ, see :func:`solver.objective.exact_objective.as_lambda`.
    solver : str
        Name in the catalogue. ``auto`` is ``quantbnb`` for regression and for the encoding
        ``continuous``, otherwise ``branches``. Trees of ``quantbnb`` have depth 2 unless a limit
        says otherwise.
    limits : Limits, optional
        Seconds are those of the whole path. Nodes and bytes hold for each solve. Limits on the tree
        hold for every tree of the path.
    monitor : Monitor, optional
        Follows and stops the search.
    state : mapping of str to array, optional
        The state in a snapshot of the same path, to continue from, see
        :func:`solver.path.path_search.find_path`.
    verbose : bool
        As in :func:`solve`.
    **options
        Options of the solver.

    Returns
    -------
    Path
        After any limit it holds the best trees so far and a proven lower bound at every λ.

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
