"""How the processes of workers ended: what their nannies tell, and that in words."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from distributed import Nanny, NannyPlugin, Status

from sweep.worker.fork_server import let_one_thread_read_each_exit_code
from sweep.worker.worker_watchdogs import MEMORY_EXIT, TIME_EXIT

ENDED = "worker-ended"
"""The kind of the event by which a nanny tells how its worker's process ended."""

GUARDED = "guarded"
"""The kind of the event of a worker that a guard of ours ends for the sake of a task."""

_TELL_SECONDS = 5.0

MEMORY_TOPIC = "worker-restart-memory"
"""Dask's topic of workers that their nannies end for want of memory."""

_LOST_EXIT = 255  # what Dask and Python tell when nobody knows the exit code
_FROM_OUTSIDE = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})

_REMOVALS = {
    "handle-worker-cleanup": "the scheduler lost the connection to it",
    "worker-send-comm-fail": "the scheduler could not send to it",
    "send-all-comm-fail": "the scheduler could not send to it",
    "retire-workers": "somebody retired it",
    "nanny-close": "its nanny reported its end",
}


@dataclass(eq=False)
class End:
    """What is known of how a worker ended.

    Parameters
    ----------
    code : int or None
        The exit code of its process; minus the number of a signal.
    used : int or None
        Bytes of memory for which its nanny ended it.
    stimulus : str
        Why the scheduler has removed it, in Dask's words.
    silent : bool
        Whether Dask has ended it because it sent no heartbeat.
    task, why : str
        The key of the task for whose sake a guard of ours has ended it, and the reason.
    is_final : bool
        Whether that task is not to be run again.
    """

    code: int | None = None
    used: int | None = None
    stimulus: str = ""
    silent: bool = False
    task: str = ""
    why: str = ""
    is_final: bool = False

    @property
    def is_foreign(self) -> bool:
        """Whether somebody ended a worker that was well: nothing that it was at is to blame."""
        if self.used is not None or self.code is None or self.silent:
            return False
        return self.code in (0, _LOST_EXIT) or -self.code in _FROM_OUTSIDE

    def __str__(self) -> str:
        """What the process did: goes on from ``the worker``."""
        if self.used is not None:
            used = f"{self.used / 2**20:,.0f} MiB"
            return f"was ended by its nanny: it used {used}, near the worker's memory_limit"
        if self.silent:
            return "was ended by Dask: it sent no heartbeat for 'distributed.scheduler.worker-ttl'"
        if self.code is None:
            return f"was removed: {self._removal}; how its process ended is not known"
        if self.code < 0:
            return f"was killed by signal {-self.code} ({_signal_name(-self.code)})"
        return _CODES.get(self.code, f"ended with exit code {self.code}")

    @property
    def _removal(self) -> str:
        for start, text in _REMOVALS.items():
            if self.stimulus.startswith(start):
                return text
        return f"the scheduler removed it ({self.stimulus or 'it does not say why'})"


_CODES = {
    0: "was asked to end, and did (exit code 0)",
    MEMORY_EXIT: f"was ended by treesweep's guard of memory (exit code {MEMORY_EXIT})",
    TIME_EXIT: f"was ended by treesweep's guard of time (exit code {TIME_EXIT})",
    _LOST_EXIT: f"ended, or its fork server did: how is not known (exit code {_LOST_EXIT})",
}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "not known here"


def told_ends(event: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What an event of Dask or ours tells of how workers end: fields of :class:`End` by address."""
    if event.get("action") == "remove-worker":
        return {event["worker"]: {"stimulus": event["stimulus_id"]}}
    if event.get("action") == "worker-ttl-timed-out":
        return {address: {"silent": True} for address in event["workers"]}
    if event.get("kind") == ENDED:
        return {event["worker"]: {"code": event["code"]}}
    if event.get("kind") == GUARDED:
        return {event["worker"]: {name: event[name] for name in ("task", "why", "is_final")}}
    if "rss" in event:  # of MEMORY_TOPIC
        return {event["worker"]: {"used": event["rss"]}}
    return {}


class TellExits(NannyPlugin):
    """Lets nannies tell how their workers' processes ended."""

    name = "treesweep-exits"

    def setup(self, nanny: Nanny) -> None:
        """Called in every nanny, also once more by the next driver."""
        # Dask has no hook for it; a Dask without this method makes exits unknown, no more.
        if hasattr(nanny, "_on_worker_exit"):
            nanny._on_worker_exit = partial(_tell, nanny)  # type: ignore[method-assign]
            let_one_thread_read_each_exit_code()


async def _tell(nanny: Nanny, code: int) -> None:
    if nanny.status not in (Status.closing, Status.closed, Status.failed):
        event = {"kind": ENDED, "worker": nanny.worker_address, "code": code}
        with suppress(OSError):  # the scheduler is gone, or does not answer
            call = nanny.scheduler.log_event(topic="all", msg=event)
            await asyncio.wait_for(call, _TELL_SECONDS)
    await type(nanny)._on_worker_exit(nanny, code)
