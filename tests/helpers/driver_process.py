"""Run or resume a sweep in a process of its own, with the misbehaving solvers at hand.

python -m tests.helpers.driver_process run SPEC OUT WHERE CHECKPOINT_SECONDS LARGEST_STATE GRACE
python -m tests.helpers.driver_process resume - OUT WHERE CHECKPOINT_SECONDS LARGEST_STATE GRACE

WHERE is a number of workers here, a scheduler's address or a cluster.yaml.
"""

from __future__ import annotations

import faulthandler
import json
import sys
from dataclasses import asdict
from typing import Any

from solver.errors import InputError
from sweep.clusters import Address, Cluster, Local, load_cluster
from sweep.events import Progress, Silent
from sweep.graph.engine import resume_sweep, run_sweep
from sweep.spec.spec import load_spec
from tests.helpers import faulty_solvers  # noqa: F401 - the last: it changes what others import


class Told(Silent):
    """Prints what happens, so that a test knows when to strike."""

    def progress(self, progress: Progress) -> None:
        print(f"progress {progress.done} {progress.running} {progress.workers}", flush=True)

    def note(self, text: str) -> None:
        print(f"note {text}", flush=True)


def main() -> int:
    faulthandler.dump_traceback_later(100)  # where it hangs, if it does
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
    sys.exit(main())
