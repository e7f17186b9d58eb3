"""What the running shards of a task tell each other; the driver passes it on."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from fractions import Fraction
from typing import NamedTuple

from solver.monitor import News, Peers
from solver.objective.exact_objective import objective
from solver.problem.problem import Problem
from solver.trees.tree import Tree
from sweep.rows.result_rows import Cell, Checkpoint
from sweep.spec.requested_outputs import asks_division
from sweep.worker.stop_requests import is_divided

PROVEN = "proven"
"""The kind of the event that tells what a shard has proven."""

LISTENS = "listens"
"""The kind of the event by which a shard that begins asks for what is known."""


class Known(NamedTuple):
    """What shards of a task have found.

    Parameters
    ----------
    tree : str or None
        A better tree, as JSON.
    proven : sequence of (str, bytes)
        See :class:`solver.monitor.News`, and before each the name of the shard that proved it.
    """

    tree: str | None
    proven: Sequence[tuple[str, bytes]]


_unread: defaultdict[tuple[str, str], list[deque[Known]]] = defaultdict(list)


def deliver(run: str, key: str, known: Known) -> None:
    """Tell the shards of a task that run here; called on the worker by the driver."""
    for unread in _unread.get((run, key), ()):
        unread.append(known)


@contextmanager
def exchange(
    run: str, cell: Cell, problem: Problem, address: str | None, send: Callable[..., None]
) -> Iterator[Peers | None]:
    """Let a search hear of the other shards of its task while it runs.

    One that may be divided tells them what it has proven when it is stopped for that.

    Under a limit of nodes it must not: where it stops would depend on which shard came first.

    Parameters
    ----------
    address : str or None
        Of this worker; None outside of a cluster.
    send : callable
        Tells the driver, see :meth:`sweep.worker.checkpointing.Keeper.send`.
    """
    is_whole = cell.shard is None
    is_alone = is_whole and not asks_division(cell.options)
    if is_alone or address is None or "nodes" in cell.limits:
        yield None
        return
    own = "whole" if cell.shard is None else f"{cell.shard.index} of {cell.shard.number}"
    unread = deque[Known]()

    def tell(news: News) -> None:
        if news.tree is not None:
            tree, lam = news.tree, Fraction(cell.lam)
            reached = objective(tree.errors, tree.splits, problem.total_weight, lam)
            checkpoint = Checkpoint(cell.key, tree.to_json(), str(reached), "0", 0.0, 0, 0)
            send("snapshot", checkpoint=asdict(checkpoint))
        if news.proven:
            send(PROVEN, shard=own, proven=news.proven)

    def hear() -> Sequence[News]:
        heard = []
        while unread:
            known = unread.popleft()
            if known.tree is not None:
                heard.append(News(Tree.from_json(known.tree), b""))
            heard += [News(None, proven) for shard, proven in known.proven if shard != own]
        return heard

    def listens() -> bool:
        return not is_whole or is_divided(run, cell.key, cell.parts)

    everyone = _unread[run, cell.key]
    everyone.append(unread)
    if not is_whole:
        send(LISTENS, worker=address)
    try:
        yield Peers(tell, hear, listens)
    finally:
        everyone[:] = [other for other in everyone if other is not unread]
