"""The catalogue of solvers: ours, adapters to those of others, and registered ones."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module, metadata
from inspect import isabstract
from typing import cast

from solver.base import Capabilities, Solver
from solver.errors import InputError
from solver.options import Option
from solver.trees.tree import TaskType

GROUP = "treesweep.solvers"
"""The entry points by which an installed package offers solvers."""

OURS = {
    "branches": "solver.branches.Branches",
    "osdt": "solver.osdt.Osdt",
    "quantbnb": "solver.quantbnb.QuantBnB",
    "proper": "solver.proper.solver.Proper",
    "cart": "solver.baselines.cart.Cart",
    "tao": "solver.baselines.tao.Tao",
}
"""Where our solvers are, by name. A solver is imported once it is asked for."""

EXTERNAL = {
    "gosdt": "solver.external.gosdt.Gosdt",
    "streed": "solver.external.streed.Streed",
    "dl85": "solver.external.dl85.Dl85",
    "contree": "solver.external.contree.Contree",
    "pytrees-dl85": "solver.external.pytrees.PyTreesDl85",
    "pytrees-contree": "solver.external.pytrees.PyTreesContree",
    "pytrees-lgdt": "solver.external.pytrees.PyTreesLgdt",
    "flowoct": "solver.external.flowoct.FlowOct",
    "binoct": "solver.external.binoct.BinOct",
    "oct": "solver.external.oct.Oct",
}
"""Where the adapters to solvers of others are, by name."""


class Catalogue(MutableMapping[str, type[Solver]]):
    """The solvers by name: ours, others' with an adapter of ours, those of installed packages, and
    those that were registered."""

    def __init__(self) -> None:
        self._solvers: dict[str, type[Solver] | str] = {**OURS, **EXTERNAL}
        self._looked = False

    def _all(self) -> dict[str, type[Solver] | str]:
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
        found = self._all()[name]
        if isinstance(found, str):
            module, _, own = found.rpartition(".")
            self._solvers[name] = solver = cast(type[Solver], getattr(import_module(module), own))
            return solver
        return found

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
        if self.setdefault(solver.name, solver) is not solver:
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
"""All solvers by name: our own, external ones with an adapter, and those of installed packages.

Examples
--------
>>> import treesweep
>>> "branches" in treesweep.SOLVERS
True
>>> sorted(name for name, kind in treesweep.SOLVERS.items() if kind.certifies)
['branches']
"""


def register(solver: type[Solver]) -> type[Solver]:
    """Add a solver to the catalogue of this process.

    It can be used as a class decorator. The workers of a sweep are other processes, so a sweep does
    not see the solver. For a sweep, put the class into a package, declare it there as an entry
    point of the group ``treesweep.solvers``, and install the package on every worker.

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
        If the class is not a solver, lacks ``name``, ``version``, ``summary``, ``capabilities`` or
        a method, or has the name of another solver.

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
    """The solver with this name. Raises InputError if there is no such solver.

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
