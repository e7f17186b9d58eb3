"""The shards of one solve in one process."""

from __future__ import annotations

from solver.monitor import Monitor, News, Peers


class Party:
    """The shards of one solve, which hear of each other at once."""

    def __init__(self, number: int) -> None:
        self._unread: list[list[News]] = [[] for _ in range(number)]

    def monitor(self, index: int) -> Monitor:
        """That of a shard."""

        def tell(news: News) -> None:
            for other, unread in enumerate(self._unread):
                if other != index:
                    unread.append(news)

        def hear() -> list[News]:
            heard, self._unread[index] = self._unread[index], []
            return heard

        return Monitor(peers=Peers(tell, hear))
