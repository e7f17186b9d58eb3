"""How good is the best tree on numbers at each moment: ours, ConTree's, and its anytime version's.

Usage: python benchmarks/primal_gap.py DATA [--depth 4 5] [--sets bank ...] [--peer PYTHON]

DATA is a folder with ``continuous/class/<set>.parquet``; PYTHON an interpreter with ``pycontree``
and ``pytrees``, where this one has none. The primal gap of a tree is (its errors − the least
errors that any of the programs has found) / its errors, and 1 before there is a tree. Its integral
over the seconds of the limit, divided by these, is the mean gap: 0 is an optimal tree at once. All
run in turns on one pinned core, from float64 arrays in memory; ours by way of a table. ConTree
tells of its last tree only. So it is run anew with each limit of ``--limits``, and between two
limits it has the tree of the first. A sweep cannot do it: the peers are another environment's, and
one has a callback.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

import numpy as np
import pandas as pd

import solver
from benchmarks.continuous import Peer, ours, read
from solver import Limits, Problem

Trace = list[tuple[float, int]]
"""Seconds at which a better tree was found, and its errors."""
PROGRAMS = ("ours", "ConTree", "anytime ConTree")


def our_trace(x: Any, y: Any, depth: int, limit: float) -> tuple[Trace, int | None]:
    """Our better trees, and the errors that are proven to be the least, if they are."""
    began = time.perf_counter()
    table = pd.DataFrame(x, columns=[f"x{f}" for f in range(x.shape[1])])
    table["class"] = y
    problem = Problem.from_table(table, "class", "continuous")
    encoded = time.perf_counter() - began
    found = solver.solve(problem, 0, "quantbnb", Limits(depth=depth, seconds=limit - encoded))
    errors = int((found.tree.predict(table) != y).sum())
    trace = [(encoded + at, round(upper * len(y))) for at, upper, _ in found.trace]
    assert trace[-1][1] == errors
    return trace, errors if found.status is solver.Status.OPTIMAL else None


def their_trace(peer: Peer, data: Path, depth: int, limits: Sequence[float]) -> Trace:
    """ConTree's trees after each limit."""
    trace: Trace = []
    for limit in limits:
        found = peer.fit(data, depth, limit)
        trace.append((found["seconds"], found["errors"]))
        if found["seconds"] < limit:
            break
    return trace


def mean_gap(trace: Trace, best: int, limit: float) -> float:
    """The primal gap, averaged over the time until the limit."""
    total, last, gap = 0.0, 0.0, 1.0
    for at, errors in [*trace, (math.inf, 0)]:
        total += gap * (min(at, limit) - last)
        last = min(at, limit)
        gap = min(gap, (errors - best) / errors if errors else 0.0)
    return total / limit


def main() -> None:
    """Print a Markdown table and what it comes to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--depth", type=int, nargs="+", default=[4, 5])
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--peer", default=sys.executable, help="interpreter that has the peers")
    parser.add_argument("--limits", type=float, nargs="+", default=[1, 4, 15, 60])
    given = parser.parse_args()
    sets = given.sets or sorted(p.stem for p in (given.data / "continuous" / "class").iterdir())
    limit = max(given.limits)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # The peer's process inherits it.
    ours(np.array([[0.0], [1.0]]), np.array([0, 1]), 1, 1.0)  # compiles
    heads = [f"{program}: {what}" for program in PROGRAMS for what in ("errors", "mean gap %")]
    print("| " + " | ".join(["set", "depth", *heads, "proven"]) + " |")
    print("|" + " --- |" * (len(heads) + 3))
    gaps: dict[int, list[list[float]]] = {depth: [] for depth in given.depth}
    with contextlib.ExitStack() as stack:
        peer = Peer(given.peer)
        stack.callback(peer.close)
        data = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "data.npz"
        for depth in given.depth:
            for name in sets:
                x, y = read(given.data, name)
                np.savez(data, x=x, y=y)
                mine, proven = our_trace(x, y, depth, limit)
                anytime: Trace = peer.fit(data, depth, limit, anytime=True)["trace"]
                traces = [mine, their_trace(peer, data, depth, given.limits), anytime]
                finals = [min((errors for _, errors in trace), default=len(y)) for trace in traces]
                best = min(finals)
                assert proven in (None, best), f"{name}: {proven} is not the least, {best} is"
                gaps[depth].append([mean_gap(trace, best, limit) for trace in traces])
                cells = [name, str(depth)]
                for errors, gap in zip(finals, gaps[depth][-1], strict=True):
                    cells += [str(errors), f"{100 * gap:.2f}"]
                print("| " + " | ".join([*cells, "yes" if proven is not None else "no"]) + " |")
                sys.stdout.flush()
    print()
    for depth, rows in gaps.items():
        for at, program in enumerate(PROGRAMS[1:], 1):
            better = sum(row[0] <= row[at] for row in rows)
            means = [statistics.mean(row[k] for row in rows) for k in (0, at)]
            print(
                f"depth {depth}: ours is not worse than {program} on {better} of {len(rows)} sets; "
                f"mean gap {100 * means[0]:.2f} % against {100 * means[1]:.2f} %"
            )


if __name__ == "__main__":
    main()
