"""Time ConTree's fits in a process of its own, which may be of another environment.

Usage: python benchmarks/contree.py < JOBS

Every line is a JSON object with ``data`` (an .npz file with ``x`` and ``y``), ``depth`` and
``seconds``; the answer to it is one with ``seconds`` and ``errors``. With ``"anytime": true`` it is
the anytime search of pytrees that runs, and its answer has the ``trace``, too: pairs of seconds and
errors, one for each better tree.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def contree(x: Any, y: Any, depth: int, limit: float) -> dict[str, Any]:
    """One fit of the authors' program, which tells of its last tree only."""
    from pycontree import ConTree

    model = ConTree(max_depth=depth, time_limit=limit)
    began = time.perf_counter()
    model.fit(x, y)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "errors": int((model.predict(x) != y).sum())}


def anytime(x: Any, y: Any, depth: int, limit: float) -> dict[str, Any]:
    """One fit by limited discrepancy search, with the moments at which it found a better tree."""
    from pytrees import ConTreeClassifier

    trace: list[tuple[float, int]] = []
    model = ConTreeClassifier(max_depth=depth, max_time=limit)
    began = time.perf_counter()

    def note(errors: float, _seconds: float, _status: str) -> None:
        trace.append((time.perf_counter() - began, int(errors)))

    model.fit_anytime(x, y, note)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "errors": int((model.predict(x) != y).sum()), "trace": trace}


def main() -> None:
    """Answer one line after the other."""
    import numpy as np

    for line in sys.stdin:
        job = json.loads(line)
        with np.load(job["data"]) as data:
            x, y = data["x"], data["y"]
        fit = anytime if job.get("anytime") else contree
        print(json.dumps(fit(x, y, job["depth"], job["seconds"])), flush=True)


if __name__ == "__main__":
    main()
