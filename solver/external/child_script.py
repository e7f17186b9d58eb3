"""The process in which an external solver runs; a script without imports of ours at the start.

It reads a line of JSON on stdin, the parent's ``sys.path`` and the adapter, then the job. It writes
JSON lines to the file descriptor of its first argument: that the search begins, then its answer.
What the solver prints goes to standard output, where nobody reads it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from importlib import import_module
from typing import Any

DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


def main() -> None:
    """Do the job on stdin."""
    # The parent ends this process, also at Ctrl-C; C++ code would not hear of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    head = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = head["path"]
    solver = import_module(head["module"])
    for part in head["name"].split("."):
        solver = getattr(solver, part)
    with os.fdopen(int(sys.argv[1]), "w", encoding="utf-8") as channel:

        def say(**event: Any) -> None:
            channel.write(json.dumps(event) + "\n")
            channel.flush()

        job = solver.read(sys.stdin.buffer)
        solver.load()
        say(event="begun")
        began = time.perf_counter()
        answer = solver.fit(job)
        say(event="answer", seconds=time.perf_counter() - began, answer=answer.to_dict())


if __name__ == "__main__":
    main()
