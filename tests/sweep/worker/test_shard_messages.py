"""Tests of sweep/worker/shard_messages.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from solver.monitor import News
from solver.problem.problem import Problem
from solver.search_shards import Shard
from sweep.rows.result_rows import Cell, Checkpoint
from sweep.worker.shard_messages import LISTENS, PROVEN, Known, deliver, exchange

PROBLEM = Problem.from_codes([[0], [1]], [0, 1])
TREE = PROBLEM.grow((0, (-1, -1)))
CELL = Cell("k", "1/10", "0.1", "proper", "1", {}, {}, 1, shard=Shard(1, 3))


class Driver:
    """Keeps what is sent to it."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []

    def send(self, kind: str, **content: Any) -> None:
        self.heard.append((kind, content))


def test_a_shard_hears_of_all_but_its_own_proofs() -> None:
    with exchange("run", CELL, PROBLEM, "tcp://here", Driver().send) as peers:
        assert peers is not None
        deliver("run", "k", Known(TREE.to_json(), [(0, b"a"), (1, b"b")]))
        deliver("run", "another", Known(None, [(0, b"c")]))
        deliver("run", "k", Known(None, [(2, b"d")]))
        heard = peers.hear()
        assert [(news.tree and news.tree.splits, news.proven) for news in heard] == [
            (1, b""),
            (None, b"a"),
            (None, b"d"),
        ]
        assert not peers.hear()


def test_what_a_shard_tells() -> None:
    driver = Driver()
    with exchange("run", CELL, PROBLEM, "tcp://here", driver.send) as peers:
        assert peers is not None
        peers.tell(News(TREE, b"e"))
        peers.tell(News(None, b""))
    listens, (kind, told), proven = driver.heard
    assert listens == (LISTENS, {"worker": "tcp://here"})
    assert kind == "snapshot"
    assert Checkpoint(**told["checkpoint"]).objective == "1/10"
    assert proven == (PROVEN, {"shard": 1, "proven": b"e"})


def test_a_shard_that_has_ended_hears_nothing() -> None:
    with exchange("run", CELL, PROBLEM, "tcp://here", Driver().send) as peers:
        assert peers is not None
    deliver("run", "k", Known(None, [(0, b"a")]))
    assert not peers.hear()


def test_searches_that_must_not_hear_of_others() -> None:
    driver = Driver()
    whole, counted = replace(CELL, shard=None), replace(CELL, limits={"nodes": 100})
    for cell, address in ((whole, "tcp://here"), (counted, "tcp://here"), (CELL, None)):
        with exchange("run", cell, PROBLEM, address, driver.send) as peers:
            assert peers is None
    assert not driver.heard
