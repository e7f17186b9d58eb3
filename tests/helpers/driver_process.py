"""Run or resume a sweep in a process of its own, with the misbehaving solvers at hand.

python -m tests.helpers.driver_process run SPEC OUT WHERE CHECKPOINT_SECONDS LARGEST_STATE GRACE
python -m tests.helpers.driver_process resume - OUT WHERE CHECKPOINT_SECONDS LARGEST_STATE GRACE

WHERE is a number of workers here, a scheduler's address or a cluster.yaml.

python -m tests.helpers.driver_process --serve SOCKET

forks such processes for those who ask at the socket.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import dask

from solver.errors import InputError
from sweep.clusters import Address, Cluster, Local, load_cluster
from sweep.events import Progress, Silent
from sweep.graph.engine import resume_sweep, run_sweep
from sweep.graph.failure_attribution import Failures
from sweep.spec.spec import load_spec
from sweep.worker.dask_steps import AT
from tests.helpers import (
    PATIENCE,
    faulty_solvers,  # the last: it changes what others import
)
from tests.helpers.forked_treesweep import serve


class Told(Silent):
    """Prints what happens, so that a test knows when to strike.

    It leaves a mark of what each worker is at, when all that came before must have been taken: it
    was heard two rounds ago.
    """

    def __init__(self) -> None:
        self._scratch = Path(os.environ[faulty_solvers.SCRATCH])
        self._heard: list[tuple[str, str]] = []
        self._before: list[tuple[str, str]] = []
        hear = Failures.hear

        def hear_too(failures: Failures, event: Mapping[str, Any]) -> None:
            hear(failures, event)
            if event.get("kind") == AT:
                self._heard.append((event["worker"].rpartition(":")[2], str(event["key"])))

        Failures.hear = hear_too  # type: ignore[method-assign]

    def progress(self, progress: Progress) -> None:
        print(f"progress {progress.done} {progress.running} {progress.workers}", flush=True)
        for port, key in self._before:
            new = self._scratch / f"new-{port}"
            new.write_text(key)
            new.replace(self._scratch / faulty_solvers.HEARD.format(port))
        self._before, self._heard = self._heard, []

    def note(self, text: str) -> None:
        print(f"note {text}", flush=True)


def main() -> int:
    faulthandler.dump_traceback_later(PATIENCE - 20)  # where it hangs, if it does
    command, spec, out, where, seconds, largest, grace = sys.argv[1:]
    if where.isdigit():
        cluster: Cluster = Local(workers=int(where))
    elif where.endswith(".yaml"):
        cluster = load_cluster(where)
    else:
        cluster = Address(kind="address", address=where, insecure=True)
    terms: dict[str, Any] = {
        "checkpoint_seconds": float(seconds),
        "largest_state": int(largest),
        "grace": float(grace),
    }
    try:
        if command == "run":
            outcome = run_sweep(load_spec(spec), out, cluster, listener=Told(), **terms)
        else:
            outcome = resume_sweep(out, cluster, listener=Told(), **terms)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print("outcome", json.dumps(asdict(outcome)), flush=True)
    return outcome.exit_code


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2], sys.argv[0])
        dask.config.refresh()  # the environment is another one
        faulty_solvers.meet_environment()
    sys.exit(main())
