"""Handing tasks to workers and taking rows back, whatever happens to the workers.

The graph is load → prepare → solve. The dispatcher itself chooses the worker of each task: the
first two steps are done once on each worker that needs them, and it is always known which tasks
were on a worker that died.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
import traceback
from collections import OrderedDict, deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from distributed import Client, Future, KilledWorker, as_completed
from distributed.client import ClosedClientError
from distributed.comm import CommClosedError

from solver.catalogue import SOLVERS
from solver.solution import Status
from sweep import rows, tasks
from sweep.backlog import Backlog
from sweep.hosts import Hosts
from sweep.plan import Node, Plan, Task
from sweep.rows import Cell, Checkpoint, Place
from sweep.store import Store
from sweep.worker import request_stop

Row = dict[str, Any]

LARGEST_BATCH = 32

_SHORT = 0.1
_LONG = 0.5
_CACHE_BYTES = 2**30
_CACHE_NODES = 64
_POLL_WORKERS = 1.0


@dataclass(frozen=True, eq=False)
class Batch:
    """Some tasks of one node, on their way."""

    node: Node
    tasks: list[Task]
    alone: bool
    submitted: float


@dataclass(eq=False)
class Seat:
    """A worker, and what was handed to it."""

    address: str
    host: str
    batches: dict[Future[Any], Batch] = field(default_factory=dict)
    tables: dict[str, Future[Any]] = field(default_factory=dict)
    prepared: OrderedDict[int, Future[Any]] = field(default_factory=OrderedDict)

    @property
    def is_alone(self) -> bool:
        """Whether it works on a task that must be alone."""
        return any(batch.alone for batch in self.batches.values())

    @property
    def nodes(self) -> set[int]:
        """The nodes it is at."""
        return {batch.node.number for batch in self.batches.values()}


class Dispatcher:
    """Keeps the workers busy.

    Parameters
    ----------
    client : Client
    plan : Plan
    store : Store
        Asked for attempts and checkpoints; it is not written to.
    backlog : Backlog
        The tasks to run.
    run : Run
    hosts : Hosts
        Says which machines are ready.
    """

    def __init__(
        self,
        client: Client,
        plan: Plan,
        store: Store,
        backlog: Backlog,
        run: tasks.Run,
        hosts: Hosts,
    ) -> None:
        self.client, self.plan, self.store = client, plan, store
        self.backlog, self.run, self.hosts = backlog, run, hosts
        self.seats: dict[str, Seat] = {}
        self.memory = 0
        self.notes: deque[str] = deque()
        self.snapshots: deque[Checkpoint] = deque()
        self._suspects: deque[Task] = deque()
        self._deaths: dict[int, int] = {}
        self._most: dict[int, int] = {}
        self._pace = _LONG + 1
        self._events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._started: set[str] = set()
        self._memory_used: dict[str, int] = {}
        self._polled = 0.0
        self._names = itertools.count()
        self._ready = as_completed(loop=client.loop, with_results=True)
        self._resumes = store.has_checkpoints()
        for topic in (run.name, "all"):
            client.subscribe_topic(topic, lambda event: self._events.put(event[1]))

    @property
    def running(self) -> int:
        """Tasks that are on a worker."""
        return sum(len(b.tasks) for s in self.seats.values() for b in s.batches.values())

    @property
    def waiting(self) -> int:
        """Tasks that are not."""
        return len(self.backlog) + len(self._suspects)

    def stop(self) -> None:
        """Ask all workers to end what they are at; nothing new may be handed out after this."""
        # A worker that holds the interpreter's lock would keep us waiting.
        ask = threading.Thread(
            target=lambda: self.client.run(request_stop, self.run.name, on_error="ignore"),
            daemon=True,
        )
        ask.start()

    def close(self) -> None:
        """Listen no more."""
        # A client whose scheduler is lost has nobody to tell, and what brought us here matters more.
        with suppress(ClosedClientError, CommClosedError, OSError):
            for topic in (self.run.name, "all"):
                self.client.unsubscribe_topic(topic)

    # Handing out

    def fill(self) -> None:
        """Give work to every worker that has too little of it."""
        ready = self.hosts.ready()
        free = [s for s in self.seats.values() if not s.is_alone and s.host in ready]
        free.sort(key=lambda seat: len(seat.batches))
        # As many workers as there are suspects get nothing new, so that they become empty.
        kept = len(self._suspects)
        for seat in free[:kept]:
            if not seat.batches and self._suspects:
                task = self._suspects.popleft()
                self._submit(seat, [task], alone=True)
        depth = 1 if self._pace > _LONG else 2
        for seat in free[kept:]:
            while len(seat.batches) < depth and len(self.backlog):
                elsewhere = {n for s in self.seats.values() if s is not seat for n in s.nodes}
                here = seat.prepared.keys()
                node = self.backlog.head(here, elsewhere)
                assert node is not None
                numbers = self.backlog.take(here, elsewhere, self._most.get(node, 1))
                self._submit(seat, [self.plan.task(n) for n in numbers], alone=False)

    def _submit(self, seat: Seat, chosen: list[Task], alone: bool) -> None:
        node = chosen[0].node
        future = self.client.submit(
            tasks.solve_cells,
            self._prepared(seat, node),
            [self._cell(task) for task in chosen],
            self.run,
            alone,
            key=f"solve-{self._name()}",
            workers=[seat.address],
            pure=False,
        )
        seat.batches[future] = Batch(node, chosen, alone, time.monotonic())
        self._ready.add(future)

    def _cell(self, task: Task) -> Cell:
        start = self.store.checkpoint(task.key) if self._resumes or self._deaths else None
        return Cell(
            key=task.key,
            lam=str(task.lam.exact),
            lam_label=task.lam.label,
            solver=task.solver.name,
            solver_version=SOLVERS[task.solver.name].version,
            options=task.solver.options,
            limits=task.solver.limits,
            attempt=self.store.attempts(task.key) + self._deaths.get(task.number, 0) + 1,
            start=start,
        )

    def _prepared(self, seat: Seat, node: Node) -> Future[Any]:
        """The encoded node on a worker; made at its first use there."""
        future = seat.prepared.get(node.number)
        if future is None:
            table = seat.tables.get(node.info.data_hash)
            if table is None:
                table = self.client.submit(
                    tasks.load,
                    node.reference,
                    node.info.data_hash,
                    key=f"load-{self._name()}",
                    workers=[seat.address],
                    pure=False,
                )
                seat.tables = {node.info.data_hash: table}
            future = self.client.submit(
                tasks.prepare,
                table,
                node,
                key=f"prepare-{self._name()}",
                workers=[seat.address],
                pure=False,
            )
            seat.prepared[node.number] = future
        seat.prepared.move_to_end(node.number)
        self._evict(seat)
        return future

    def _evict(self, seat: Seat) -> None:
        """Forget the nodes that were not used for longest, so that a worker's memory suffices."""
        sizes = {n: _bytes(self.plan.nodes[n]) for n in seat.prepared}
        used = seat.nodes | {next(reversed(seat.prepared))}
        for number in list(seat.prepared):
            if sum(sizes.values()) <= _CACHE_BYTES and len(sizes) <= _CACHE_NODES:
                break
            if number not in used:
                del seat.prepared[number], sizes[number]

    def _name(self) -> str:
        """A name for Dask that no other task has, in this run or any other."""
        return f"{self.run.name}-{next(self._names)}"

    # Taking back

    def collect(self, timeout: float) -> list[Row]:
        """Rows that are finished now; waits up to so many seconds for the first."""
        with self._ready.thread_condition:
            if self._ready.queue.empty() and self._events.empty():
                self._ready.thread_condition.wait(timeout)
        found: list[Row] = []
        while self._ready.has_ready():
            for future, result in self._ready.next_batch(block=False):
                found += self._take(future, result)
        found += self._hear()
        found += self._look_at_workers()
        return found

    def _take(self, future: Future[Any], result: Any) -> list[Row]:
        for seat in self.seats.values():
            batch = seat.batches.get(future)
            if batch is not None:
                break
        else:
            return []  # of a worker that is known to be lost
        if future.status == "finished":
            del seat.batches[future]
            return self._finished(batch, result)
        if future.status == "error":
            del seat.batches[future]
            error = result[1] if isinstance(result, tuple) else result
            if isinstance(error, KilledWorker):
                return self._lost(batch)
            text = "".join(traceback.format_exception(error))
            return [self._failed(task, text, Status.ERROR, seat) for task in batch.tasks]
        del seat.batches[future]
        self._return(batch)
        return []

    def _finished(self, batch: Batch, result: list[Row]) -> list[Row]:
        done = {row["key"] for row in result}
        node = batch.node.number
        left = [task for task in batch.tasks if task.key not in done]
        if result:
            self._pace = (result[-1]["finished"] - result[0]["started"]).total_seconds()
            most = self._most.get(node, 1)
            if left or self._pace > _LONG:
                self._most[node] = max(1, len(result) // 2)
            elif self._pace < _SHORT and len(batch.tasks) == most:
                self._most[node] = min(2 * most, LARGEST_BATCH)
        self.backlog.give_back(node, [task.number for task in left])
        return result

    def _return(self, batch: Batch) -> None:
        if batch.alone:
            self._suspects.extend(batch.tasks)
        else:
            self.backlog.give_back(batch.node.number, [task.number for task in batch.tasks])

    def _hear(self) -> list[Row]:
        found: list[Row] = []
        while not self._events.empty():
            event = self._events.get()
            if event.get("action") == "remove-worker":
                found += self._remove(event["worker"])
            kind = event.get("kind")
            if kind == "snapshot":
                self.snapshots.append(Checkpoint(**event["checkpoint"]))
            elif kind == "memory":
                self._memory_used[event["key"]] = event["used"]
            elif kind == "started":
                self._started.add(event["key"])
        return found

    def _look_at_workers(self) -> list[Row]:
        if time.monotonic() - self._polled < _POLL_WORKERS:
            return []
        self._polled = time.monotonic()
        workers = self.client.scheduler_info(n_workers=-1).get("workers")
        if workers is None:  # the scheduler does not answer; the engine will see to it
            return []
        self.memory = sum(w.get("metrics", {}).get("memory", 0) for w in workers.values())
        for address, worker in workers.items():
            if address not in self.seats:
                self.seats[address] = Seat(address, worker["host"])
                self.hosts.add(worker["host"], address)
        return [row for a in list(self.seats) if a not in workers for row in self._remove(a)]

    # What was on a worker that died

    def _remove(self, address: str) -> list[Row]:
        seat = self.seats.pop(address, None)
        if seat is None:
            return []
        self.hosts.remove(seat.host, address)
        batches = list(seat.batches.values())
        self.client.cancel([*seat.batches, *seat.prepared.values(), *seat.tables.values()])
        n_tasks = sum(len(batch.tasks) for batch in batches)
        again = f"; {n_tasks} tasks that it had are run again alone" if n_tasks else ""
        self.notes.append(f"worker {address} is gone{again}")
        return [row for batch in batches for row in self._lost(batch)]

    def _lost(self, batch: Batch) -> list[Row]:
        """A batch's worker died: each task is a suspect; one that was alone is the culprit."""
        for task in batch.tasks:
            self._deaths[task.number] = self._deaths.get(task.number, 0) + 1
        if not batch.alone:
            self._suspects.extend(batch.tasks)
            return []
        (task,) = batch.tasks
        used = self._memory_used.get(task.key)
        if used is not None:
            limit = task.solver.limits.get("bytes", 0)
            why = f"it used {_mib(used)} of memory and the memory limit is {_mib(limit)}"
        else:
            why = (
                "its worker process died twice, the second time with this task alone; it may have "
            )
            why += "used up the worker's memory, or have been killed from outside"
        if task.key in self._started:
            return [self._failed(task, f"killed: {why}", Status.KILLED)]
        # The worker died before the search began: it was the data, and so it will be again.
        number = batch.node.number
        others = [self.plan.task(n) for n in self.backlog.remove_node(number)]
        others += [t for t in self._suspects if t.node.number == number]
        self._suspects = deque(t for t in self._suspects if t.node.number != number)
        text = f"killed: while the dataset was read or encoded, {why}"
        return [self._failed(t, text, Status.KILLED) for t in [task, *others]]

    def _failed(self, task: Task, error: str, status: Status, seat: Seat | None = None) -> Row:
        place = Place(None, seat.address if seat else None, rows.now())
        cell = self._cell(task)
        if status is Status.KILLED:
            died = max(1, self._deaths.get(task.number, 1))
            cell = replace(cell, attempt=self.store.attempts(task.key) + died)
        return rows.failed(task.node.info, cell, place, error, status)


def _bytes(node: Node) -> int:
    return 4 * node.info.n_rows * (node.n_features + 20)


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"
