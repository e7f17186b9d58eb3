"""Time ConTree's fits in a process of its own, which may be of another environment.

Usage: python benchmarks/contree.py < JOBS

Every line is a JSON object with ``data`` (an .npz file with ``x`` and ``y``), ``depth`` and
``seconds``; the answer to it is one with ``seconds`` and ``errors``.
"""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    """Answer one line after the other."""
    import numpy as np
    from pycontree import ConTree

    for line in sys.stdin:
        job = json.loads(line)
        with np.load(job["data"]) as data:
            x, y = data["x"], data["y"]
        model = ConTree(max_depth=job["depth"], time_limit=job["seconds"])
        began = time.perf_counter()
        model.fit(x, y)
        seconds = time.perf_counter() - began
        errors = int((model.predict(x) != y).sum())
        print(json.dumps({"seconds": seconds, "errors": errors}), flush=True)


if __name__ == "__main__":
    main()
