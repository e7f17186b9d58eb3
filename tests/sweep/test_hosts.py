"""Tests of sweep/hosts.py, with a client that only pretends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from distributed import KilledWorker

from solver.errors import InputError
from sweep.hosts import Hosts
from sweep.versions import versions

OWN = json.loads(versions())["treesweep"]


class Answer:
    """What ``submit`` gives."""

    def __init__(self, address: str) -> None:
        self.address, self.status = address, "pending"
        self.value: Any = None

    def end(self, value: Any) -> None:
        self.value = value
        self.status = "error" if isinstance(value, Exception) else "finished"

    def result(self) -> Any:
        return self.value

    def exception(self) -> Any:
        return self.value


class Pretender:
    """A client, as far as these need one."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    def submit(self, function: Any, *arguments: Any, workers: list[str], **more: Any) -> Answer:
        self.answers.append(Answer(workers[0]))
        return self.answers[-1]


def hosts(client: Pretender, are_here: bool = False) -> Hosts:
    return Hosts(client, "run", ["cart"], are_here)  # type: ignore[arg-type]


def test_one_worker_makes_its_machine_ready_for_all() -> None:
    client = Pretender()
    found = hosts(client)
    for host, address in [("a", "a:1"), ("a", "a:2"), ("b", "b:1")]:
        found.add(host, address)
    assert [answer.address for answer in client.answers] == ["a:1", "b:1"]
    assert found.ready() == set()
    client.answers[0].end(OWN)
    assert found.ready() == {"a"}
    client.answers[1].end(OWN)
    assert found.ready() == {"a", "b"}


def test_this_machine_is_ready() -> None:
    client = Pretender()
    found = hosts(client, are_here=True)
    found.add("a", "a:1")
    assert found.ready() == {"a"}
    assert client.answers == []


def test_another_worker_takes_over_from_one_that_is_gone() -> None:
    client = Pretender()
    found = hosts(client)
    found.add("a", "a:1")
    found.add("a", "a:2")
    found.remove("a", "a:1")
    assert [answer.address for answer in client.answers] == ["a:1", "a:2"]
    client.answers[1].end(KilledWorker("task", None, 0))  # type: ignore[no-untyped-call]
    assert found.ready() == set()
    found.add("a", "a:3")
    client.answers[2].end(OWN)
    assert found.ready() == {"a"}


@pytest.mark.parametrize(
    "value, message",
    [
        ("0.0.1", f"worker a:1 has treesweep 0.0.1, this is {OWN}; install the same"),
        (ModuleNotFoundError("No module named 'sweep'"), "worker a:1 cannot run treesweep .*sweep"),
    ],
)
def test_a_worker_with_another_treesweep_is_refused(value: Any, message: str) -> None:
    client = Pretender()
    found = hosts(client)
    found.add("a", "a:1")
    client.answers[0].end(value)
    with pytest.raises(InputError, match=message):
        found.ready()
