"""The contract of a solver: public ``solve`` checks, private ``_solve`` works."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self

from numpy.typing import NDArray

from solver.errors import InputError, StateError, UnsupportedError
from solver.features.number_format import count
from solver.limits import Limits
from solver.objective.weights import least_weight
from solver.problem.problem import Problem
from solver.shards import Shard
from solver.solution import Solution
from solver.trees.tree import Task, Tree


@dataclass(frozen=True)
class Snapshot:
    """What a running search knows, for checkpoints and progress displays.

    Parameters
    ----------
    seconds : float
        Of this call of ``solve``; a state that it went on from does not count.
    iterations, nodes : int
        Of the whole search, what was in the state included.
    state : callable, optional
        Gives the search's state, see :meth:`Solver.solve`. Its arrays may be views of what the
        search works on: they are to be read inside the callback, or, for the last snapshot, once
        ``solve`` has returned.
    lam : Fraction, optional
        Of a λ-path: the λ that is being solved, which tree, objective and bound are of. All else is
        then of the whole path, its state too, see :func:`solver.path.path_search.find_path`. That
        is to be read inside the callback, but for the last one of a path that a limit ended.
    """

    tree: Tree
    objective: Fraction
    lower_bound: Fraction
    seconds: float
    iterations: int
    nodes: int
    state: Callable[[], dict[str, NDArray[Any]]] | None = None
    lam: Fraction | None = None


@dataclass(frozen=True)
class Monitor:
    """How a caller follows and stops a running search.

    Parameters
    ----------
    stop : callable
        Asked between slices; when it returns True the search ends with status ``stopped``.
    snapshot : callable, optional
        Called with a :class:`Snapshot` every ``interval`` seconds of search, and by a solver that
        can be resumed once more when it ends without a proof.
    interval : float
        Seconds.
    """

    stop: Callable[[], bool] = lambda: False
    snapshot: Callable[[Snapshot], None] | None = None
    interval: float = 30.0


@dataclass(frozen=True)
class Option:
    """An option of a solver.

    Parameters
    ----------
    default : Any
    allowed : tuple, optional
        The values it may take; None leaves it to ``kind``.
    kind : type or tuple of types
    minimum : int, optional
        The least value of a number.
    """

    default: Any
    doc: str
    allowed: tuple[Any, ...] | None = None
    kind: type | tuple[type, ...] = str
    minimum: int | None = None

    def check(self, solver: str, name: str, value: Any) -> None:
        """Refuse a value that the option cannot take.

        Raises
        ------
        InputError
        """
        if self.allowed is not None:
            if value not in self.allowed or isinstance(value, bool) != isinstance(
                self.default, bool
            ):
                values = ", ".join(map(str, self.allowed))
                raise InputError(
                    f"option {name} = {value!r} of solver {solver!r} must be one of {values}"
                )
            return
        least = self.minimum
        too_small = least is not None and isinstance(value, (int, float)) and value < least
        flag = isinstance(value, bool) and self.kind is not bool
        if flag or too_small or not isinstance(value, self.kind):
            raise InputError(f"option {name} = {value!r} of solver {solver!r}: {self.doc}")


@dataclass(frozen=True)
class Capabilities:
    """What a solver can work on, so that an impossible cell is refused before anything runs.

    Parameters
    ----------
    features : frozenset of {"binary", "categorical", "continuous"}
        Kinds of encoded features. "categorical" includes multiway splits.
    max_classes : int or None
    limits : frozenset of str
        Names of the structural limits (depth, splits, min_leaf_size) it honours.
    needs : frozenset of str
        Those of them without which it cannot begin.
    proves : bool
        Whether it proves a lower bound.
    resumes : bool
        Whether it can go on from a state.
    tasks : frozenset of {"classification", "regression"}
    shards : bool
        Whether one solve can be done in parts, see :meth:`Solver.part`.
    """

    features: frozenset[str]
    max_classes: int | None = None
    limits: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    proves: bool = True
    resumes: bool = False
    tasks: frozenset[Task] = frozenset({"classification"})
    shards: bool = False


class Solve(Protocol):
    """Solves one problem at one λ after the other, see :meth:`Solver.series`."""

    def __call__(
        self,
        lam: Fraction,
        limits: Limits,
        start: Tree | None = None,
        monitor: Monitor | None = None,
    ) -> Solution:
        """The best tree at a λ, as :meth:`Solver.solve` has it."""


class Series:
    """A solver's solves of one problem at one λ after the other, which can go on elsewhere.

    Parameters
    ----------
    solver : Solver
    problem : Problem
    """

    def __init__(self, solver: Solver, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        self._saved: Mapping[str, NDArray[Any]] = {}

    def __call__(
        self,
        lam: Fraction,
        limits: Limits,
        start: Tree | None = None,
        monitor: Monitor | None = None,
    ) -> Solution:
        """The best tree at a λ, see :class:`Solve`.

        The state in its snapshots is that of the series.

        Raises
        ------
        StateError
            If the solver cannot go on from the state that was given to :meth:`restore`.
        """
        saved, self._saved = self._saved, {}
        try:
            return self.solver.solve(
                self.problem, lam, limits, start=start, monitor=monitor, state=saved or None
            )
        except InputError as error:
            if not saved:
                raise
            raise StateError(str(error)) from None

    def carries(self, limits: Limits) -> bool:
        """Whether a solve learns from those before it.

        Which of several equally good trees it gives may then depend on them: it gives the same
        tree only after the same solves, or from a state.
        """
        return False

    def state(self) -> dict[str, NDArray[Any]] | None:
        """What the next solve needs of those before it; None if that cannot be told."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where another series ended, before the first solve.

        Parameters
        ----------
        state : mapping of str to array
            From :meth:`state`, or from a snapshot of a solve. The next solve must then be that
            one: the same λ, limits on the tree and start.

        Raises
        ------
        StateError
            If the solver cannot go on from it.
        """
        self._saved = state


STRUCTURAL_LIMITS = ("depth", "splits", "min_leaf_size")


class Solver(ABC):
    """Base of all solvers.

    A subclass names itself, declares its capabilities and options, and implements ``_solve``.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    summary: ClassVar[str]
    capabilities: ClassVar[Capabilities]
    options: ClassVar[Mapping[str, Option]] = {}
    certifies: ClassVar[bool] = False
    """Whether its method ``certify(problem, claims, limits, monitor)`` writes certificates, see
    :mod:`solver.verify.certificate`."""

    shard: Shard | None = None
    """The part of every solve that it does, see :meth:`part`; None for the whole."""

    def __init__(self, **options: Any) -> None:
        self.settings = self.check_options(options)

    def part(self, shard: Shard) -> Self:
        """The same solver for one part of a solve.

        Its solution is the best tree of the part, or a better one that was given as ``start``,
        which says how far the part has to look; the bound is that of the part. All parts of a
        solve together are its answer, see :func:`solver.shards.merge`: the same tree for any
        number of parts.

        Raises
        ------
        UnsupportedError
            If the solver cannot be divided.
        """
        if not self.capabilities.shards:
            raise UnsupportedError(f"solver {self.name!r} cannot do a solve in parts")
        if not 0 <= shard.index < shard.number:
            raise InputError(f"there is no part {shard.index} of {shard.number}")
        part = copy(self)
        part.shard = shard
        return part

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in defaults and refuse what is unknown.

        Raises
        ------
        InputError
            If an option is unknown or cannot take the value.
        """
        settings = {name: option.default for name, option in cls.options.items()}
        for name, value in options.items():
            if name not in cls.options:
                known = ", ".join(cls.options) or "none"
                raise InputError(f"solver {cls.name!r} has no option {name!r}; it has: {known}")
            cls.options[name].check(cls.name, name, value)
            settings[name] = value
        return settings

    @classmethod
    def check_task(
        cls,
        feature_kind: str,
        n_classes: int | None,
        limits: Limits,
        task: Task = "classification",
    ) -> None:
        """Refuse what the solver cannot do.

        Parameters
        ----------
        feature_kind : {"binary", "categorical", "continuous"}
        n_classes : int or None
            None if not known yet.
        limits : Limits
        task : {"classification", "regression"}

        Raises
        ------
        UnsupportedError
        """
        if feature_kind not in cls.capabilities.features:
            can = " or ".join(sorted(cls.capabilities.features))
            raise UnsupportedError(
                f"solver {cls.name!r} needs {can} features, the encoding gives {feature_kind} ones"
            )
        if task not in cls.capabilities.tasks:
            raise UnsupportedError(f"solver {cls.name!r} cannot do {task}")
        most = cls.capabilities.max_classes
        if most is not None and n_classes is not None and n_classes > most:
            raise UnsupportedError(
                f"solver {cls.name!r} can do {count(most, 'class')}, the target has {n_classes}"
            )
        cls.check_limits(limits)

    @classmethod
    def check_limits(cls, limits: Limits) -> None:
        """Refuse limits on the tree that the solver cannot honour, and ask for those it needs.

        Raises
        ------
        UnsupportedError
        """
        for limit in STRUCTURAL_LIMITS:
            is_given = getattr(limits, limit) is not None
            if is_given and limit not in cls.capabilities.limits:
                raise UnsupportedError(f"solver {cls.name!r} cannot honour the limit {limit!r}")
            if not is_given and limit in cls.capabilities.needs:
                raise UnsupportedError(
                    f"solver {cls.name!r} needs the limit {limit!r}; "
                    f"say e.g. limits: {{{limit}: 2}}"
                )

    def solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits | None = None,
        *,
        start: Tree | None = None,
        monitor: Monitor | None = None,
        state: Mapping[str, NDArray[Any]] | None = None,
    ) -> Solution:
        """Find the best tree.

        Parameters
        ----------
        problem : Problem
        lam : Fraction
            The price of a split.
        limits : Limits, optional
        start : Tree, optional
            An incumbent to begin with, e.g. from a checkpoint. It may be given together with a
            state, and be better than the state's own.
        monitor : Monitor, optional
            How the caller follows and stops the search.
        state : mapping of str to array, optional
            What a :class:`Snapshot` gave of the same search: the same problem, λ, options and
            structural limits, by the same version of the solver. The search goes on exactly where
            it ended. ``iterations`` and ``nodes`` of the Solution count the whole search,
            ``limits.seconds``, ``seconds`` and the trace this call only.

        Raises
        ------
        UnsupportedError
            If the solver cannot do this problem.
        InputError
            If λ is negative, or the solver cannot go on from this state, or from any.
        """
        if lam < 0:
            raise InputError(f"λ = {lam} is negative; the price of a split must be 0 or more")
        limits = limits or Limits()
        self.check_task(problem.feature_kind, problem.n_classes, limits, problem.task)
        if limits.min_leaf_size is not None:
            # The limit is in the unit of the weights as given, the search's in that of the counts.
            least = least_weight(limits.min_leaf_size, problem.weight_scale, problem.weight_error)
            limits = replace(limits, min_leaf_size=least)
        if state is not None and not self.resumes:
            raise InputError(
                f"solver {self.name!r} with these options cannot go on from a state; "
                "start it without one"
            )
        return self._solve(problem, lam, limits, start, monitor or Monitor(), state)

    @property
    def resumes(self) -> bool:
        """Whether it can go on from a state; a solver may override it where options matter."""
        return self.capabilities.resumes

    @abstractmethod
    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        start: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        """Do the work; everything is checked."""

    def series(self, problem: Problem) -> Solve:
        """What solves the problem at one λ after the other, see :class:`Series`.

        A solver overrides it where one solve can learn from those before it.
        """
        return Series(self, problem)

    @classmethod
    def warm_up(cls) -> None:
        """Compile what has to be compiled, so that the fan-out does not."""
        return None
