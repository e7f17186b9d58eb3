"""The three steps of the Dask graph: load a dataset, encode it, solve a batch.

Each step tells the driver when it begins and ends. If the worker dies, the driver then knows which
of the tasks that were sent there was running.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from distributed import Reschedule, Worker, get_worker

from solver.errors import InputError
from sweep.datasets import Dataset
from sweep.datasets.dataset_reference import DatasetRef
from sweep.plan.plan import Node
from sweep.plan.software_versions import fingerprint
from sweep.rows.result_rows import Cell, Finished
from sweep.spec.requested_outputs import asks_division
from sweep.worker import tasks
from sweep.worker.run_settings import Run
from sweep.worker.stop_requests import is_leaving, is_over
from sweep.worker.timed_batch import REST

AT = "at"
"""The kind of the event that tells which step a worker begins: its key, or :data:`NOTHING`; None
when the step has ended."""

NOTHING = ""
"""In place of a key: the worker gives back what it is sent."""

SEARCHES = "searches"
"""The kind of the event that tells that tasks which may be divided begin: all code is compiled."""

REFUSED = "refused"
"""The kind of the event of a worker with other versions than the driver's."""

_SEND_SECONDS = 0.05
_RETRY_SECONDS = 0.5


class UnreadableError(InputError):
    """A worker cannot read a dataset; the driver must send it."""


def load(
    run: Run, suspect: bool, reference: DatasetRef, digest: str, sent: Dataset | str | None
) -> Dataset:
    """Read a dataset.

    Parameters
    ----------
    run : Run
    suspect : bool
        Whether a worker has died in this step before.
    reference : DatasetRef
    digest : str
        The digest of the dataset's content.
    sent : Dataset or str or None
        The dataset if the driver sends it, or why the driver cannot; None to read it here.

    Raises
    ------
    UnreadableError
        If it cannot be read here.
    InputError
        If the driver cannot read it either.
    """
    with _step(run, suspect):
        if isinstance(sent, str):
            raise InputError(sent)
        if sent is not None:
            return sent
        try:
            return tasks.load(reference, digest)
        except InputError as error:
            raise UnreadableError(str(error)) from None


def encode(run: Run, suspect: bool, dataset: Dataset, node: Node) -> tasks.Prepared:
    """Encode the training rows of a fold; parameters as :func:`load`."""
    with _step(run, suspect):
        return tasks.prepare(dataset, node)


def solve(run: Run, suspect: bool, prepared: tasks.Prepared, cells: Sequence[Cell]) -> Finished:
    """Solve some cells of a node; parameters as :func:`load`, result as
    :func:`sweep.worker.tasks.solve_batch`."""
    with _step(run, suspect) as (worker, key):
        for solver in sorted({cell.solver for cell in cells}):
            tasks.warm_up(solver)
        if any(asks_division(cell.options) for cell in cells):
            worker.log_event(run.name, {"kind": SEARCHES, "worker": worker.address, "key": key})

        def give_back(begun: int) -> None:
            worker.log_event(run.name, {"kind": REST, "key": key, "begun": begun})

        return tasks.solve_batch(prepared, cells, run, give_back)


@contextmanager
def _step(run: Run, suspect: bool) -> Iterator[tuple[Worker, str]]:
    """Tell the driver that this step begins and ends, or send the step to another worker."""
    worker = get_worker()
    key = str(worker.get_current_task())
    differs = bool(run.fingerprint) and fingerprint() != run.fingerprint
    if differs:
        event = {"kind": REFUSED, "worker": worker.address, "fingerprint": fingerprint()}
        worker.log_event(run.name, event)
    if differs or (is_leaving() and not is_over(run.name)):
        _tell(worker, run, NOTHING)
        time.sleep(_RETRY_SECONDS)  # this worker may be asked again until the driver retires it
        raise Reschedule
    _tell(worker, run, key)
    if suspect:
        time.sleep(_SEND_SECONDS)  # so that the event has left before the worker dies
    try:
        yield worker, key
    finally:
        _tell(worker, run, None)


def _tell(worker: Worker, run: Run, key: str | None) -> None:
    worker.log_event(run.name, {"kind": AT, "worker": worker.address, "key": key})
