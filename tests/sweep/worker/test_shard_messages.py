"""Tests of sweep/worker/shard_messages.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from solver.monitor import News
from solver.problem.problem import Problem
from solver.search_shards import Shard
from sweep.rows.result_rows import Cell, Checkpoint
from sweep.worker import stop_requests
from sweep.worker.shard_messages import LISTENS, PROVEN, Known, deliver, exchange
from sweep.worker.stop_requests import divide

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
        deliver("run", "k", Known(TREE.to_json(), [("0 of 3", b"a"), ("1 of 3", b"b")]))
        deliver("run", "another", Known(None, [("0 of 3", b"c")]))
        deliver("run", "k", Known(None, [("1 of 2", b"d")]))
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
    assert proven == (PROVEN, {"shard": "1 of 3", "proven": b"e"})


def test_a_shard_that_has_ended_hears_nothing() -> None:
    with exchange("run", CELL, PROBLEM, "tcp://here", Driver().send) as peers:
        assert peers is not None
    deliver("run", "k", Known(None, [("0 of 3", b"a")]))
    assert not peers.hear()


def test_searches_that_must_not_hear_of_others() -> None:
    driver = Driver()
    whole, counted = replace(CELL, shard=None), replace(CELL, limits={"nodes": 100})
    for cell, address in ((whole, "tcp://here"), (counted, "tcp://here"), (CELL, None)):
        with exchange("run", cell, PROBLEM, address, driver.send) as peers:
            assert peers is None
    assert not driver.heard


def test_two_shards_on_one_worker_hear_the_same() -> None:
    other = replace(CELL, shard=Shard(0, 3))
    with exchange("run", CELL, PROBLEM, "tcp://here", Driver().send) as peers:
        assert peers is not None
        with exchange("run", other, PROBLEM, "tcp://here", Driver().send) as others:
            assert others is not None
            deliver("run", "k", Known(None, [("2 of 3", b"a")]))
            assert [news.proven for news in others.hear()] == [b"a"]
        deliver("run", "k", Known(None, [("2 of 3", b"b")]))
        assert [news.proven for news in peers.hear()] == [b"a", b"b"]


def test_a_search_that_may_be_divided_tells_nothing_until_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stop_requests, "_parts", {})
    driver, whole = Driver(), replace(CELL, shard=None, options={"shards": "auto"})
    with exchange("run", whole, PROBLEM, "tcp://here", driver.send) as peers:
        assert peers is not None
        assert not driver.heard
        assert not peers.listens()
        divide("run", "k", 4)
        assert peers.listens()
        peers.tell(News(None, b"e"))
    assert driver.heard == [(PROVEN, {"shard": "whole", "proven": b"e"})]
