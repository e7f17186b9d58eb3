"""Running a sweep: plan → workers → store."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from solver.solution import Status
from sweep.clusters import Cluster, Local, open_cluster, reach_cluster
from sweep.clusters.liveness import ClusterWatch
from sweep.clusters.main_guard import leave_if_imported
from sweep.clusters.worker_admission import check_workers
from sweep.events import Listener, Outcome, Progress, Silent
from sweep.filesystem import Place, is_remote, open_folder
from sweep.graph.backlog import Backlog
from sweep.graph.interrupt import Interrupts
from sweep.graph.sharded_tasks import backlog_of
from sweep.graph.submit_and_collect import Window
from sweep.graph.time_left import TimeLeft
from sweep.plan.plan import Plan, make_plan
from sweep.plan.software_versions import fingerprint
from sweep.rows.largest_path_gap import checkpoint_gap, largest_gap_of_all
from sweep.rows.result_rows import Checkpoint, Finished
from sweep.spec.spec import SweepFile
from sweep.store import store as stores
from sweep.store.plan_file import survey
from sweep.store.store import Store
from sweep.store.sweep_status import answered_gap
from sweep.store.write_retries import RetryingWriter
from sweep.worker import tasks
from sweep.worker.run_settings import GRACE, LARGEST_STATE, Run
from sweep.worker.stop_requests import name_run

CHECKPOINT_SECONDS = 30.0

_TICK = 0.2
_TELL = 0.5
_BEAT = 1.0


def run_sweep(
    sweep: SweepFile,
    out: Place,
    cluster: Cluster | None = None,
    *,
    listener: Listener | None = None,
    plan: Plan | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    largest_state: int = LARGEST_STATE,
    grace: float = GRACE,
) -> Outcome:
    """Run all tasks of a sweep that its folder does not answer yet.

    The first Ctrl-C (or SIGTERM) lets running searches stop and keeps what they have; the second
    one ends the process at once. Both leave a folder that :func:`resume_sweep` goes on with.

    A program that uses workers of this machine calls it under ``if __name__ == "__main__":``.

    Parameters
    ----------
    sweep : SweepFile
        From :func:`sweep.spec.spec.load_spec`.
    out : str or Path
        The sweep's folder, or where it is on S3: ``s3://bucket/prefix``.
    cluster : Cluster, optional
        From :func:`sweep.clusters.load_cluster`; by default a worker a core of this machine.
    listener : Listener, optional
    plan : Plan, optional
        The sweep's plan, if it has been made already.
    checkpoint_seconds : float
        How often a running search is kept.
    largest_state : int
        Bytes of the file of a search's state, beyond which only its best tree and bound are kept.
    grace : float
        Seconds beyond one and a half times its limit after which a search that hangs is ended,
        and its worker with it.

    Raises
    ------
    InputError
        If anything about the sweep, the folder or the cluster is wrong. Nothing has been run
        then, unless the disk is full or the scheduler is lost on the way; what was finished by
        then is stored.
    """
    leave_if_imported()
    began = time.monotonic()
    listener = listener or Silent()
    plan = plan or make_plan(sweep)
    cluster = cluster or Local()
    if not open_folder(out).exists(stores.MANIFEST):
        reach_cluster(cluster)  # One that cannot be reached should leave no folder behind.
    with stores.create(out, sweep, listener.note) as store:
        remaining, answered = survey(plan, store)
        listener.planned(plan, len(remaining))
        for line in plan.readings:
            listener.note(line)
        session = _Session(plan, store, listener, answered, began, TimeLeft(plan, remaining))
        if len(remaining):
            run = Run(
                name_run(_full_name(out)),
                checkpoint_seconds,
                largest_state=largest_state,
                grace=grace,
                fingerprint={} if cluster.is_here else fingerprint(),
            )
            session.run(backlog_of(plan, remaining), cluster, run)
        outcome = session.outcome()
    listener.ended(outcome)
    return outcome


def resume_sweep(out: Place, cluster: Cluster | None = None, **more: Any) -> Outcome:
    """Go on with the sweep that a folder holds; as :func:`run_sweep`, with its other arguments."""
    return run_sweep(stores.stored_sweep(out), out, cluster, **more)


def _full_name(out: Place) -> str:
    """What tells a store from those of all who use the same workers."""
    return str(out) if is_remote(out) else f"{socket.gethostname()}:{Path(out).resolve()}"


@dataclass
class _Session:
    """One run: the loop, and the numbers that it keeps for displays."""

    plan: Plan
    store: Store
    listener: Listener
    answered: int
    began: float
    time_left: TimeLeft
    ran: int = 0
    failed: int = 0
    limited: int = 0
    interrupted: bool = False
    told: float = 0.0
    beaten: float = 0.0
    dashboard: str | None = None

    def __post_init__(self) -> None:
        self.worst_gap = answered_gap(self.store.folder) if self.answered else None
        self.open_gaps: dict[str, float] = {}
        self.writer = RetryingWriter(self.store, self.listener.note)

    def run(self, backlog: Backlog, cluster: Cluster, run: Run) -> None:
        """Work until nothing is left or Ctrl-C was pressed."""
        with ExitStack() as stack:
            interrupts = stack.enter_context(Interrupts(self.listener.aborted))
            for solver in self.plan.solvers:
                tasks.warm_up(solver)
            client = stack.enter_context(open_cluster(cluster))
            if not cluster.is_here:
                check_workers(client)
            self.dashboard = cluster.dashboard(client)
            if self.dashboard is not None:
                self.listener.note(f"Dask's dashboard: {self.dashboard}")
            watch = ClusterWatch(client, cluster, self.listener)
            window = Window(watch, self.plan, self.store, backlog, run)
            stack.callback(window.close)
            try:
                self._loop(window, interrupts)
            except Exception:
                watch.check(1, 1)  # says it better if the scheduler is lost
                raise
            self.interrupted |= not self.writer.finish(lambda: interrupts.requested)
            self._tell(window, last=True)

    def _loop(self, window: Window, interrupts: Interrupts) -> None:
        while window.out or window.transfers.coming or (window.waiting and not self.interrupted):
            if interrupts.requested and not self.interrupted:
                self.interrupted = True
                self.listener.note("stopping: running searches end and are kept")
                window.stop()
            if not self.interrupted and not self.writer.is_full:
                window.fill()
            for finished in window.collect(_TICK):
                self._take(finished)
            while window.snapshots:
                self._keep(window.snapshots.popleft(), window)
            for transfer in window.transfers.arrivals():
                self.writer.keep_state(transfer.key, transfer.path, transfer.iterations)
            while window.shards.kept:
                self.writer.keep_shard(*window.shards.kept.popleft())
            self.writer.write()
            window.watch.check(window.watch.n_willing, window.waiting + window.out)
            self._tell(window)

    def outcome(self) -> Outcome:
        """What came of it."""
        return Outcome(
            total=self.plan.n_tasks,
            answered=self.answered,
            ran=self.ran,
            failed=self.failed,
            limited=self.limited,
            impossible=self.plan.n_impossible,
            interrupted=self.interrupted,
            seconds=time.monotonic() - self.began,
        )

    def _take(self, finished: Finished) -> None:
        if self.open_gaps:
            for key in finished.keys:
                self.open_gaps.pop(key, None)
        if not len(finished):
            return
        self.store.add(finished)
        statuses = [*map(Status, finished.rows["status"].to_pylist())]
        self.ran += len(statuses)
        self.failed += sum(not status.has_tree for status in statuses)
        self.limited += sum(status.is_limit for status in statuses)
        self.time_left.take(finished.rows)
        gap = largest_gap_of_all(finished.rows)
        if gap is not None:
            self.worst_gap = max(gap, self.worst_gap or gap)
        self.listener.finished(finished.rows)

    def _keep(self, checkpoint: Checkpoint, window: Window) -> None:
        answer = self.store.answers.get(checkpoint.key)
        if answer is None or not answer.status.has_tree:  # else it came late
            self.writer.keep(checkpoint)
            gap = checkpoint_gap(checkpoint, window.lam_of(checkpoint.key))
            self.open_gaps[checkpoint.key] = float(gap)

    def _tell(self, window: Window, last: bool = False) -> None:
        now = time.monotonic()
        if not last and now - self.told < _TELL:
            return
        self.told = now
        while window.notes:
            self.listener.note(window.notes.popleft())
        progress = self._progress(window, now, active=not last)
        self.listener.progress(progress)
        if last or now - self.beaten > _BEAT:
            self.beaten = now
            self.writer.check_lease()
            self.store.lease.beat(asdict(progress))

    def _progress(self, window: Window, now: float, active: bool) -> Progress:
        seconds = now - self.began
        gaps = [gap for gap in (self.worst_gap, *self.open_gaps.values()) if gap is not None]
        done, shards = window.shards.counts
        return Progress(
            active=active,
            total=self.plan.n_tasks,
            answered=self.answered,
            done=self.answered + self.ran - self.failed,
            failed=self.failed,
            running=window.running,
            seconds=seconds,
            rate=self.ran / max(seconds, 1e-9),
            eta=self.time_left.estimate(seconds),
            worst_gap=max(gaps, default=None),
            workers=window.watch.n_workers,
            memory=window.watch.memory,
            shards_done=done,
            shards=shards,
            dashboard=self.dashboard,
        )
