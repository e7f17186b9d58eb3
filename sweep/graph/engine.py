"""Running a sweep: plan → workers → store."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from distributed.client import ClosedClientError

from solver.solution import Status
from sweep.clusters import Cluster, Local, open_cluster, reach_cluster
from sweep.clusters.liveness import ClusterWatch
from sweep.clusters.main_guard import leave_if_imported
from sweep.clusters.worker_admission import check_workers
from sweep.events import Listener, Outcome, Progress, Silent
from sweep.filesystem import Place, is_remote, open_folder
from sweep.graph.backlog import Backlog
from sweep.graph.interrupt import Interrupts
from sweep.graph.shards import backlog_of
from sweep.graph.submission_window import Window
from sweep.graph.time_left import TimeLeft
from sweep.plan.plan import Plan, make_plan
from sweep.plan.software_versions import fingerprint
from sweep.rows.optimality_gaps import checkpoint_gap, largest_gap_of_all
from sweep.rows.result_rows import Finished, checkpoint_of
from sweep.spec.spec import SweepFile
from sweep.store import store as stores
from sweep.store.plan_file import survey
from sweep.store.store import Store
from sweep.store.sweep_status import answered_gap
from sweep.store.write_retries import RetryingWriter
from sweep.worker import tasks
from sweep.worker.run_settings import GRACE, LARGEST_STATE, Run
from sweep.worker.worker_process import name_run

CHECKPOINT_SECONDS = 30.0

_FAILED = pa.array([status.value for status in Status if not status.has_tree])
_LIMITED = pa.array([status.value for status in Status if status.is_limit])

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
        if len(remaining):
            backlog = backlog_of(plan, remaining)
            run = Run(
                name_run(_full_name(out)),
                checkpoint_seconds,
                largest_state=largest_state,
                grace=grace,
                fingerprint={} if cluster.is_here else fingerprint(),
            )
            time_left = TimeLeft.of(plan, remaining)
            session = _Session(plan, store, listener, answered, began, run, time_left)
            session.run(backlog, cluster)
            outcome = session.outcome()
        else:
            outcome = Outcome(answered, answered, 0, 0, 0, plan.n_impossible, False, 0.0)
    listener.ended(outcome)
    return outcome


def resume_sweep(
    out: Place,
    cluster: Cluster | None = None,
    *,
    listener: Listener | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    largest_state: int = LARGEST_STATE,
    grace: float = GRACE,
) -> Outcome:
    """Go on with the sweep that a folder holds; as :func:`run_sweep`."""
    return run_sweep(
        stores.stored_sweep(out),
        out,
        cluster,
        listener=listener,
        checkpoint_seconds=checkpoint_seconds,
        largest_state=largest_state,
        grace=grace,
    )


def _full_name(out: Place) -> str:
    """What tells a store from those of all who use the same workers."""
    return str(out) if is_remote(out) else f"{socket.gethostname()}:{Path(out).resolve()}"


def _count(statuses: pa.Array, wanted: pa.Array) -> int:
    return int(pc.sum(pc.is_in(statuses, wanted)).as_py())


class _Session:
    """One run: the loop, and the numbers that it keeps for displays."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        listener: Listener,
        answered: int,
        began: float,
        terms: Run,
        time_left: TimeLeft,
    ) -> None:
        self.plan, self.store, self.listener = plan, store, listener
        self.answered, self.began = answered, began
        self.terms, self.time_left = terms, time_left
        self.ran = self.failed = self.limited = 0
        self.interrupted = False
        self.worst_gap = answered_gap(store.folder) if answered else None
        self._open_gaps: dict[str, float] = {}
        self.writer = RetryingWriter(store, listener.note)
        self._told = self._beaten = 0.0
        self._dashboard: str | None = None

    def run(self, backlog: Backlog, cluster: Cluster) -> None:
        """Work until nothing is left or Ctrl-C was pressed."""
        with ExitStack() as stack:
            interrupts = stack.enter_context(Interrupts(self.listener.aborted))
            for solver in self.plan.solvers:
                tasks.warm_up(solver)
            client = stack.enter_context(open_cluster(cluster))
            if not cluster.is_here:
                check_workers(client)
            self._dashboard = cluster.dashboard(client)
            if self._dashboard is not None:
                self.listener.note(f"Dask's dashboard: {self._dashboard}")
            window = Window(
                client,
                self.plan,
                self.store,
                backlog,
                self.terms,
                cluster.is_here,
                cluster.most_workers,
            )
            stack.callback(window.close)
            monitor = ClusterWatch(client, cluster, self.listener)
            try:
                self._loop(window, monitor, interrupts)
            except (OSError, RuntimeError, ClosedClientError):
                monitor.check(1, 1)  # says it better if the scheduler is lost
                raise
            self.interrupted |= not self.writer.finish(lambda: interrupts.requested)
            self._tell(window, last=True)

    def _loop(self, window: Window, monitor: ClusterWatch, interrupts: Interrupts) -> None:
        while window.out or window.transfers.coming or (window.waiting and not self.interrupted):
            if interrupts.requested and not self.interrupted:
                self.interrupted = True
                self.listener.note("stopping: running searches end and are kept")
                window.stop()
            if not self.interrupted and not self.writer.is_full:
                window.fill()
            for finished in window.collect(_TICK):
                self._take(finished)
            self._keep_snapshots(window)
            self._keep_states(window)
            while window.shards.kept:
                self.writer.keep_shard(*window.shards.kept.popleft())
            self.writer.write()
            monitor.check(
                window.n_willing,
                window.waiting + window.out,
            )
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
        if self._open_gaps:
            for key in finished.keys:
                self._open_gaps.pop(key, None)
        status = finished.rows["status"]
        stopped = pc.equal(status, Status.STOPPED.value)
        if pc.any(stopped).as_py():
            for row in finished.rows.filter(stopped).to_pylist():
                self.writer.keep(checkpoint_of(row))
            finished = finished.where(pc.invert(stopped))
        if not len(finished):
            return
        self.store.add(finished)
        self.ran += len(finished)
        self.failed += _count(finished.rows["status"], _FAILED)
        self.limited += _count(finished.rows["status"], _LIMITED)
        self.time_left.take(finished.rows)
        gap = largest_gap_of_all(finished.rows)
        if gap is not None:
            self.worst_gap = max(gap, self.worst_gap or gap)
        self.listener.finished(finished.rows)

    def _keep_snapshots(self, window: Window) -> None:
        while window.snapshots:
            checkpoint = window.snapshots.popleft()
            answer = self.store.answers.get(checkpoint.key)
            if answer is None or not answer.status.has_tree:  # else it came late
                self.writer.keep(checkpoint)
                gap = checkpoint_gap(checkpoint, window.lam_of(checkpoint.key))
                self._open_gaps[checkpoint.key] = float(gap)

    def _keep_states(self, window: Window) -> None:
        for transfer in window.states():
            self.writer.keep_state(transfer.key, transfer.path, transfer.iterations)

    def _tell(self, window: Window, last: bool = False) -> None:
        now = time.monotonic()
        if not last and now - self._told < _TELL:
            return
        self._told = now
        while window.notes:
            self.listener.note(window.notes.popleft())
        progress = self._progress(window, now, active=not last)
        self.listener.progress(progress)
        if last or now - self._beaten > _BEAT:
            self._beaten = now
            self.writer.check_lease()
            self.store.lease.beat(asdict(progress))

    def _progress(self, window: Window, now: float, active: bool) -> Progress:
        seconds = now - self.began
        rate = self.ran / seconds if seconds > 0 else 0.0
        gaps = [*self._open_gaps.values()]
        if self.worst_gap is not None:
            gaps.append(self.worst_gap)
        done, shards = window.shards.counts
        return Progress(
            active=active,
            total=self.plan.n_tasks,
            answered=self.answered,
            done=self.answered + self.ran - self.failed,
            failed=self.failed,
            running=window.running,
            seconds=seconds,
            rate=rate,
            eta=self.time_left.estimate(seconds),
            worst_gap=max(gaps, default=None),
            workers=window.n_workers,
            memory=window.memory,
            shards_done=done,
            shards=shards,
            dashboard=self._dashboard,
        )
