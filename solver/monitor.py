"""How a caller follows and stops a running search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from solver.trees.tree import Tree


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
        Gives the search's state, see :meth:`solver.base.Solver.solve`. Its arrays may be views of
        what the search works on: read them inside the callback, or, for the last snapshot, once
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
