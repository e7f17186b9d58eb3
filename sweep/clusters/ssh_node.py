"""The program that runs on a host of an SSH cluster: ``python -P -m sweep.clusters.ssh_node``.

It reads what to do as one line of JSON from standard input, including the TLS keys, so that no
secret is in a command line, an environment or a file. It answers with lines of JSON. It ends when
standard input ends, or when no heartbeat has come from there for a while. So no worker outlives
its driver.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import dask
from distributed import Nanny, Scheduler, Security, Status

from solver.errors import one_line
from sweep.clusters.local import cores

HEARTBEAT_TIMEOUT = 600.0
"""A node ends after this many seconds without a heartbeat of its driver."""

HEARTBEAT_SECONDS = 30.0
"""Seconds between two heartbeats of the driver."""

_POLL_SECONDS = 0.5
_CLOSE_SECONDS = 5.0
_DEATH_SECONDS = 60.0


class DriverWatch:
    """Reads the driver's heartbeats from standard input."""

    def __init__(self) -> None:
        self._heard = time.monotonic()
        self._ended = False
        threading.Thread(target=self._listen, name="driver", daemon=True).start()

    def _listen(self) -> None:
        # Not from sys.stdin: this thread would hold its lock when the interpreter ends.
        while os.read(0, 4096):
            self._heard = time.monotonic()
        self._ended = True

    @property
    def is_alive(self) -> bool:
        """Whether standard input is open and the last heartbeat is recent."""
        return not self._ended and time.monotonic() - self._heard < HEARTBEAT_TIMEOUT


def main() -> int:
    """Run a scheduler or workers, as standard input says."""
    order: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    driver = DriverWatch()
    dask.config.set(order["settings"])
    try:
        asyncio.run(_serve(order, driver))
    except Exception as error:  # the driver shows any error
        why = error.__cause__ or error
        _say(error=one_line(f"{type(why).__name__}: {why}", 300))
        return 1
    return 0


async def _serve(order: dict[str, Any], driver: DriverWatch) -> None:
    listening = {"host": order["listen"], "interface": order["interface"]}
    security = Security(require_encryption=True, **order["security"])
    if order["role"] == "scheduler":
        await _schedule(listening, security, driver)
    else:
        await _work(order, listening, security, driver)


async def _schedule(listening: dict[str, Any], security: Security, driver: DriverWatch) -> None:
    scheduler = await Scheduler(
        **listening,
        port=0,
        protocol="tls://",
        security=security,
        dashboard=False,
        dashboard_address="127.0.0.1:0",
    )
    _say(address=scheduler.address)
    while driver.is_alive and scheduler.status == Status.running:
        await asyncio.sleep(_POLL_SECONDS)
    await asyncio.wait_for(scheduler.close(), _CLOSE_SECONDS)


async def _work(
    order: dict[str, Any], listening: dict[str, Any], security: Security, driver: DriverWatch
) -> None:
    names = [f"{order['name']}-{i}" for i in range(order["workers"] or cores())]

    def nanny(name: str) -> Nanny:
        return Nanny(
            order["scheduler"],
            **listening,
            nthreads=1,
            name=name,
            memory_limit=order["memory_limit"] or "auto",
            local_directory=order["local_directory"],
            protocol="tls://",
            security=security,
            death_timeout=_DEATH_SECONDS,
            dashboard=False,
            dashboard_address="127.0.0.1:0",
        )

    nannies = [nanny(name) for name in names]
    try:
        await asyncio.gather(*nannies)
        _say(workers=len(nannies))
        while driver.is_alive:
            await asyncio.sleep(_POLL_SECONDS)
            # A nanny replaces its worker, but ends if the worker dies while starting.
            for i, one in enumerate(nannies):
                if one.status in (Status.closed, Status.failed):
                    nannies[i] = nanny(names[i])
                    await nannies[i]
    finally:
        await _close(nannies)


async def _close(nannies: Sequence[Nanny]) -> None:
    closing = [asyncio.ensure_future(one.close(timeout=1)) for one in nannies]
    await asyncio.wait(closing, timeout=_CLOSE_SECONDS)


def _say(**what: Any) -> None:
    print(json.dumps({"treesweep": what}), flush=True)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # A normal exit would wait for worker processes that hang. They end with their parent.
    os._exit(code)
