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
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from distributed import Client, Future, KilledWorker, as_completed
from distributed.client import ClosedClientError
from distributed.comm.core import CommClosedError

from solver.catalogue import SOLVERS
from solver.solution import Status
from sweep.clusters.worker_admission import Hosts
from sweep.graph.backlog import Backlog
from sweep.graph.batching import Bundling
from sweep.graph.dataset_transfer import Shipper
from sweep.graph.failures import Casualties, Death
from sweep.graph.retirement import Leavers
from sweep.graph.shards import Shards, of_shard
from sweep.graph.state_transfer import Courier, Parcel
from sweep.graph.timeouts import Overdue
from sweep.graph.worker_exits import ENDED, MEMORY_TOPIC, TellExits, hear_memory
from sweep.graph.worker_slots import Bundle, Seat
from sweep.plan.plan import Node, Plan, Task
from sweep.plan.task_keys import question_limits
from sweep.rows import rows
from sweep.rows.rows import Cell, Checkpoint, Finished, Provenance, as_finished
from sweep.store.store import Store
from sweep.worker import tasks
from sweep.worker.current_task import forget_run
from sweep.worker.process import LEAVING, give_up, request_stop, take_over
from sweep.worker.run_settings import Run

Row = dict[str, Any]

_CACHE_BYTES = 2**30
_CACHE_NODES = 64
_POLL_WORKERS = 1.0


class Dispatcher:
    """Keeps the workers busy.

    Parameters
    ----------
    client : Client
    plan : Plan
    store : Store
        Asked for attempts, checkpoints and states; rows are not written to it.
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
        run: Run,
        hosts: Hosts,
    ) -> None:
        self.client, self.plan, self.store = client, plan, store
        self.backlog, self.run, self.hosts = backlog, run, hosts
        self.seats: dict[str, Seat] = {}
        self.memory = 0
        self.notes: deque[str] = deque()
        self.snapshots: deque[Checkpoint] = deque()
        self.shards = Shards(store)
        self.courier = Courier(client, run.name)
        self.shipper = Shipper(client, {n.info.data_hash: n.reference for n in plan.nodes})
        self._casualties = Casualties(
            client,
            run.name,
            plan,
            backlog,
            lambda task: self._bundling.shrink(task.node),
            self.notes.append,
        )
        self._leavers = Leavers(client, backlog)
        self._bundling = Bundling(run.bundle_seconds)
        self._events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._watch = Overdue(client, run.grace)
        self._polled = 0.0
        self._names, self._numbers = itertools.count(), itertools.count()
        self._ready = as_completed(loop=client.loop, with_results=True)
        self._resumes = store.has_checkpoints()
        for topic in (run.name, "all"):
            client.subscribe_topic(topic, lambda event: self._events.put(event[1]))
        client.subscribe_topic(MEMORY_TOPIC, lambda event: self._events.put(hear_memory(event[1])))
        _start(client.register_plugin, TellExits())
        self._tell_workers(take_over)

    @property
    def running(self) -> int:
        """Tasks that are on a worker, each shard counted."""
        return sum(seat.n_tasks for seat in self.seats.values())

    @property
    def running_tasks(self) -> int:
        """The same, but all shards of a task counted as one."""
        return len({task.key for seat in self.seats.values() for task in seat.tasks})

    @property
    def waiting(self) -> int:
        """Tasks that are not."""
        return len(self.backlog) + self._casualties.n_tasks + self._leavers.n_tasks

    def stop(self) -> None:
        """Ask all workers to end what they are at; nothing new may be handed out after this."""
        for seat in self.seats.values():
            if seat.reserved:
                self._casualties.suspects.append(seat.reserved)
                seat.reserved = None
        self._tell_workers(request_stop)

    def _tell_workers(self, function: Callable[..., None], *more: str) -> threading.Thread:
        """Call a function of the run's name and maybe more on all workers, of which some may not
        answer."""

        return _start(self.client.run, function, self.run.name, *more, on_error="ignore")

    def close(self) -> None:
        """Listen no more."""
        self.courier.close()
        self.shipper.close()
        # A client whose scheduler is lost has nobody to tell, and why it is lost matters more.
        with suppress(ClosedClientError, CommClosedError, OSError):
            self._tell_workers(forget_run).join(_POLL_WORKERS)
            for topic in (self.run.name, "all", MEMORY_TOPIC):
                self.client.unsubscribe_topic(topic)

    # Handing out

    def fill(self) -> None:
        """Give work to every worker that has too little of it."""
        ready = self.hosts.ready()
        staying = [s for s in self.seats.values() if not s.leaving]
        free = [s for s in staying if not s.is_alone and s.address in ready]
        free.sort(key=lambda seat: len(seat.bundles))
        # As many workers as there are suspects get nothing new, so that they become empty.
        kept = len(self._casualties.suspects)
        for seat in free[:kept]:
            if not seat.bundles and self._casualties.suspects:
                seat.reserved = self._casualties.suspects.popleft()
        for seat in staying:
            self._start_reserved(seat)
        for seat in free[kept:]:
            while len(seat.bundles) < self._depth(seat) and len(self.backlog):
                chosen, rest = self._take_load(seat)
                if chosen and chosen[0].shard is not None and seat.bundles:
                    chosen, rest = [], [*chosen, *rest]
                if rest:
                    self.backlog.give_back(rest[0].node.number, [task.number for task in rest])
                if chosen:
                    self._submit(seat, chosen, alone=False)
                elif rest:
                    break  # a shard waits for a worker that has nothing else to do

    def _depth(self, seat: Seat) -> int:
        """How many bundles a worker should have; none waits behind a shard, which may be long."""
        return 1 if any(task.shard is not None for task in seat.tasks) else self._bundling.depth

    def _take_load(self, seat: Seat) -> tuple[list[Task], list[Task]]:
        """What waits for a worker: tasks that travel together, and what comes after them.

        A shard travels by itself: another worker may be free for the next one, and that may begin
        with a better tree then.
        """
        elsewhere = {n for s in self.seats.values() if s is not seat for n in s.nodes}
        here = seat.prepared.keys()
        node = self.backlog.head(here, elsewhere)
        assert node is not None
        most = self._bundling.size(self.plan.nodes[node])
        found = self.plan.tasks_of(self.backlog.take(here, elsewhere, most))
        found = [task for task in found if self.shards.is_due(task)]
        shards = (i for i, task in enumerate(found) if task.shard is not None)
        end = max(1, next(shards, len(found)))
        return found[:end], found[end:]

    def _start_reserved(self, seat: Seat) -> None:
        """Run a suspect once its data are there, so that it is known what a death is due to."""
        task = seat.reserved
        if task is None:
            return
        if not self.shards.is_due(task):
            seat.reserved = None
            return
        future = self._prepared(seat, task.node)
        if future.status == "finished" or (
            future.status == "error" and not isinstance(future.exception(), KilledWorker)
        ):
            seat.reserved = None
            self._submit(seat, [task], alone=True)

    def _submit(self, seat: Seat, chosen: list[Task], alone: bool) -> None:
        node, number = chosen[0].node, next(self._numbers)
        future = self.client.submit(
            tasks.solve_bundle,
            self._prepared(seat, node),
            [self._with_state(task, seat) for task in chosen],
            self.run,
            number,
            key=f"solve-{self._name()}",
            workers=[seat.address],
            pure=False,
        )
        seat.bundles[future] = Bundle(number, node, chosen, alone)
        self._ready.add(future)

    def _cell(self, task: Task) -> Cell:
        solver, lam = task.solver, str(task.lam.exact)
        resumes = self._resumes or self._casualties or self._leavers
        checkpoint = question = None
        if resumes and task.shard is None:
            checkpoint = self.store.checkpoint(task.key)
        if SOLVERS[solver.name].capabilities.resumes and task.shard is None:
            block = self.plan.block_of(task.number)
            question = block.maker.key(lam, question_limits(solver.limits))
        return Cell(
            key=task.key,
            lam=lam,
            lam_label=task.lam.label,
            solver=solver.name,
            solver_version=SOLVERS[solver.name].version,
            options=solver.options,
            limits=solver.limits,
            attempt=self.store.answers.attempts(task.key) + self._casualties.deaths(task) + 1,
            checkpoint=checkpoint,
            question=question,
            shard=task.shard,
            incumbent=self.shards.incumbent(task),
        )

    def _with_state(self, task: Task, seat: Seat) -> Cell:
        """The cell of a task, and the state that it goes on from on its way to the worker."""
        cell = self._cell(task)
        if cell.question is None or not self.store.states:
            return cell
        block = self.plan.block_of(task.number)
        held = self.store.state(block, cell.lam, cell.key, cell.identity)
        if held is None:
            return cell
        token = self._name()
        done = held.reached.iterations
        self.courier.deliver(
            Parcel(cell.key, token, seat.address, held.size, done, source=held.open)
        )
        checkpoint = cell.checkpoint
        if checkpoint is None or checkpoint.seconds < held.reached.seconds:
            checkpoint = replace(held.reached, key=cell.key)
        return replace(cell, checkpoint=checkpoint, state=token)

    def _prepared(self, seat: Seat, node: Node) -> Future[Any]:
        """The encoded node on a worker; made at its first use there."""
        future = seat.prepared.get(node.number)
        if future is None:
            table = seat.tables.get(node.info.data_hash)
            if table is None:
                named = node.reference, node.info.data_hash
                there = not self.hosts.are_here
                table = self.client.submit(
                    tasks.load_or_ask if there else tasks.load,
                    *((*named, self.run) if there else named),
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

    def collect(self, timeout: float) -> list[Finished]:
        """Rows that are finished now; waits up to so many seconds for the first."""
        with self._ready.thread_condition:
            if self._ready.queue.empty() and self._events.empty():
                self._ready.thread_condition.wait(timeout)
        found: list[Finished] = []
        failed: list[Row] = [*self.shards.merged]
        self.shards.merged.clear()
        while self._ready.has_ready():
            for future, result in self._ready.next_batch(block=False):
                taken = self._take(future, result)
                if isinstance(taken, Finished):
                    found.append(taken)
                else:
                    failed += taken
        self._hear()
        self._look_at_workers()
        workers = {seat.host: seat.address for seat in self.seats.values()}
        failed += self._killed(self._casualties.judge(workers))
        self._leavers.release(self.seats.values(), self.courier.coming)
        return [*found, as_finished(failed)] if failed else found

    def _take(self, future: Future[Any], result: Any) -> Finished | list[Row]:
        for seat in self.seats.values():
            bundle = seat.bundles.get(future)
            if bundle is not None:
                break
        else:
            return []  # of a worker that is known to be lost
        if future.status == "finished":
            del seat.bundles[future]
            taken: Finished = self._finished(bundle, result)
            shard = bundle.tasks[0] if bundle.tasks[0].shard is not None else None
            return taken if shard is None or not len(taken) else self._take_shard(shard, taken)
        if future.status == "error":
            error = result[1] if isinstance(result, tuple) else result
            if isinstance(error, KilledWorker):
                self._remove(seat.address)
                return []
            del seat.bundles[future]
            text = "".join(traceback.format_exception(error))
            return [r for t in bundle.tasks for r in self._failed(t, text, Status.ERROR, seat)]
        del seat.bundles[future]
        self._return(bundle)
        return []

    def _finished(self, bundle: Bundle, result: Finished) -> Finished:
        left = bundle.tasks[len(result) :]
        self._leavers.see(bundle.tasks, result)
        self._bundling.took(bundle.node, len(bundle.tasks), len(result), result.seconds)
        self.backlog.give_back(bundle.node.number, [task.number for task in left])
        return result

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

    def _return(self, bundle: Bundle) -> None:
        if bundle.alone:
            self._casualties.suspects.extend(bundle.tasks)
        else:
            self.backlog.give_back(bundle.node.number, [task.number for task in bundle.tasks])

    def _hear(self) -> None:
        while not self._events.empty():
            event = self._events.get()
            if event.get("action") == "remove-worker":
                self._casualties.end_of(event["worker"]).stimulus = event["stimulus_id"]
                self._remove(event["worker"])
            kind = event.get("kind")
            if kind == "snapshot":
                reached = Checkpoint(**event["checkpoint"])
                if self.shards.see(reached):
                    self.snapshots.append(reached)
            elif kind == "memory":
                self._casualties.used_memory(event["key"], event["used"])
            elif kind == "overdue":
                self._casualties.ran_late(event["key"], event["ran"])
            elif kind == "state":
                self._fetch(event)
            elif kind == "bad-state":
                self.notes.append(event["text"])
                self.store.reject_state(event["key"])
            elif kind == "table":
                self.shipper.asked(event["digest"], event["address"])
            elif kind == "note":
                self.notes.append(event["text"])
            elif kind == ENDED:
                self._casualties.end_of(event["worker"]).code = event["code"]
            elif kind == MEMORY_TOPIC:
                self._casualties.end_of(event["worker"]).used = event["used"]
            elif kind == LEAVING:
                self._let_go(event["worker"])

    def _let_go(self, address: str) -> None:
        """A worker's time is about to end: it gets nothing more."""
        seat = self.seats.get(address)
        if seat is None or seat.leaving:
            return
        seat.leaving = True
        self.notes.append(f"worker {address} leaves, its time is over")
        if seat.reserved is not None:
            self._casualties.suspects.append(seat.reserved)
            seat.reserved = None

    def _fetch(self, event: dict[str, Any]) -> None:
        path = self.store.states.incoming(event["token"])
        names = ("key", "token", "address", "size", "iterations")
        self.courier.fetch(Parcel(path=path, **{name: event[name] for name in names}))

    def states(self) -> list[Parcel]:
        """The states of searches that have come from workers."""
        for tellers in (self.courier, self.shipper, self.hosts, self.store.states):
            self.notes.extend(tellers.notes())
        return self.courier.arrivals()

    def _look_at_workers(self) -> None:
        if time.monotonic() - self._polled < _POLL_WORKERS:
            return
        self._polled = time.monotonic()
        workers = self.client.scheduler_info(n_workers=-1).get("workers")
        if workers is None:  # the scheduler does not answer; the engine will see to it
            return
        self.memory = sum(w.get("metrics", {}).get("memory", 0) for w in workers.values())
        for address, worker in workers.items():
            if address not in self.seats:
                self.seats[address] = Seat(address, worker["host"])
                self.hosts.add(worker["host"], address)
        for seat in self.seats.values():
            self._watch_time(seat)
        for address in [a for a in self.seats if a not in workers]:
            self._remove(address)

    def _watch_time(self, seat: Seat) -> None:
        """End a worker whose oldest bundle has been out far beyond its limits of seconds."""
        future, bundle = next(iter(seat.bundles.items()), (None, None))
        data = None if bundle is None else seat.prepared.get(bundle.node.number)
        if bundle is None or (data is not None and data.status == "pending"):
            self._watch.forget(seat.address)
            return
        ran = self._watch.check(seat.address, future, bundle.tasks)
        if ran is not None:
            why = f"it had been at a task for {ran:.0f} s"
            self._casualties.end_of(seat.address).forced = why
            if len(bundle.tasks) == 1:
                self._casualties.ran_late(bundle.tasks[0].key, ran)

    def _remove(self, address: str) -> None:
        seat = self.seats.pop(address, None)
        if seat is None:
            return
        self.hosts.remove(seat.host, address)
        self._watch.forget(address)
        self.client.cancel(seat.futures)
        if not self._leavers.spares(seat):
            self._casualties.lost(seat)

    def _killed(self, deaths: Sequence[Death]) -> list[Row]:
        return [r for d in deaths for r in self._failed(d.task, d.error, Status.KILLED)]

    def _failed(
        self, task: Task, error: str, status: Status, seat: Seat | None = None
    ) -> list[Row]:
        """The row of a task that has failed; none if another shard of it has failed before."""
        if not self.shards.fail(task):
            return []
        if task.shard is not None:
            error = of_shard(error, task.shard)
            self._tell_workers(give_up, task.key)
        provenance = Provenance(None, seat.address if seat else None, rows.now())
        cell = self._cell(task)
        if status is Status.KILLED:
            died = max(1, self._casualties.deaths(task))
            cell = replace(cell, attempt=self.store.answers.attempts(task.key) + died)
        return [rows.failed(task.node.info, cell, provenance, error, status)]


def _start(call: Callable[..., Any], *arguments: Any, **options: Any) -> threading.Thread:
    """Ask something of all workers, of which some may not answer."""

    def ask() -> None:
        with suppress(Exception):
            call(*arguments, **options)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    return thread


def _bytes(node: Node) -> int:
    return 4 * node.info.n_rows * (node.n_features + 20)
