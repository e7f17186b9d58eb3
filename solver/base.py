"""The contract of a solver: public ``solve`` checks, private ``_solve`` works."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from solver.encodings import Encoder
from solver.errors import ClaimError, InputError, UnsupportedError
from solver.features.number_format import count
from solver.lambda_series import Series, Solve
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.integer_weights import least_weight
from solver.options import Option
from solver.problem.problem import Problem
from solver.search_shards import Shard
from solver.solution import Solution
from solver.trees.tree import TaskType, Tree
from solver.verify.scorer import Score, score
from solver.verify.solution_checks import disagreement


@dataclass(frozen=True)
class Capabilities:
    """What a solver can work on; an impossible cell is refused before anything runs.

    Parameters
    ----------
    features : frozenset of {"binary", "categorical", "continuous"}
        Kinds of encoded features. "categorical" includes multiway splits.
    max_classes : int or None
    limits : frozenset of str
        The structural limits (depth, splits, min_leaf_size) that it honours.
    needs : frozenset of str
        The structural limits that it cannot do without.
    greatest_depth : int or None
        The greatest limit of depth that it takes.
    proves : bool
        Whether it proves a lower bound.
    resumes : bool
        Whether it can continue from a state.
    tasks : frozenset of {"classification", "regression"}
    shards : bool
        Whether one solve can be split into shards, see :meth:`Solver.part`.
    """

    features: frozenset[str]
    max_classes: int | None = None
    limits: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    greatest_depth: int | None = None
    proves: bool = True
    resumes: bool = False
    tasks: frozenset[TaskType] = frozenset({"classification"})
    shards: bool = False


NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})

STRUCTURAL_LIMITS = ("depth", "splits", "min_leaf_size")


class Solver(ABC):
    """Base class of all solvers.

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

    scorer: Callable[[Problem, Tree, Fraction], Score] = staticmethod(score)
    """Scores what it claims."""

    def __init__(self, **options: Any) -> None:
        self.settings = self.check_options(options)

    def part(self, shard: Shard) -> Self:
        """The same solver for one shard of a solve.

        Its solution is the best tree of the shard, or ``initial_tree`` if that is better. Its bound
        holds for the shard only. :func:`solver.search_shards.merge` makes the solution of the whole
        solve from those of all shards: the same tree for any number of shards.

        Raises
        ------
        UnsupportedError
            If the solver has no shards.
        """
        if not self.capabilities.shards:
            raise UnsupportedError(f"solver {self.name!r} cannot do a solve in parts")
        if not 0 <= shard.index < shard.number:
            raise InputError(f"there is no part {shard.index} of {shard.number}")
        part = copy(self)
        part.shard = shard
        return part

    @property
    def is_divided(self) -> bool:
        """Whether other shards do other parts of each solve."""
        return self.shard is not None and self.shard.number > 1

    def divides(self, lam: Fraction, limits: Limits, task: TaskType = "classification") -> bool:
        """Whether a solve that runs may be stopped and divided into shards.

        They must lose little of what it has proven: its part 0 of 1 tells them.
        """
        return False

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in defaults; InputError for an unknown option, a wrong value or another mode's."""
        settings = {name: option.default for name, option in cls.options.items()}
        for name, value in options.items():
            if name not in cls.options:
                known = ", ".join(cls.options) or "none"
                raise InputError(f"solver {cls.name!r} has no option {name!r}; it has: {known}")
            cls.options[name].check(cls.name, name, value)
            settings[name] = value
        for name, option in cls.options.items():
            if option.mode not in (None, settings.get("mode")) and settings[name] != option.default:
                raise InputError(
                    f"option {name} = {settings[name]!r} of solver {cls.name!r} belongs to mode "
                    f"{option.mode}; leave it out, or take mode {option.mode}"
                )
        return settings

    @classmethod
    def check_task(
        cls,
        feature_kind: str,
        n_classes: int | None,
        limits: Limits,
        task: TaskType = "classification",
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> None:
        """Refuse a problem that the solver cannot do, with an UnsupportedError.

        Parameters
        ----------
        feature_kind : {"binary", "categorical", "continuous"}
        n_classes : int or None
            None if not known yet.
        limits : Limits
        task : {"classification", "regression"}
        options : mapping
            Those of the solver, for one that can do less with some of them.
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
    def check_encoder(cls, encoder: Encoder, options: Mapping[str, Any] = NO_OPTIONS) -> None:
        """Refuse an encoding of a table with an UnsupportedError, before rows are encoded.

        For a solver that needs more of some columns than the kind of all features says.
        """
        return None

    @classmethod
    def check_limits(cls, limits: Limits) -> None:
        """Refuse structural limits that the solver cannot honour, and require those it needs."""
        for limit in STRUCTURAL_LIMITS:
            is_given = getattr(limits, limit) is not None
            if is_given and limit not in cls.capabilities.limits:
                raise UnsupportedError(f"solver {cls.name!r} cannot honour the limit {limit!r}")
            if not is_given and limit in cls.capabilities.needs:
                raise UnsupportedError(
                    f"solver {cls.name!r} needs the limit {limit!r}; "
                    f"write e.g. limits=treesweep.Limits({limit}=2)"
                )
        most = cls.capabilities.greatest_depth
        if most is not None and limits.depth is not None and limits.depth > most:
            raise UnsupportedError(
                f"solver {cls.name!r} takes a limit depth of at most {most}, got {limits.depth}"
            )

    def solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits | None = None,
        *,
        initial_tree: Tree | None = None,
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
        initial_tree : Tree, optional
            The first incumbent, e.g. from a checkpoint. It may be given together with a state, and
            may be better than the state's own.
        monitor : Monitor, optional
            Follows and stops the search.
        state : mapping of str to array, optional
            The state in a :class:`solver.monitor.Snapshot` of the same search: same problem, λ,
            options, structural limits and solver version. The search continues exactly where it
            ended. ``iterations`` and ``nodes`` of the Solution count the whole search;
            ``limits.seconds``, ``seconds`` and the trace count this call only.

        Raises
        ------
        UnsupportedError
            If the solver cannot solve this kind of problem.
        InputError
            If λ is negative, or the solver cannot continue from this state, or from any.
        ClaimError
            If the solver claims what the plain scorer finds to be false.
        """
        if lam < 0:
            raise InputError(f"λ = {lam} is negative; the price of a split must be 0 or more")
        limits = limits or Limits()
        self.check_task(
            problem.feature_kind, problem.n_classes, limits, problem.task, self.settings
        )
        if limits.min_leaf_size is not None:
            # The limit is in the unit of the weights as given, the search's in that of the counts.
            least = least_weight(limits.min_leaf_size, problem.weight_scale, problem.weight_error)
            limits = replace(limits, min_leaf_size=least)
        if state is not None and not self.resumes:
            options = " with these options" if self.capabilities.resumes else ""
            raise InputError(
                f"solver {self.name!r}{options} cannot go on from a state; start it without one"
            )
        found = self._solve(problem, lam, limits, initial_tree, monitor or Monitor(), state)
        if (found.solver, found.version) != (self.name, self.version):
            found = replace(found, solver=self.name, version=self.version)
        if complaint := disagreement(problem, found, lam, limits, self.scorer):
            raise ClaimError(complaint)
        return found

    @property
    def resumes(self) -> bool:
        """Whether it can continue from a state; published algorithms (mode ``paper``) cannot."""
        return self.capabilities.resumes and bool(self.settings.get("mode") != "paper")

    @abstractmethod
    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        """Do the work; everything is checked."""

    def series(self, problem: Problem) -> Solve:
        """Solves the problem at one λ after the other, see :class:`solver.lambda_series.Series`.

        A solver overrides it if a solve can learn from earlier ones.
        """
        return Series(self, problem)

    @classmethod
    def warm_up(cls) -> None:
        """Compile the kernels before tasks are distributed."""
        return None
