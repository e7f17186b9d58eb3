"""Optimal trees on numbers, in turns with ConTree on the same core: seconds and accuracy.

Usage: python benchmarks/continuous.py DATA [--depth 2 3] [--sets bank ...] [--peer PYTHON]
       python benchmarks/continuous.py DATA --growth [--sets magic ...]
       python benchmarks/continuous.py DATA --splits 2 3 4 5 6 [--depth 2 3] [--sets bank ...]

DATA is a folder with ``published-quantbnb.csv`` and ``continuous/class/<set>.parquet``. PYTHON is
an interpreter with ``pycontree``, where this one has none. Both fit the training rows from float64
arrays in memory, ours by way of a table and the encoding ``continuous`` ("search s" is without
these); short fits are repeated, and the fastest counts. Compilation and imports are apart. The
accuracies published with Quant-BnB, of trees of the same depth, have one decimal.

What a sweep cannot do: both in turns on one pinned core, from arrays in memory, the fastest of
repeated fits, and a peer in another interpreter.

``--growth`` fits more and more rows of each set (magic unless told otherwise) at depth 2, and all
rows ten times over, where equal rows are one of greater weight; "exponent" is that of the seconds
as a power of the rows, from the line before.

``--splits`` tells what limits on splits cost: thresholds evaluated, and seconds of CPU of the
search, without a limit and with each that is tighter than the depth.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from time import process_time as cpu
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

import numpy as np
import pandas as pd

import solver
from benchmarks.harness import ONE_THREAD
from solver import Limits, Problem, Status

COLUMNS = (
    "set", "depth", "rows", "features", "classes", "ours s", "search s", "ConTree s", "ratio",
    "proven", "accuracy %", "published %", "ConTree %", "paper s",
)  # fmt: skip
PAPER = {
    2: {"avila": 4.5, "bean": 3.4, "bidding": 0.2, "fault": 1.6, "htru": 1.3, "magic": 1.0,
        "occupancy": 0.3, "raisin": 0.1, "room": 1.0, "segment": 1.1},
    3: {"avila": 4188, "bank": 4.4, "bean": 1014, "bidding": 30, "htru": 10303, "magic": 1090,
        "occupancy": 106, "raisin": 167, "room": 180, "segment": 153},
}  # fmt: skip
"""Seconds of Quant-BnB in the paper's Table 2: bank < 0.1 at depth 2, fault > 4 h at depth 3."""
_LONG = 1.0
"""Fits that take more seconds are not repeated."""


def ours(x: Any, y: Any, depth: int, seconds: float) -> dict[str, Any]:
    """One fit, from the numbers to the tree."""
    began = time.perf_counter()
    table = pd.DataFrame(x, columns=[f"x{f}" for f in range(x.shape[1])])
    table["class"] = y
    problem = Problem.from_table(table, "class", "continuous")
    limits = Limits(depth=depth, seconds=seconds)
    found = solver.solve(problem, 0, "quantbnb", limits)
    took = time.perf_counter() - began - found.compile_seconds
    errors = int((found.tree.predict(table) != y).sum())
    proven = found.status is Status.OPTIMAL and found.errors == errors
    return {"seconds": took, "search": found.seconds, "errors": errors, "proven": proven}


def repeated(fit: Callable[[], dict[str, Any]], times: int) -> dict[str, Any]:
    """The fastest of some fits."""
    best = fit()
    for _ in range(times - 1):
        if best["seconds"] > _LONG:
            break
        best = min(best, fit(), key=lambda found: found["seconds"])
    return best


class Peer:
    """ConTree's process."""

    def __init__(self, python: str) -> None:
        self.child = subprocess.Popen(
            [python, str(Path(__file__).with_name("contree.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
            text=True,
        )

    def fit(self, data: Path, depth: int, seconds: float, anytime: bool = False) -> dict[str, Any]:
        """One fit."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        job = {"data": str(data), "depth": depth, "seconds": seconds, "anytime": anytime}
        self.child.stdin.write(json.dumps(job) + "\n")
        self.child.stdin.flush()
        answer = self.child.stdout.readline()
        if not answer:
            raise SystemExit("ConTree's process has ended; see what it printed above")
        found: dict[str, Any] = json.loads(answer)
        return found

    def close(self) -> None:
        """End the process."""
        self.child.kill()
        self.child.wait()


def compare(
    row: dict[str, Any], x: Any, y: Any, peer: Peer | None, times: int, seconds: float
) -> dict[str, Any]:
    """One line of the table."""
    depth = row["depth"]
    found = repeated(lambda: ours(x, y, depth, seconds), times)
    row |= {
        "rows": len(y),
        "features": x.shape[1],
        "classes": int(y.max()) + 1,
        "ours s": found["seconds"],
        "search s": found["search"],
        "proven": "yes" if found["proven"] else "no",
        "accuracy %": 100 * (1 - found["errors"] / len(y)),
    }
    if peer is not None:
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "data.npz"
            np.savez(data, x=x, y=y)
            theirs = repeated(lambda: peer.fit(data, depth, seconds), times)
        row["ConTree s"] = theirs["seconds"]
        row["ratio"] = theirs["seconds"] / found["seconds"]
        row["ConTree %"] = 100 * (1 - theirs["errors"] / len(y))
    return row


def show(row: dict[str, Any]) -> None:
    """Print one line."""
    digits = {
        "ours s": 4,
        "search s": 4,
        "ConTree s": 4,
        "ratio": 1,
        "accuracy %": 3,
        "ConTree %": 3,
        "paper s": 1,
    }
    cells = []
    for name in COLUMNS:
        value = row.get(name, "")
        cells.append(f"{value:.{digits[name]}f}" if name in digits and value != "" else str(value))
    print("| " + " | ".join(cells) + " |", flush=True)


def read(data: Path, name: str) -> tuple[Any, Any]:
    """Training rows of a set, and their classes."""
    table = pd.read_parquet(data / "continuous" / "class" / f"{name}.parquet")
    table = table[table["split"] == "train"]
    x = table.drop(columns=["split", "target"]).to_numpy(float)
    return x, np.unique(table["target"], return_inverse=True)[1].astype(np.int64)


def growth(given: argparse.Namespace) -> None:
    """Print how the seconds grow with the rows."""
    print("| set | rows | seconds | exponent | search s | exponent | status |")
    print("|" + " --- |" * 7)
    for name in given.sets or ["magic"]:
        x, y = read(given.data, name)
        order = np.random.default_rng(0).permutation(len(y))
        steps = [(f"{name}", order[: len(y) // k]) for k in (16, 8, 4, 2, 1)]
        steps.append((f"{name} ×10", np.tile(order, 10)))
        before: tuple[int, float, float] | None = None
        for label, rows in steps:
            found = repeated(partial(ours, x[rows], y[rows], 2, given.seconds), given.times)
            now = len(rows), found["seconds"], found["search"]
            powers = ["", ""]
            if before is not None:
                more = math.log(now[0] / before[0])
                powers = [f"{math.log(now[i] / before[i]) / more:.2f}" for i in (1, 2)]
            cells = [label, str(now[0]), f"{now[1]:.4f}", powers[0], f"{now[2]:.4f}", powers[1]]
            cells.append("proven" if found["proven"] else "not proven")
            print("| " + " | ".join(cells) + " |", flush=True)
            before = now


def few_splits(given: argparse.Namespace, names: Iterable[str]) -> None:
    """Print the work of searches with limits on splits, and without."""
    columns = ["set", "depth", "any splits", *(f"at most {most}" for most in given.splits)]
    print("| " + " | ".join(columns) + " |")
    print("|" + " --- |" * len(columns))
    for depth in given.depth:
        for name in names:
            x, y = read(given.data, name)
            table = pd.DataFrame(x, columns=[f"x{f}" for f in range(x.shape[1])]).assign(y=y)
            problem, cells = Problem.from_table(table, "y", "continuous"), [name, str(depth)]
            for most in (None, *given.splits):
                if most is not None and most >= 2**depth - 1:
                    cells.append("")
                    continue
                limits, began = Limits(seconds=given.seconds, depth=depth, splits=most), cpu()
                found = solver.solve(problem, 0, "quantbnb", limits)
                ended = "" if found.status is Status.OPTIMAL else " (not proven)"
                cells.append(f"{found.iterations:,}: {cpu() - began:.2f} s{ended}")
            print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Print a Markdown table and the figures that sum it up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--depth", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--peer", default=sys.executable, help="interpreter that has pycontree")
    parser.add_argument("--alone", action="store_true", help="leave ConTree out")
    parser.add_argument("--times", type=int, default=5, help="how often a short fit is repeated")
    parser.add_argument("--seconds", type=float, default=600.0, help="limit on a fit")
    parser.add_argument("--growth", action="store_true", help="more and more rows at depth 2")
    parser.add_argument("--splits", type=int, nargs="+", help="limits on splits, without the peer")
    given = parser.parse_args()
    published = pd.read_csv(given.data / "published-quantbnb.csv", index_col="dataset")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # The peer's process inherits it.
    ours(np.array([[0.0], [1.0]]), np.array([0, 1]), 1, 1.0)  # compiles
    if given.growth:
        growth(given)
        return
    if given.splits:
        few_splits(given, given.sets or published.index)
        return
    peer = None if given.alone else Peer(given.peer)
    rows = []
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + " --- |" * len(COLUMNS))
    with contextlib.ExitStack() as stack:
        if peer is not None:
            stack.callback(peer.close)
        for depth in given.depth:
            for name in given.sets or published.index:
                x, y = read(given.data, name)
                row: dict[str, Any] = {"set": name, "depth": depth}
                column = f"depth{depth}_accuracy_percent"
                row["published %"] = published[column][name] if column in published else ""
                if name in PAPER.get(depth, {}):
                    row["paper s"] = PAPER[depth][name]
                rows.append(compare(row, x, y, peer, given.times, given.seconds))
                show(rows[-1])
    print()
    for depth in given.depth:
        mine = [row for row in rows if row["depth"] == depth]
        proven = sum(row["proven"] == "yes" for row in mine)
        same = sum(round(row["accuracy %"], 1) == row["published %"] for row in mine)
        line = f"depth {depth}: proven {proven} of {len(mine)}; as published {same}"
        ratios = [row["ratio"] for row in mine if "ratio" in row]
        if ratios:
            mean = statistics.geometric_mean(ratios)
            line += f"; ratio: least {min(ratios):.1f}, geometric mean {mean:.1f}"
            ratios = [row["ConTree s"] / row["search s"] for row in mine]
            mean = statistics.geometric_mean(ratios)
            line += f"; of the search alone: least {min(ratios):.1f}, geometric mean {mean:.1f}"
        print(line)
        ratios = [row["paper s"] / row["ours s"] for row in mine if "paper s" in row]
        if ratios:
            mean = statistics.geometric_mean(ratios)
            print(f"  beside the paper's own seconds: geometric mean {mean:.0f} times as fast")


if __name__ == "__main__":
    main()
