"""Who killed a worker: of all cells that were handed to it, the one that it was at.

A cell that a worker was at when it died is run once more, alone; the others go back to those that
wait. The worker's own note says which it was, see :mod:`sweep.worker.current_task`; its nanny says
how the process ended, see :mod:`sweep.graph.worker_exits`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from distributed import Client

from sweep.graph.worker_slots import Seat
from sweep.worker.current_task import Record, read_record

PATIENCE = 20.0
"""Seconds to wait for another worker on the machine of one that died."""

EXIT_PATIENCE = 10.0
"""Seconds to wait for the word of a dead worker's nanny, which may have died as well."""


class Handed(NamedTuple):
    """A bundle that was handed to a worker that died."""

    number: int
    tasks: Sequence[Any]


class Verdict(NamedTuple):
    """What is to become of a dead worker's tasks.

    Parameters
    ----------
    suspect : object or None
        The task to be run alone; None if the worker was at none of those that were not alone.
    bystanders : list
        Tasks that had not begun, or had ended.
    is_known : bool
        Whether the worker's own note says so.
    """

    suspect: Any
    bystanders: list[Any]
    is_known: bool


@dataclass(eq=False)
class _Inquest:
    seat: Seat
    bundles: list[Handed]
    asked: str | None = None
    answers: list[Record | None] = field(default_factory=list)
    since: float = field(default_factory=time.monotonic)


class Inquests:
    """Those that are open.

    Parameters
    ----------
    client : Client
    run : str
        The run's name.
    """

    def __init__(self, client: Client, run: str) -> None:
        self._client, self._run = client, run
        self._open: list[_Inquest] = []

    @property
    def n_tasks(self) -> int:
        """Tasks of which it is not known yet what is to become."""
        return sum(inquest.seat.n_tasks for inquest in self._open)

    def begin(self, seat: Seat) -> None:
        """A worker has died; of its bundles, the first was its turn."""
        handed = [Handed(b.number, b.tasks) for b in seat.bundles.values() if not b.alone]
        self._open.append(_Inquest(seat, handed))

    def end(
        self, workers: Mapping[str, str], is_told: Callable[[str], bool]
    ) -> list[tuple[Seat, Verdict]]:
        """The verdicts that can be given by now, each with the seat of the dead worker.

        Parameters
        ----------
        workers : mapping
            Of each host a worker.
        is_told : callable
            Whether the worker of an address is known to have ended, and how.
        """
        verdicts = []
        for inquest in list(self._open):
            waited = time.monotonic() - inquest.since
            witness = workers.get(inquest.seat.host)
            if inquest.answers or not inquest.bundles or waited > PATIENCE:
                if is_told(inquest.seat.address) or waited > EXIT_PATIENCE:
                    self._open.remove(inquest)
                    record = next(iter(inquest.answers), None)
                    verdicts.append((inquest.seat, judge(inquest.bundles, record)))
            elif witness is not None and witness != inquest.asked:
                inquest.asked = witness
                # A daemon: a worker that does not answer must not keep the driver.
                threading.Thread(target=self._ask, args=(inquest, witness), daemon=True).start()
        return verdicts

    def _ask(self, inquest: _Inquest, witness: str) -> None:
        with suppress(Exception):  # it has died as well: another one is asked, or none
            found = self._client.run(
                read_record, self._run, inquest.seat.address, workers=[witness]
            )
            inquest.answers.append(found[witness])


def judge(bundles: Sequence[Handed], record: Record | None) -> Verdict:
    """Which task a worker was at that had these bundles.

    If its note names none of them, it was reading or encoding the data of the first one: then the
    first task stands for those data.
    """
    suspect = bundles[0].tasks[0] if bundles else None
    for bundle in bundles:
        if record is not None and bundle.number == record.bundle:
            suspect = bundle.tasks[record.place]
    others = [task for bundle in bundles for task in bundle.tasks if task is not suspect]
    return Verdict(suspect, others, record is not None)
