"""Solves one problem at one λ after another."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Protocol

from numpy.typing import NDArray

from solver.errors import InputError, StateError
from solver.limits import Limits
from solver.monitor import Monitor
from solver.problem.problem import Problem
from solver.solution import Solution
from solver.trees.tree import Tree


class Solve(Protocol):
    """Solves one problem at one λ after another, see :meth:`solver.base.Solver.series`."""

    def __call__(
        self,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None = None,
        monitor: Monitor | None = None,
    ) -> Solution:
        """The best tree at a λ, see :meth:`solver.base.Solver.solve`."""


class Proves(Protocol):
    """The part of a solver's capabilities that a series needs."""

    @property
    def proves(self) -> bool:
        """Whether the solver proves bounds."""


class Solves(Protocol):
    """The part of a solver that a series needs."""

    @property
    def capabilities(self) -> Proves:
        """See :class:`solver.base.Capabilities`."""

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
        """The best tree, see :meth:`solver.base.Solver.solve`."""


class Series:
    """A solver's solves of one problem at several λ; a series can continue elsewhere.

    Parameters
    ----------
    solver : Solves
    problem : Problem
    """

    def __init__(self, solver: Solves, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        self._saved: Mapping[str, NDArray[Any]] = {}

    def __call__(
        self,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None = None,
        monitor: Monitor | None = None,
    ) -> Solution:
        """The best tree at a λ, see :class:`Solve`; snapshots hold the state of the series.

        Raises
        ------
        StateError
            If the solver cannot continue from the state given to :meth:`restore`.
        """
        saved, self._saved = self._saved, {}
        try:
            return self.solver.solve(
                self.problem,
                lam,
                limits,
                initial_tree=initial_tree,
                monitor=monitor,
                state=saved or None,
            )
        except InputError as error:
            if not saved:
                raise
            raise StateError(str(error)) from None

    @property
    def proves(self) -> bool:
        """Whether its solves prove bounds; those of a heuristic do not."""
        return self.solver.capabilities.proves

    def carries(self, limits: Limits) -> bool:
        """Whether a solve learns from earlier ones.

        Then its choice among equally good trees may depend on them: it returns the same tree only
        after the same solves, or from a state.
        """
        return False

    def descends(self, limits: Limits) -> bool:
        """Whether a path should solve at some larger λ before its smallest one.

        It pays if solves learn so much from those at larger λ that they take less time in all.
        """
        return False

    def state(self) -> dict[str, NDArray[Any]] | None:
        """What the next solve needs of earlier ones; None if that is unknown."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue where another series ended, before the first solve.

        Parameters
        ----------
        state : mapping of str to array
            From :meth:`state`, or from a snapshot of a solve. The next solve must then be that
            one: the same λ, structural limits and initial tree.

        Raises
        ------
        StateError
            If the solver cannot continue from it.
        """
        self._saved = state
