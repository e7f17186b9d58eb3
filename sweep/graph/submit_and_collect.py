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
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow.compute as pc
from distributed import Future, KilledWorker, as_completed

from solver.solution import Status
from sweep.clusters.liveness import ClusterWatch, start
from sweep.graph.backlog import Backlog
from sweep.graph.batching import Batching
from sweep.graph.dataset_futures import Data, Sources
from sweep.graph.division import Division, Search
from sweep.graph.failure_attribution import Failures
from sweep.graph.sharded_tasks import Shards
from sweep.graph.task_payload import CellMaker
from sweep.plan.plan import Node, Plan, Task
from sweep.rows import result_rows
from sweep.rows.result_rows import Checkpoint, Finished, Provenance, as_finished, checkpoint_of
from sweep.rows.shard_rows import of_shard
from sweep.spec.shard_checks import MOST_SHARDS
from sweep.state_transfer.driver_side import Transfer, Transfers
from sweep.store.store import Store
from sweep.worker import dask_steps
from sweep.worker.checkpointing import WANTED
from sweep.worker.exit_reasons import MEMORY_TOPIC, TellExits
from sweep.worker.run_settings import Run
from sweep.worker.shard_messages import LISTENS, PROVEN, deliver
from sweep.worker.stop_requests import divide, give_up, request_stop, take_over
from sweep.worker.tasks import warm_up_aside
from sweep.worker.timed_batch import REST

_PER_THREAD = 3
_MOST_PER_THREAD = 24
_WINDOW_SECONDS = 12.0
_LEARNED = 0.2
_MOST_TASKS = 50_000
_PARTS = 32
_LOOK = 1.0
_TELL_SHARDS = 0.03
_TOPICS = ("all", "scheduler", MEMORY_TOPIC)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some tasks of one node that were submitted together.

    Parameters
    ----------
    future : Future
    tasks : list of Task
        In the order in which they are done.
    suspect : bool
        Whether one of the tasks may have killed a worker.
    sources : Sources
        What the tasks need.
    priority : int
        Dask runs the highest first.
    spent : float
        Seconds that earlier attempts have searched for the last task.
    """

    future: Future[Finished]
    tasks: list[Task]
    suspect: bool
    sources: Sources
    priority: int
    spent: float

    @property
    def node(self) -> Node:
        return self.tasks[0].node

    @property
    def needs(self) -> set[str]:
        """The keys of the Dask tasks that must end before it has."""
        return {str(future.key) for future in (self.future, *self.sources)}


class Window:
    """Submits batches, and turns what becomes of them into rows.

    Parameters
    ----------
    watch : ClusterWatch
        Knows the client and the workers.
    plan : Plan
    store : Store
        Asked for attempts, checkpoints and states; rows are not written to it.
    backlog : Backlog
        The tasks to run.
    run : Run
    """

    def __init__(
        self, watch: ClusterWatch, plan: Plan, store: Store, backlog: Backlog, run: Run
    ) -> None:
        self.watch, self.plan, self.store = watch, plan, store
        self.backlog, self.run = backlog, run
        self.client = client = watch.client
        self.notes: deque[str] = deque()
        self.snapshots: deque[Checkpoint] = deque()
        self.shards = Shards(store)
        self.transfers = Transfers(client, run.name)
        self._data = Data(client, plan, run, watch.cluster.is_here, self.notes)
        self._cells = CellMaker(plan, store, self.shards, run.name)
        self._failures = Failures(self.notes)
        self._batching, self._division = Batching(run.batch_seconds), Division()
        self._out: dict[str, Batch] = {}
        self._stopped: list[Task] = []
        self._least_threads = max(1, watch.cluster.most_workers)
        self._looked = self._told_shards = -math.inf
        self._is_stopping = self._is_contradicted = False
        self._submitted = 0
        self._news: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._completed = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        self._added, self._closed = threading.Event(), False
        threading.Thread(target=self._follow, name="completed", daemon=True).start()
        for topic in (run.name, *_TOPICS):
            client.subscribe_topic(topic, lambda event: self._news.put(event[1]))
        start(client.register_plugin, TellExits())
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
        begun = self._failures.running & self._out.keys()
        return len({self._out[key].tasks[0].key for key in begun})

    @property
    def waiting(self) -> int:
        """Tasks that are not submitted, or of which it is not known what is to become."""
        waiting = len(self.backlog) + self._failures.n_tasks + len(self.shards.waiting)
        return waiting + len(self._stopped)

    def stop(self) -> None:
        """Ask all workers to end what they are at; nothing may be submitted after this."""
        self._is_stopping = True
        self._tell_workers(request_stop)
        begun = self._failures.running
        self._cancel(batch for key, batch in self._out.items() if key not in begun)

    def _cancel(self, batches: Iterable[Batch]) -> None:
        if futures := [batch.future for batch in batches]:
            start(self.client.cancel, futures)

    def _tell_workers(self, function: Callable[..., None], *more: Any, **where: Any) -> None:
        """Call a function of the run's name and maybe more on all workers, of which some may not
        answer."""
        start(self.client.run, function, self.run.name, *more, on_error="ignore", **where)

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
        with suppress(Exception):
            for topic in (self.run.name, *_TOPICS):
                self.client.unsubscribe_topic(topic)

    # Submitting

    def fill(self) -> None:
        """Submit batches until there are enough for all threads."""
        threads = max(self._least_threads, self.watch.threads)
        n_tasks = sum(len(batch.tasks) for batch in self._out.values())
        while self.shards.waiting:
            self._submit([self.shards.waiting.popleft()])
        while len(self._out) < threads * self._per_thread(n_tasks, threads):
            if self._failures.again:
                again = self._failures.again.popleft()
                for part in _split([t for t in again if not self.shards.is_outdated(t)]):
                    self._submit(part, suspect=True)
                continue
            taken = self.backlog.take(lambda n: self._batching.size(self.plan.nodes[n]))
            chosen = [task for task in self.plan.tasks_of(taken) if self.shards.is_due(task)]
            has_shards = any(task.shard is not None for task in chosen)
            for part in [[task] for task in chosen] if has_shards else [chosen]:
                if part:
                    self._submit(part)
            n_tasks += len(chosen)

    def _per_thread(self, n_tasks: int, threads: int) -> int:
        """How many batches there may be for each thread, while so many tasks are submitted."""
        head, seconds = self.backlog.head, self._batching.last_seconds
        if self._failures.again:
            return _MOST_PER_THREAD
        if head is None:
            return 0
        # The first ones, the longest, would each wait for one worker: not until it knows many of a
        # kind does the scheduler keep what waits for whoever is free. A shard may begin with a
        # better tree than the one before.
        if self._submitted <= 2 * threads or self.plan.block_of(head).solver.shards > 1:
            return 1
        # Few while their sizes are learned; then so many that ``Adaptive`` sees that there is work.
        if n_tasks > _MOST_TASKS or seconds < _LEARNED * self.run.batch_seconds:
            return _PER_THREAD
        return min(max(_PER_THREAD, math.ceil(_WINDOW_SECONDS / seconds)), _MOST_PER_THREAD)

    def _submit(
        self, tasks: list[Task], suspect: bool = False, priority: int | None = None
    ) -> None:
        number, self._submitted = self._submitted, self._submitted + 1
        if priority is None:
            priority = 1 if suspect else -number
        cells = [self._cells.make(task, self._failures.deaths(task)) for task in tasks]
        sources = self._data.of(tasks[0].node, priority)
        arguments = self.run, suspect, sources.encoded, cells
        key = f"solve-{number}-{self.run.name}"
        future = self.client.submit(dask_steps.solve, *arguments, key=key, priority=priority)
        checkpoint = cells[-1].checkpoint
        spent = 0.0 if checkpoint is None else checkpoint.spent
        self._out[key] = Batch(future, tasks, suspect, sources, priority, spent)
        self._completed.add(future)
        self._added.set()

    # Taking back

    def collect(self, timeout: float) -> list[Finished]:
        """Rows that are finished now; waits up to N seconds for the first."""
        found: list[Finished] = []
        with suppress(queue.Empty):
            while True:
                item = self._news.get(timeout=timeout)
                timeout = 0.0
                if isinstance(item, dict):
                    self._hear(item)
                elif (finished := self._take(*item)) is not None:
                    found.append(finished)
        self._tell_shards()
        self._look()
        for case in self._failures.judge():
            self._fail(case.tasks, case.error, Status.KILLED)
        self._give_back(self._failures.spared)
        self._failures.spared.clear()
        self._release()
        self.notes.extend([*self.transfers.notes(), *self.store.states.notes()])
        if self.shards.made:
            found.append(as_finished([*self.shards.made]))
            self.shards.made.clear()
        return found

    def _take(self, future: Future[Finished], result: Any) -> Finished | None:
        batch = self._out.pop(str(future.key), None)
        if batch is None:  # see _take_lost
            return None
        self._cells.forget(batch.tasks)
        if future.status == "finished":
            return self._finished(batch, result)
        batch.tasks[:] = [task for task in batch.tasks if not self.shards.is_outdated(task)]
        if not batch.tasks:
            return None
        error = result[1] if isinstance(result, tuple) else result
        if future.status != "error":
            self._wait_again(batch)  # it was cancelled, or the scheduler is lost
        elif isinstance(error, KilledWorker) and error.task == future.key:
            worker = error.last_worker.address
            self._failures.killed(batch.tasks, batch.suspect, str(future.key), worker)
        elif isinstance(error, KilledWorker):
            self._data_died(batch.node, str(error.task), error.last_worker.address)
            self._wait_again(batch)
        elif isinstance(error, dask_steps.UnreadableError):
            self._data.send(batch.node, batch.sources.loaded)
            self._failures.wait_again(batch.tasks, batch.suspect)
        else:
            text = "".join(traceback.format_exception(error))
            self._fail(batch.tasks, text, Status.ERROR)
        return None

    def _finished(self, batch: Batch, result: Finished) -> Finished | None:
        tasks = batch.tasks
        if len(result) > len(tasks):  # Dask ran it again after its rest was taken back
            result = result.first(len(tasks))
        done = len(result)
        self._failures.data_were_read(batch.node.number)
        self._batching.took(batch.node, len(tasks), done, result.seconds)
        self._give_back(tasks[done:])
        is_shard = tasks[0].shard is not None
        if done and not is_shard and self.shards.is_outdated(tasks[done - 1]):
            result = self._take_whole(tasks.pop(done - 1), result)
        rows = result.rows
        stopped = pc.equal(rows["status"], Status.STOPPED.value)
        some_stopped = bool(pc.any(stopped).as_py())  # None if there is no row
        self._is_contradicted |= not done or some_stopped
        if some_stopped:  # its worker is about to end, or the run is
            found = itertools.compress(tasks, stopped.to_pylist())
            self._stopped += (task for task in found if not self.shards.is_outdated(task))
            if not is_shard:
                self.snapshots += (
                    checkpoint_of(row, self.store.checkpoint(row["key"]))
                    for row in rows.filter(stopped).to_pylist()
                )
                result = result.where(pc.invert(stopped))
        if is_shard and done:
            self._take_shard(tasks[0], result)
            return None
        return result

    def _take_whole(self, task: Task, finished: Finished) -> Finished:
        """Take the last row of a batch, whose task was divided while it ran; the rows to store.

        If it has ended before its worker heard of that, the shards are not needed.
        """
        (row,) = finished.rows.slice(len(finished) - 1).to_pylist()
        if Status(row["status"]) is Status.STOPPED:
            _, reached = self.shards.take(task, as_finished([row]))
            self.snapshots += [] if reached is None else [reached]
        elif self.shards.end(task.key):
            self._tell_workers(give_up, task.key)
            return finished
        return finished.first(len(finished) - 1)

    def _take_rest(self, key: str, begun: int) -> None:
        """Of a running batch, of which a task takes long, take back those that have not begun.

        They may be as long, so they go to other workers at once, before what was submitted since.
        """
        batch = self._out.get(key)
        if batch is None:
            return
        rest = [task for task in batch.tasks[begun:] if not self.shards.is_outdated(task)]
        del batch.tasks[begun:]
        if self._is_stopping:
            self._give_back(rest)
        else:
            for part in _split(rest):
                self._submit(part, priority=batch.priority)

    def _take_shard(self, task: Task, finished: Finished) -> None:
        """Take the row of a shard, and make that of its task if this has ended it."""
        try:
            found, reached = self.shards.take(task, finished)
        except ValueError as error:
            self._fail([task], str(error), Status.ERROR)
            return
        if reached is not None:
            self.snapshots.append(reached)
        if any(not Status(row["status"]).has_tree for row in found):
            self._tell_workers(give_up, task.key)
        self.shards.made += found

    def _tell_shards(self) -> None:
        """Pass on what running shards have found."""
        if time.monotonic() - self._told_shards < _TELL_SHARDS:
            return
        self._told_shards = time.monotonic()
        for key, known in self.shards.news():
            self._tell_workers(deliver, key, known)

    def _data_died(self, node: Node, key: str, worker: str) -> None:
        nodes = self._data.nodes_of(key, node)
        self._data.again(key, suspect=self._failures.killed_data(nodes, key, worker))

    def _wait_again(self, batch: Batch) -> None:
        """A batch has not run: it waits, or belongs to the case of its data."""
        case = self._failures.case_of(batch.node.number)
        if case is None:
            self._failures.wait_again(batch.tasks, batch.suspect)
            return
        left = [number for n in case.nodes for number in self.backlog.remove_node(n)]
        case.tasks += [*batch.tasks, *self.plan.tasks_of(left)]

    def _take_lost(self) -> None:
        """Take failed batches that ``as_completed`` does not give.

        If a worker dies before its result is fetched, Dask runs the batch again. If that fails,
        ``as_completed`` loses the future (https://github.com/dask/distributed/issues/7331).
        """
        for batch in [b for b in self._out.values() if b.future.status == "error"]:
            self._take(batch.future, batch.future.exception())

    def _mend_data(self) -> None:
        """Take batches back that Dask would let wait for ever."""
        waiting = (batch for batch in self._out.values() if not batch.future.done())
        stuck = [batch for batch in waiting if batch.sources.will_never_come]
        for batch in stuck:
            key, error = str(batch.sources.loaded.key), batch.sources.loaded.exception()
            if isinstance(error, KilledWorker):
                self._data_died(batch.node, key, error.last_worker.address)
            else:
                self._data.again(key)
        self._cancel(stuck)

    def _give_back(self, tasks: Iterable[Task]) -> None:
        tasks = self.shards.take_back(tasks)
        for node, some in itertools.groupby(tasks, lambda task: task.node.number):
            self.backlog.give_back(node, [task.number for task in some])

    def _release(self) -> None:
        """Let stopped tasks go on: their states may have been on their way here."""
        if self._stopped and not self.transfers.coming and not self._is_stopping:
            self._give_back(self._stopped)
            self._stopped = []

    def _fail(self, tasks: Iterable[Task], error: str, status: Status) -> None:
        """Make the rows of tasks that have failed; of shards, that of the first one of a task."""
        for task in tasks:
            if not self.shards.fail(task):
                continue
            why = error
            if task.shard is not None:
                why = of_shard(error, task.shard)
                self._tell_workers(give_up, task.key)
            deaths = self._failures.deaths(task)
            if status is Status.KILLED:
                deaths = max(1, deaths) - 1  # the last one is that of this attempt
            cell = self._cells.plain(task, deaths)
            nowhere = Provenance(None, None, result_rows.now())
            self.shards.made.append(result_rows.failed(task.node.info, cell, nowhere, why, status))

    # What is heard

    def _hear(self, event: dict[str, Any]) -> None:
        kind = event.get("kind")
        self._failures.hear(event)
        self.watch.hear(event)
        if kind == "snapshot":
            reached = Checkpoint(**event["checkpoint"])
            if (kept := self.shards.see(reached)) is not None:
                self.snapshots.append(kept)
        elif kind == LISTENS:
            known, where = self.shards.known(event["key"]), [event["worker"]]
            self._tell_workers(deliver, event["key"], known, workers=where)
        elif kind == PROVEN:
            self.shards.learn(event["key"], event["shard"], event["proven"])
        elif kind == REST:
            self._take_rest(event["key"], event["begun"])
        elif kind == "state":
            path = self.store.states.incoming(event["token"])
            names = ("key", "token", "address", "size", "iterations")
            self.transfers.fetch(Transfer(path=path, **{name: event[name] for name in names}))
        elif kind == WANTED and (held := self._cells.held.get(event["key"])) is not None:
            key, token, address = event["key"], event["token"], event["address"]
            size, done = held.size, held.reached.iterations
            self.transfers.deliver(Transfer(key, token, address, size, done, source=held.open))
        elif kind in ("note", "bad-state"):
            self.notes.append(event["text"])
            if kind == "bad-state":
                self.store.reject_state(event["key"])

    # Now and then

    def _look(self) -> None:
        """Look whether all goes on, once a second."""
        if time.monotonic() - self._looked < _LOOK:
            return
        self._looked = time.monotonic()
        if self._is_stopping:  # also those that have come since
            self._tell_workers(request_stop)
        elif self._is_contradicted:
            # Maybe a driver that has lost its lease was heard after this one. A worker would give
            # back all that it is sent, for ever.
            self._is_contradicted = False
            self._tell_workers(take_over)
        self._take_lost()
        self._mend_data()
        needed = self._failures.workers_of(self._out) | self.transfers.coming
        stuck = self.watch.look(None if self._is_stopping else needed)
        self._divide()
        for key in stuck - self._out.keys():
            self._data.again(key)
        self._cancel(b for b in self._out.values() if not stuck.isdisjoint(b.needs))

    def _divide(self) -> None:
        """Divide a running search among idle workers, if nothing else waits for them."""
        at_work = [self._out[key] for key in self._failures.searching & self._out.keys()]
        spent = {batch.tasks[-1].key: batch.spent for batch in at_work}
        begun = [batch.tasks[-1] for batch in at_work]
        begun = [t for t in begun if t.solver.divides(t.lam.exact, t.node.info.task)]
        for task in begun:
            if self.shards.has_ended(task):  # its worker may have come since
                self._tell_workers(give_up, task.key)
            elif self.shards.is_outdated(task):
                self._tell_workers(divide, task.key, self.shards.n_parts(task))
        if self._is_stopping or self.waiting:
            return
        tasks = {task.key: task for task in begun if not self.shards.is_outdated(task)}
        counts = Counter(task.key for task in begun)
        searches = {k: Search(self.shards.n_parts(task), counts[k]) for k, task in tasks.items()}
        idle = self.watch.threads - len(self._out)
        if (chosen := self._division.choose(searches, idle, MOST_SHARDS)) is not None:
            key, number, seconds = chosen
            shards = self.plan.shards_of(tasks[key], number)
            self.shards.divide(shards, spent[key] + seconds)
            self._tell_workers(divide, key, number)


def _split(tasks: list[Task]) -> list[list[Task]]:
    """Tasks one by one; very many in parts, which are divided again if a worker dies."""
    size = max(1, -(-len(tasks) // _PARTS))
    return [tasks[start : start + size] for start in range(0, len(tasks), size)]
