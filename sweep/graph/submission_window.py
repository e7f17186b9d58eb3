"""The driver's side of the Dask graph: batches are submitted in a window, and rows come back.

The graph is load → encode → solve. Dask chooses the worker of each step, computes again what a
dead worker had, and moves data. The driver submits a few batches per thread, the longest first.
"""

from __future__ import annotations

import itertools
import math
import queue
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow.compute as pc
from distributed import Client, Future, KilledWorker, as_completed
from distributed.client import ClosedClientError
from distributed.comm.core import CommClosedError

from solver.solution import Status
from sweep.graph.backlog import Backlog
from sweep.graph.batching import Batching
from sweep.graph.cells import CellMaker
from sweep.graph.data import Data, Sources
from sweep.graph.failures import Death, Failures
from sweep.graph.shards import Shards
from sweep.plan.plan import Plan, Task
from sweep.plan.software_versions import difference
from sweep.rows import result_rows
from sweep.rows.result_rows import Cell, Checkpoint, Finished, Provenance, as_finished
from sweep.rows.shard_rows import of_shard
from sweep.store.store import Store
from sweep.transfer.driver_transfers import Transfer, Transfers
from sweep.worker import steps
from sweep.worker.batch_cells import REST
from sweep.worker.checkpointing import WANTED
from sweep.worker.exits import ENDED, MEMORY_TOPIC, TellExits, hear_memory
from sweep.worker.run_settings import Run
from sweep.worker.shard_messages import COSTS, LISTENS, deliver
from sweep.worker.tasks import warm_up_aside
from sweep.worker.worker_process import LEAVING, give_up, request_stop, take_over

Row = dict[str, Any]

_PER_THREAD = 3
_MOST_PER_THREAD = 24
_WINDOW_SECONDS = 12.0
_LEARNED = 0.2
_MOST_TASKS = 50_000
_PARTS = 32
_POLL_WORKERS = 1.0
_TELL_SHARDS = 0.1
_TOPICS = ("all", "scheduler")
_STUCK = "stuck"


@dataclass(frozen=True, eq=False)
class Batch:
    """Some tasks of one node that were submitted together.

    Parameters
    ----------
    key : str
        The key of the Dask task.
    tasks : list of Task
        In the order in which they are done.
    cells : list of Cell
    suspect : bool
        Whether one of the tasks may have killed a worker.
    sources : Sources
        What the tasks need.
    """

    key: str
    tasks: list[Task]
    cells: list[Cell]
    suspect: bool
    sources: Sources

    @property
    def needs(self) -> set[str]:
        """The keys of the Dask tasks that must end before it has."""
        return {self.key, str(self.sources.encoded.key), str(self.sources.loaded.key)}


class Window:
    """Submits batches, and turns what becomes of them into rows.

    Parameters
    ----------
    client : Client
    plan : Plan
    store : Store
        Asked for attempts, checkpoints and states; rows are not written to it.
    backlog : Backlog
        The tasks to run.
    run : Run
    are_here : bool
        Whether all workers run on this machine.
    most_workers : int
        How many workers there may be, if they come with the work.
    """

    def __init__(
        self,
        client: Client,
        plan: Plan,
        store: Store,
        backlog: Backlog,
        run: Run,
        are_here: bool,
        most_workers: int = 0,
    ) -> None:
        self.client, self.plan, self.store = client, plan, store
        self.backlog, self.run = backlog, run
        self.n_workers = self.memory = 0
        self.notes: deque[str] = deque()
        self.snapshots: deque[Checkpoint] = deque()
        self.shards = Shards(store)
        self.transfers = Transfers(client, run.name)
        self._data = Data(client, plan, run, are_here)
        self._cells = CellMaker(plan, store, self.shards, run.name)
        self._failures = Failures()
        self._batching = Batching(run.batch_seconds)
        self._out: dict[Future[Finished], Batch] = {}
        self._keys: dict[str, Batch] = {}
        self._stopped: list[Task] = []
        self._leaving: dict[str, bool] = {}
        self._refused: set[str] = set()
        self._least_threads = max(1, most_workers)
        self._threads, self._polled = self._least_threads, -math.inf
        self._told_shards = -math.inf
        self._is_stopping = False
        self._submitted = 0
        self._news: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._completed = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        self._added, self._closed = threading.Event(), False
        threading.Thread(target=self._follow, name="completed", daemon=True).start()
        for topic in (run.name, *_TOPICS):
            client.subscribe_topic(topic, lambda event: self._news.put(event[1]))
        client.subscribe_topic(MEMORY_TOPIC, lambda event: self._news.put(hear_memory(event[1])))
        _start(client.register_plugin, TellExits())
        self._tell_workers(take_over)
        self._tell_workers(warm_up_aside, plan.solvers)

    def _follow(self) -> None:
        """Pass finished batches on, in a thread of its own."""
        while not self._closed:
            self._added.wait()
            self._added.clear()
            for item in self._completed:
                self._news.put(item)

    @property
    def out(self) -> int:
        """Batches that were submitted."""
        return len(self._out)

    @property
    def running(self) -> int:
        """Tasks that workers are at, all shards of a task counted as one."""
        begun = self._failures.running & self._keys.keys()
        return len({self._keys[key].tasks[0].key for key in begun})

    @property
    def waiting(self) -> int:
        """Tasks that are not submitted, or of which it is not known what is to become."""
        return len(self.backlog) + self._failures.n_tasks + len(self._stopped)

    @property
    def n_willing(self) -> int:
        """Workers that get work."""
        return self.n_workers - len(self._refused)

    def stop(self) -> None:
        """Ask all workers to end what they are at; nothing may be submitted after this."""
        self._is_stopping = True
        self._tell_workers(request_stop)
        begun = self._failures.running
        _start(self.client.cancel, [f for f, b in self._out.items() if b.key not in begun])

    def _tell_workers(self, function: Callable[..., None], *more: Any, **where: Any) -> None:
        """Call a function of the run's name and maybe more on all workers, of which some may not
        answer."""
        _start(self.client.run, function, self.run.name, *more, on_error="ignore", **where)

    def lam_of(self, key: str) -> Fraction | None:
        """The λ of a task that was submitted, the least of a λ-path; None if it is not out."""
        tasks = (task for batch in self._out.values() for task in batch.tasks)
        return next((task.lam.exact for task in tasks if task.key == key), None)

    def close(self) -> None:
        """Listen no more."""
        self._closed = True
        self.transfers.close()
        self._completed.clear()
        self._added.set()
        # A client whose scheduler is lost has nobody to tell, and why it is lost matters more.
        with suppress(ClosedClientError, CommClosedError, OSError):
            for topic in (self.run.name, *_TOPICS, MEMORY_TOPIC):
                self.client.unsubscribe_topic(topic)

    # Submitting

    def fill(self) -> None:
        """Submit batches until there are enough for all threads."""
        tasks = sum(len(batch.tasks) for batch in self._out.values())
        while self._has_room(tasks):
            if self._failures.again:
                for part in _split(self._failures.again.popleft()):
                    self._submit(part, suspect=True)
                continue
            taken = self.backlog.take(lambda n: self._batching.size(self.plan.nodes[n]))
            chosen = [task for task in self.plan.tasks_of(taken) if self.shards.is_due(task)]
            for part in [[t] for t in chosen] if _has_shards(chosen) else [chosen]:
                if part:
                    self._submit(part)
                    tasks += len(part)

    def _has_room(self, tasks: int) -> bool:
        if self._failures.again:
            return len(self._out) < _MOST_PER_THREAD * self._threads
        head = self.backlog.head
        if head is None:
            return False
        # The first ones, the longest, would each wait for one worker: not until it knows many of a
        # kind does the scheduler keep what waits for whoever is free. A shard may begin with a
        # better tree than the one before.
        if self._submitted <= 2 * self._threads or self.plan.block_of(head).solver.shards > 1:
            return len(self._out) < self._threads
        if tasks > _MOST_TASKS:
            return len(self._out) < _PER_THREAD * self._threads
        return len(self._out) < self._per_thread * self._threads

    @property
    def _per_thread(self) -> int:
        """Batches for each thread: few while their sizes are learned.

        Then so many that ``Adaptive`` sees that there is work for more workers.
        """
        seconds = self._batching.seconds
        if seconds < _LEARNED * self.run.batch_seconds:
            return _PER_THREAD
        return min(max(_PER_THREAD, math.ceil(_WINDOW_SECONDS / seconds)), _MOST_PER_THREAD)

    def _submit(self, tasks: list[Task], suspect: bool = False) -> None:
        number, self._submitted = self._submitted, self._submitted + 1
        priority = 1 if suspect else -number
        cells = [self._cells.make(task, self._failures.deaths(task)) for task in tasks]
        sources = self._data.of(tasks[0].node, priority)
        batch = Batch(f"solve-{number}-{self.run.name}", tasks, cells, suspect, sources)
        future = self.client.submit(
            steps.solve,
            self.run,
            suspect,
            sources.encoded,
            cells,
            key=batch.key,
            priority=priority,
        )
        self._out[future] = self._keys[batch.key] = batch
        self._completed.add(future)
        self._added.set()

    # Taking back

    def collect(self, timeout: float) -> list[Finished]:
        """Rows that are finished now; waits up to so many seconds for the first."""
        found: list[Finished] = []
        failed: list[Row] = [*self.shards.merged]
        self.shards.merged.clear()
        for item in self._next_news(timeout):
            if isinstance(item, dict):
                self._hear(item)
                continue
            taken = self._take(*item)
            if isinstance(taken, Finished):
                found.append(taken)
            else:
                failed += taken
        self._tell_shards()
        self._look_at_workers()
        failed += self._killed(self._failures.judge())
        self._give_back(self._failures.spared)
        self._failures.spared.clear()
        self._release()
        self._collect_notes()
        return [*found, as_finished(failed)] if failed else found

    def _next_news(self, timeout: float) -> Iterator[Any]:
        with suppress(queue.Empty):
            yield self._news.get(timeout=timeout)
            while True:
                yield self._news.get_nowait()

    def _take(self, future: Future[Finished], result: Any) -> Finished | list[Row]:
        batch = self._out.pop(future)
        del self._keys[batch.key]
        self._cells.forget(batch.cells)
        if future.status == "finished":
            self._failures.ended(batch.key)
            return self._finished(batch, result)
        if future.status != "error":
            self._wait_again(batch)  # it was cancelled, or the scheduler is lost
            return []
        error = result[1] if isinstance(result, tuple) else result
        if isinstance(error, KilledWorker):
            return self._worker_died(batch, str(error.task), error.last_worker.address)
        if isinstance(error, steps.UnreadableError):
            self._data.send(batch.tasks[0].node)
            self._give_back(batch.tasks)
            return []
        text = "".join(traceback.format_exception(error))
        return [row for task in batch.tasks for row in self._failed(task, text, Status.ERROR)]

    def _finished(self, batch: Batch, result: Finished) -> Finished | list[Row]:
        tasks = batch.tasks
        if len(result) > len(tasks):  # Dask ran it again after its rest was taken back
            result = result.first(len(tasks))
        done = len(result)
        self._batching.took(tasks[0].node, len(tasks), done, result.seconds)
        self._give_back(tasks[done:])
        stopped = pc.equal(result.rows["status"], Status.STOPPED.value)
        if pc.any(stopped).as_py():  # its worker is about to end, or the run is
            self._stopped += itertools.compress(tasks, stopped.to_pylist())
            self._cells.has_checkpoints = True
        if tasks[0].shard is None or not done:
            return result
        return self._take_shard(tasks[0], result)

    def _take_rest(self, key: str, begun: int) -> None:
        """Of a running batch, of which a task takes long, take back those that have not begun."""
        batch = self._keys.get(key)
        if batch is not None:
            self._give_back(batch.tasks[begun:])
            del batch.tasks[begun:]

    def _take_shard(self, task: Task, finished: Finished) -> list[Row]:
        """The row of a task, if this shard has ended it."""
        try:
            found, reached = self.shards.take(task, finished)
        except ValueError as error:
            return self._failed(task, str(error), Status.ERROR)
        if reached is not None:
            self.snapshots.append(reached)
        if any(not Status(row["status"]).has_tree for row in found):
            self._tell_workers(give_up, task.key)
        return found

    def _tell_shards(self) -> None:
        """Pass on what running shards have found."""
        if time.monotonic() - self._told_shards < _TELL_SHARDS:
            return
        self._told_shards = time.monotonic()
        for key, known in self.shards.news():
            self._tell_workers(deliver, key, known)

    def _worker_died(self, batch: Batch, key: str, worker: str) -> list[Row]:
        self._cells.has_checkpoints = True
        before = self._failures.running_on(worker)
        if before is not None and (self._data.is_done(before) or self._is_done(before)):
            self._failures.ended(before)
        if key == batch.key:
            back, deaths = self._failures.killed(
                batch.tasks, batch.suspect and len(batch.tasks) == 1, key, worker
            )
            self._give_back(back)
            return self._killed(deaths)
        self._data_died(key, worker)
        self._wait_again(batch)
        return []

    def _is_done(self, key: str) -> bool:
        """Whether a batch has ended well whose rows are still on their way."""
        return any(f.key == key and f.status == "finished" for f in self._out)

    def _data_died(self, key: str, worker: str) -> None:
        """A step that loads or encodes has ended with its worker."""
        nodes = self._data.nodes_of(key)
        self._data.again(key, self._failures.killed_data(nodes, key, worker))

    def _wait_again(self, batch: Batch) -> None:
        """A batch has not run: it waits, or belongs to the case of its data."""
        case = self._failures.case_of(batch.tasks[0].node.number)
        if case is None:
            self._give_back(batch.tasks)
            return
        left = [number for n in case.nodes for number in self.backlog.remove_node(n)]
        case.tasks += [*batch.tasks, *self.plan.tasks_of(left)]

    def _mend_data(self) -> None:
        """Take batches back that Dask would let wait for ever."""
        stuck = [f for f, b in self._out.items() if not f.done() and b.sources.will_never_come]
        for loaded in {b.sources.loaded for f, b in self._out.items() if f in stuck}:
            error = loaded.exception()
            if isinstance(error, KilledWorker):
                self._data_died(str(loaded.key), error.last_worker.address)
            else:
                self._data.again(str(loaded.key))
        if stuck:
            _start(self.client.cancel, stuck)

    def _give_back(self, tasks: Iterable[Task]) -> None:
        for node, some in itertools.groupby(tasks, lambda task: task.node.number):
            self.backlog.give_back(node, [task.number for task in some])

    # What is heard

    def _hear(self, event: dict[str, Any]) -> None:
        kind, failures = event.get("kind"), self._failures
        if event.get("action") == "remove-worker":
            expected = bool(event.get("expected"))
            failures.removed(event["worker"], event["stimulus_id"], expected)
        elif event.get("action") == "retire-workers":
            for address in self._leaving.keys() & event["could-not-retire"]:
                self._leaving[address] = False
        elif event.get("action") == "worker-ttl-timed-out":
            for address in event["workers"]:
                failures.end_of(address).silent = True
        elif kind == steps.BEGUN:
            failures.begun(event["worker"], event["key"])
        elif kind == steps.HANDED_BACK:
            failures.handed_back(event["worker"])
        elif kind == "snapshot":
            reached = Checkpoint(**event["checkpoint"])
            if self.shards.see(reached):
                self.snapshots.append(reached)
        elif kind == LISTENS:
            known, where = self.shards.known(event["key"]), [event["worker"]]
            self._tell_workers(deliver, event["key"], known, workers=where)
        elif kind == COSTS:
            self.shards.learn(event["key"], event["costs"])
        elif kind == REST:
            self._take_rest(event["key"], event["begun"])
        elif kind == "memory":
            failures.used_memory(event["key"], event["used"])
        elif kind == "timeout":
            failures.ran_late(event["key"], event["ran"])
        elif kind == ENDED:
            failures.end_of(event["worker"]).code = event["code"]
        elif kind == MEMORY_TOPIC:
            failures.end_of(event["worker"]).used = event["used"]
        elif kind == "state":
            self._fetch(event)
        elif kind == WANTED:
            self._deliver(event)
        elif kind == "bad-state":
            self.notes.append(event["text"])
            self.store.reject_state(event["key"])
        elif kind == "note":
            self.notes.append(event["text"])
        elif kind == steps.REFUSED:
            self._refuse(event["worker"], event["fingerprint"])
        elif kind == _STUCK:
            self._take_back(event["keys"])
        elif kind == LEAVING and event["worker"] not in self._leaving:
            self._leaving[event["worker"]] = False
            self.notes.append(f"worker {event['worker']} leaves, its time is over")

    def _fetch(self, event: dict[str, Any]) -> None:
        path = self.store.states.incoming(event["token"])
        names = ("key", "token", "address", "size", "iterations")
        self.transfers.fetch(Transfer(path=path, **{name: event[name] for name in names}))

    def _deliver(self, event: dict[str, Any]) -> None:
        held, key, token = self._cells.held(event["token"]), event["key"], event["token"]
        if held is not None:
            done = held.reached.iterations
            where = event["address"]
            self.transfers.deliver(Transfer(key, token, where, held.size, done, source=held.open))

    def states(self) -> list[Transfer]:
        """The states of searches that have come from workers."""
        return self.transfers.arrivals()

    def _refuse(self, address: str, fingerprint: dict[str, str]) -> None:
        """Let the scheduler give no more work to a worker with other versions."""
        self._failures.handed_back(address)
        if address in self._refused:
            return
        self._refused.add(address)
        differs = difference(fingerprint)
        self.notes.append(
            f"worker {address} has another version: {differs}; install the same on both; until "
            "then it gets no work"
        )
        _start(self.client.retire_workers, [address], close_workers=False, remove=False)

    def _find_stuck(self, address: str) -> None:
        """Ask for steps that the scheduler gave to a worker just before it refused them: there
        Dask leaves them, neither run nor given to others."""
        keys = self.client.processing(workers=[address])[address]
        self._news.put({"kind": _STUCK, "keys": {str(key) for key in keys}})

    def _take_back(self, keys: set[str]) -> None:
        """Submit steps anew that are stuck, and the batches that wait for them."""
        for key in keys - self._keys.keys():
            self._data.again(key)
        stuck = [f for f, b in self._out.items() if not keys.isdisjoint(b.needs)]
        if stuck:
            _start(self.client.cancel, stuck)

    def _release(self) -> None:
        """Let stopped tasks go on: their states may have been on their way here."""
        if not self.transfers.coming and not self._is_stopping:
            self._give_back(self._stopped)
            self._stopped = []

    def _retire(self, present: Collection[str]) -> None:
        """Retire leaving workers of which nothing is needed any more.

        Dask refuses while no other worker can take their data; then they are asked again.
        """
        if self._is_stopping or self._leaving.keys() >= {*present}:
            return
        needed = self._failures.workers_of(self._keys) | self.transfers.coming
        for address, is_asked in self._leaving.items():
            if not is_asked and address not in needed:
                self._leaving[address] = True
                _start(self.client.retire_workers, [address])

    def _collect_notes(self) -> None:
        self.notes.extend(self.transfers.notes())
        self.notes.extend(self.store.states.notes())
        for source in (self._failures.notes, self._data.notes):
            self.notes.extend(source)
            source.clear()

    def _look_at_workers(self) -> None:
        if time.monotonic() - self._polled < _POLL_WORKERS:
            return
        self._polled = time.monotonic()
        if self._is_stopping:  # also those that have come since
            self._tell_workers(request_stop)
        self._mend_data()
        workers = self.client.scheduler_info(n_workers=-1).get("workers")
        if workers is None:  # the scheduler does not answer; the engine will see to it
            return
        self._retire(workers)
        self._refused &= workers.keys()
        for address in self._refused:
            _start(self._find_stuck, address)
        self.n_workers = len(workers)
        threads = sum(worker["nthreads"] for worker in workers.values())
        self._threads = max(self._least_threads, threads)
        self.memory = sum(w.get("metrics", {}).get("memory", 0) for w in workers.values())

    # Failed tasks

    def _killed(self, deaths: Sequence[Death]) -> list[Row]:
        return [
            row
            for death in deaths
            for task in death.tasks
            for row in self._failed(task, death.error, Status.KILLED)
        ]

    def _failed(self, task: Task, error: str, status: Status) -> list[Row]:
        """The row of a task that has failed; none if another shard of it has failed before."""
        if not self.shards.fail(task):
            return []
        if task.shard is not None:
            error = of_shard(error, task.shard)
            self._tell_workers(give_up, task.key)
        deaths = self._failures.deaths(task)
        if status is Status.KILLED:
            deaths = max(1, deaths) - 1  # the last one is that of this attempt
        cell = self._cells.plain(task, deaths)
        return [
            result_rows.failed(
                task.node.info, cell, Provenance(None, None, result_rows.now()), error, status
            )
        ]


def _has_shards(tasks: Sequence[Task]) -> bool:
    return any(task.shard is not None for task in tasks)


def _split(tasks: list[Task]) -> list[list[Task]]:
    """Tasks one by one; very many in parts, which are divided again if a worker dies."""
    size = -(-len(tasks) // _PARTS)
    return [tasks[start : start + size] for start in range(0, len(tasks), size)]


def _start(call: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Ask something of the cluster, of which some may not answer."""

    def ask() -> None:
        with suppress(Exception):
            call(*arguments, **options)

    threading.Thread(target=ask, daemon=True).start()
