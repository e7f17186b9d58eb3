"""Decide which workers get tasks, and warm up their machines.

Every new worker is asked for its versions. A worker whose code or libraries could change a result
gets no tasks. On each machine one of the other workers compiles the kernels.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from distributed import Client, Future, KilledWorker

from solver.errors import InputError, one_line
from sweep.plan.versions import difference, fingerprint
from sweep.worker import tasks

ANSWER_TIMEOUT = 30.0
"""Seconds to wait for the answers of all workers that are connected at the start."""

_POLL = 0.05


@dataclass(eq=False)
class _Worker:
    host: str
    answer: Future[Any] | None
    accepted: bool = False


class Hosts:
    """Knows which workers may get tasks.

    Kernels are compiled and cached once on each machine. If all its workers compiled them at the
    same time, that would take many times as long.

    Parameters
    ----------
    solvers : sequence of str
        The solvers of the plan.
    are_here : bool
        Whether all workers are on this machine. Then the driver has warmed it up, it has the
        data, and its workers run the same code.
    """

    def __init__(self, client: Client, run: str, solvers: Sequence[str], are_here: bool) -> None:
        self._client, self._run, self._solvers = client, run, list(solvers)
        self.are_here = are_here
        self._ready: set[str] = set()
        self._pending: dict[str, tuple[str, Future[Any]]] = {}
        self._workers: dict[str, _Worker] = {}
        self._refused: dict[str, str] = {}
        self._names = itertools.count()
        self._notes: list[str] = []
        self._first: set[str] = set()
        self._began: float | None = None
        self._all_asked = are_here

    def add(self, host: str, address: str) -> None:
        """A worker has connected."""
        if self.are_here:
            self._workers[address] = _Worker(host, None, accepted=True)
            self._ready.add(host)
            return
        if self._began is None:
            self._first.add(address)
        answer = self._submit(address, fingerprint)
        self._workers[address] = _Worker(host, answer)

    def remove(self, host: str, address: str) -> None:
        """A worker is gone. If it was warming up its machine, another worker does that."""
        self._workers.pop(address, None)
        self._refused.pop(address, None)
        self._first.discard(address)
        if host in self._pending and self._pending[host][0] == address:
            del self._pending[host]
            self._make_ready()

    def ready(self) -> set[str]:
        """The addresses of the workers that may get tasks.

        Raises InputError if a worker that is connected at the start cannot run treesweep or has
        other versions, or if a machine cannot be warmed up.
        """
        if self.are_here:
            return set(self._workers)
        if self._workers and self._began is None:
            self._began = time.monotonic()
        for address, worker in list(self._workers.items()):
            if worker.answer is not None and worker.answer.status != "pending":
                self._take_answer(address, worker)
        if not self._all_asked:
            late = self._began is not None and time.monotonic() - self._began > ANSWER_TIMEOUT
            self._all_asked = bool(self._workers) and (not self._first or late)
            if not self._all_asked:
                return set()
        self._make_ready()
        self._look_at_machines()
        return {a for a, w in self._workers.items() if w.accepted and w.host in self._ready}

    @property
    def n_refused(self) -> int:
        """How many workers get no tasks."""
        return len(self._refused)

    def notes(self) -> list[str]:
        """New messages for the user."""
        notes, self._notes = self._notes, []
        return notes

    # Versions

    def _take_answer(self, address: str, worker: _Worker) -> None:
        answer, worker.answer = worker.answer, None
        assert answer is not None
        complaint = _complaint(address, answer)
        if complaint is None:
            worker.accepted = answer.status == "finished"
            if not worker.accepted:  # it died and will soon be removed
                worker.answer = self._submit(address, fingerprint)
                return
        else:
            if not self._all_asked and address in self._first:
                raise InputError(f"{complaint}, and run the sweep again")
            self._refused[address] = complaint
            self._notes.append(f"{complaint}; until then it gets no work")
        self._first.discard(address)

    # Machines

    def _make_ready(self) -> None:
        for address, worker in self._workers.items():
            host = worker.host
            if worker.accepted and host not in self._ready and host not in self._pending:
                future = self._submit(address, tasks.get_ready, self._solvers)
                self._pending[host] = address, future

    def _look_at_machines(self) -> None:
        for host, (address, future) in list(self._pending.items()):
            if future.status == "error":
                error = future.exception()
                if not isinstance(error, KilledWorker):
                    raise InputError(cannot_run(address, error) + ", and run the sweep again")
                self._workers.pop(address, None)
            elif future.status != "finished":
                continue
            else:
                self._ready.add(host)
            del self._pending[host]

    def _submit(self, address: str, function: Any, *arguments: Any) -> Future[Any]:
        name = f"ready-{self._run}-{next(self._names)}"
        return self._client.submit(function, *arguments, key=name, workers=[address], pure=False)


def check_workers(client: Client) -> None:
    """Compare the versions of all connected workers with ours, before the sweep starts.

    A worker that is too busy to answer is asked again when the sweep runs. Raises InputError if a
    worker cannot run treesweep or has other versions.
    """
    name = f"ready-{uuid.uuid4().hex}"
    answers = {
        address: client.submit(fingerprint, key=f"{name}-{i}", workers=[address], pure=False)
        for i, address in enumerate(client.scheduler_info(n_workers=-1)["workers"])
    }
    deadline = time.monotonic() + ANSWER_TIMEOUT / 2
    while any(a.status == "pending" for a in answers.values()) and time.monotonic() < deadline:
        time.sleep(_POLL)
    for address, answer in answers.items():
        complaint = _complaint(address, answer)
        if complaint is not None:
            raise InputError(f"{complaint}, and run the sweep again")


def _complaint(address: str, answer: Future[Any]) -> str | None:
    """Say what is wrong with a worker's versions, and the remedy; None if nothing is known."""
    if answer.status == "error":
        error = answer.exception()
        return None if isinstance(error, KilledWorker) else cannot_run(address, error)
    if answer.status != "finished":
        return None
    differs = difference(answer.result())
    if differs is None:
        return None
    return f"worker {address} has another version: {differs}; install the same on both"


def cannot_run(address: str, error: BaseException) -> str:
    """The message about a worker that raised an error when it was asked for its versions."""
    return (
        f"worker {address} cannot run treesweep ({one_line(error, 200)}); install there what is "
        "installed here"
    )
