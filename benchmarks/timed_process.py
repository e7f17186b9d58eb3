"""The process in which one solve is timed; ``-m benchmarks.timed_process`` reads the job on stdin.

It answers on the file descriptor that the job names, one JSON object a line: first that the fit
begins, then what came of it. Standard output is the solver's, which may print what it likes.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def exact(value: Fraction | float | None) -> dict[str, Any]:
    """A bound as JSON; a float says that it is one by having no fraction."""
    if value is None:
        return {"lower_bound": None, "lower_bound_exact": None}
    return {
        "lower_bound": float(value),
        "lower_bound_exact": str(value) if isinstance(value, Fraction) else None,
    }


def work(job: dict[str, Any], say: Any) -> None:
    """Load, say so, fit, and say what came of it."""
    began = time.perf_counter()
    from benchmarks.peers import ADAPTERS, Ask
    from benchmarks.problem_tables import read_table

    adapter = ADAPTERS[job["solver"]]
    adapter.load()
    imported = time.perf_counter()
    adapter.warm_up()
    compiled = time.perf_counter()
    table = read_table(Path(job["file"]), job["target"], job["encoding"])
    ask = Ask(Fraction(job["lam"]), job["seconds"], job["memory"], job["depth"])
    ready = time.perf_counter()
    say({"event": "fit"})
    answer = adapter.fit(table, ask)
    done = time.perf_counter()
    say(
        {
            "event": "done",
            "status": answer.status,
            "tree": answer.nodes,
            **exact(answer.lower_bound),
            "claimed_errors": answer.claimed,
            "seconds": done - ready - answer.compile_seconds,
            "search_seconds": answer.search_seconds,
            "import_seconds": imported - began,
            "compile_seconds": compiled - imported + answer.compile_seconds,
            "read_seconds": ready - compiled,
            "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        }
    )


def main() -> int:
    """Do the job on stdin."""
    # The parent ends this process, also at Ctrl-C; C++ code would not hear of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    job = json.load(sys.stdin)
    if os.getppid() != job["parent"]:
        return 1
    with os.fdopen(job["answers"], "w", encoding="utf-8") as answers:

        def say(event: dict[str, Any]) -> None:
            answers.write(json.dumps(event) + "\n")
            answers.flush()

        try:
            work(job, say)
        except MemoryError as error:
            say({"event": "failed", "status": "memory_limit", "error": repr(error)})
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            say({"event": "failed", "status": "error", "error": text})
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
