"""Refuse to begin with workers whose code or libraries could change a result.

Workers that come later check themselves, see :mod:`sweep.worker.dask_steps`.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

from distributed import Client, Future, KilledWorker

from solver.errors import InputError, one_line
from sweep.clusters.base import connected_workers
from sweep.plan.software_versions import difference, fingerprint

ANSWER_TIMEOUT = 30.0
"""Seconds to wait for the answers of all workers that are connected at the start."""

_POLL = 0.05


def check_workers(client: Client) -> None:
    """Compare the versions of all connected workers with ours, before the sweep starts.

    A worker that is too busy to answer is asked again when the sweep runs. Raises InputError if a
    worker cannot run treesweep or has other versions.
    """
    name = f"ready-{uuid.uuid4().hex}"
    answers = {
        address: client.submit(fingerprint, key=f"{name}-{i}", workers=[address], pure=False)
        for i, address in enumerate(connected_workers(client) or {})
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
