"""What a report costs: of 630 runs that a sweep has really made.

Usage: python benchmarks/report_speed.py [--keep DIR]

Sweeps three built-in tables × two encodings × three solvers × seven λ × five folds, and then writes
the report as a user does, in a process of its own: once anew, and once where an earlier report has
grown the final trees. The last line printed is like ``runs=630 first_cpu_seconds=…
again_cpu_seconds=… index_bytes=… single_bytes=…``. On a machine that others use, compare the
seconds of CPU.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

from benchmarks.read_big_store import measure
from solver.errors import InputError
from sweep.clusters import Local
from sweep.graph.engine import run_sweep
from sweep.spec.spec import parse_spec

SPEC = """\
name: report-speed
datasets: [monks-1, tic-tac-toe, wine]
encodings: [{encoding: quantiles, k: 3}, {encoding: quantiles, k: 5}]
lambdas: [0.1, 0.07, 0.05, 0.04, 0.03, 0.02, 0.015]
solvers: [branches, osdt, cart]
validation: {kind: kfold, folds: 5, stratify: true}
limits: {seconds: 5}
"""
CLI = "from pipelines.cli import main; main()"


def write_reports(store: Path, log: Path) -> dict[str, float]:
    """The seconds of CPU of two reports of a store, one after the other, and their bytes."""
    found: dict[str, float] = {}
    for name, more in (("first", []), ("again", ["--single-file"])):
        seconds, cpu, peak = measure(["-c", CLI, "report", str(store), *more], log)
        print(f"{name}: {seconds:.1f} s, {cpu:.1f} s of CPU, {peak:.0f} MB", flush=True)
        found[f"{name}_cpu_seconds"] = round(cpu, 1)
    found["index_bytes"] = (store / "report" / "index.html").stat().st_size
    found["single_bytes"] = (store / "report" / "report.html").stat().st_size
    return found


def main(arguments: Sequence[str] | None = None, spec: str = SPEC) -> int:
    """Sweep, report and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the sweep and report here")
    given = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="treesweep-report-speed-"))
    try:
        store = given.keep or folder / "sweep"
        outcome = run_sweep(parse_spec(spec), store, Local())
        figures = write_reports(store, folder / "log")
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    line = {"runs": outcome.total, **figures}
    print(" ".join(f"{name}={value}" for name, value in line.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
