"""The program of a machine that was reached by SSH: ``python -P -m sweep.clusters.ssh_node``.

It takes its order as one line of JSON from standard input, certificates among it, so that no
secret is on a command line, in an environment or in a file. It answers with lines of JSON, and
ends when standard input does, or when nothing has come from there for a while: a machine whose
driver is gone keeps no worker.
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
from distributed import Nanny, Scheduler, Security
from distributed.core import Status

from solver.errors import one_line
from sweep.clusters.local import cores

LEASH_SECONDS = 600.0
"""How long a node goes on without a sign of its driver."""

BEAT_SECONDS = 30.0
"""How often the driver gives one."""

_LOOK_SECONDS = 0.5
_CLOSE_SECONDS = 5.0
_DEATH_SECONDS = 60.0


class Leash:
    """Whether the other end of standard input is there."""

    def __init__(self) -> None:
        self._heard = time.monotonic()
        self._ended = False
        threading.Thread(target=self._listen, name="leash", daemon=True).start()

    def _listen(self) -> None:
        # Not by sys.stdin, whose lock this thread would hold when the interpreter ends.
        while os.read(0, 4096):
            self._heard = time.monotonic()
        self._ended = True

    @property
    def is_held(self) -> bool:
        """Whether to go on."""
        return not self._ended and time.monotonic() - self._heard < LEASH_SECONDS


def main() -> int:
    """Do what standard input says."""
    order: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    leash = Leash()
    dask.config.set(order["settings"])
    try:
        asyncio.run(_serve(order, leash))
    except Exception as error:  # the driver shows it, whatever it is
        why = error.__cause__ or error
        _say(error=one_line(f"{type(why).__name__}: {why}", 300))
        return 1
    return 0


async def _serve(order: dict[str, Any], leash: Leash) -> None:
    listening = {"host": order["listen"], "interface": order["interface"]}
    security = Security(require_encryption=True, **order["security"])
    if order["role"] == "scheduler":
        await _schedule(listening, security, leash)
    else:
        await _work(order, listening, security, leash)


async def _schedule(listening: dict[str, Any], security: Security, leash: Leash) -> None:
    scheduler = await Scheduler(
        **listening,
        port=0,
        protocol="tls://",
        security=security,
        dashboard=False,
        dashboard_address="127.0.0.1:0",
    )
    _say(address=scheduler.address)
    while leash.is_held and scheduler.status == Status.running:
        await asyncio.sleep(_LOOK_SECONDS)
    await asyncio.wait_for(scheduler.close(), _CLOSE_SECONDS)


async def _work(
    order: dict[str, Any], listening: dict[str, Any], security: Security, leash: Leash
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
        while leash.is_held:
            await asyncio.sleep(_LOOK_SECONDS)
            # A nanny replaces its worker, but gives up one that dies while it is being started.
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
    # At once: a worker process that does not end would be waited for. It ends with its parent.
    os._exit(code)
