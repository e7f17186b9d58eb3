"""How a caller follows and stops a running search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from solver.trees.tree import Tree


@dataclass(frozen=True)
class Snapshot:
    """What a running search knows, for checkpoints and progress displays.

    Parameters
    ----------
    seconds : float
        Search time of this call of ``solve`` only.
    iterations, nodes : int
        Counts of the whole search. If it was resumed from a state, they include the part before
        that state.
    state : callable, optional
        Returns the search's state, which ``solve`` takes as its argument ``state``. Read its arrays
        inside the callback, because the search changes them afterwards. Only the arrays of the last
        snapshot can also be read after ``solve`` has returned; after ``regularization_path`` not
        even these, if it was stopped.
    lam : Fraction, optional
        Only on a λ-path: the λ of the current search. The tree, the objective and the bound belong
        to this λ; everything else, including the state, belongs to the whole path.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> seen = []
    >>> monitor = treesweep.Monitor(snapshot=seen.append, interval=0.0)
    >>> solution = treesweep.solve(problem, lam="0.05", monitor=monitor)
    >>> all(snapshot.lower_bound <= snapshot.objective for snapshot in seen)
    True
    """

    tree: Tree
    objective: Fraction
    lower_bound: Fraction
    seconds: float
    iterations: int
    nodes: int
    state: Callable[[], dict[str, NDArray[Any]]] | None = None
    lam: Fraction | None = None


Proven: TypeAlias = bytes
"""What a shard has proven, in its solver's own format."""


class News(NamedTuple):
    """What a running shard tells the other shards of its solve, see :mod:`solver.search_shards`.

    Parameters
    ----------
    tree : Tree or None
        A better tree.
    proven : bytes
        What else it has proven that saves others work, in the solver's own format: bounds on
        choices at the root, or on branches. Empty if nothing.
    """

    tree: Tree | None
    proven: Proven


class Peers(NamedTuple):
    """The other shards of a solve: all are called between slices of the search.

    ``listens`` says whether there are any: an undivided search has none until it is stopped to be
    divided.
    """

    tell: Callable[[News], None]
    hear: Callable[[], Sequence[News]]
    listens: Callable[[], bool] = lambda: True


@dataclass(frozen=True)
class Monitor:
    """How a caller follows and stops a running search.

    Parameters
    ----------
    stop : callable
        Called every few hundredths of a second of search. When it returns True, the search ends
        with status ``stopped``.
    snapshot : callable, optional
        Called with a :class:`Snapshot` every ``interval`` seconds of search. A solver that can
        resume calls it once more when it ends without a proof.
    interval : float
        Seconds.
    peers : Peers, optional
        The other parts of a search that is divided among workers. Leave ``peers`` out: sweeps set
        it.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> monitor = treesweep.Monitor(stop=lambda: True)
    >>> treesweep.solve(problem, lam="0.05", monitor=monitor).status.value
    'stopped'
    """

    stop: Callable[[], bool] = lambda: False
    snapshot: Callable[[Snapshot], None] | None = None
    interval: float = 30.0
    peers: Peers | None = None
