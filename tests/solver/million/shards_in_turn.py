"""The shards of one solve, which hear of each other and take turns in an order that is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from threading import Semaphore, Thread
from typing import Any

from solver.engine import driver
from solver.monitor import Monitor, News, Peers
from solver.solution import Solution


@contextmanager
def slices_of_one_step() -> Iterator[None]:
    """Searches look at their limits, peers and snapshots after each step, whatever the clock."""
    usual = driver._SLICE_SECONDS, driver._NEWS_SECONDS
    driver._SLICE_SECONDS = driver._NEWS_SECONDS = 0.0
    try:
        yield
    finally:
        driver._SLICE_SECONDS, driver._NEWS_SECONDS = usual


def solve_in_turn(
    number: int, chance: Random, solve: Callable[[int, Monitor], Solution]
) -> list[Solution]:
    """Solve all shards. One runs at a time; after each step another one may have its turn.

    Each shard has a thread, so that its search can wait in the middle. The order of the turns comes
    from ``chance`` only, so a seed gives the same searches again.
    """
    unread: list[list[News]] = [[] for _ in range(number)]
    turns = [Semaphore(0) for _ in range(number)]
    running, found, failed = list(range(number)), list[Any]([None] * number), list[Exception]()

    def monitor(index: int) -> Monitor:
        def tell(news: News) -> None:
            for other in range(number):
                if other != index:
                    unread[other].append(news)

        def hear() -> list[News]:
            after = chance.choice(running)
            if after != index:
                turns[after].release()
                turns[index].acquire()
            heard, unread[index] = unread[index], []
            return heard

        return Monitor(peers=Peers(tell, hear))

    def run(index: int) -> None:
        turns[index].acquire()
        try:
            found[index] = solve(index, monitor(index))
        except Exception as error:
            failed.append(error)
        running.remove(index)
        if running:
            turns[chance.choice(running)].release()

    threads = [Thread(target=run, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    turns[chance.choice(running)].release()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return found
