"""What it costs to read a big store: the report, the status, the results, the check.

Usage: python benchmarks/read_big_store.py STORE [--only report,status,results,verify] [--out DIR]

STORE is a sweep's folder, e.g. one that ``benchmarks/make_big_store.py`` has written. Each reader
is a process of its own, as a user starts it; seconds are those of the whole process, its start
included, and the peak is its largest resident size. On a machine that others use, compare the
seconds of CPU, which are printed beside. The last line printed is like ``rows=1000000
report_seconds=… report_peak_mb=… status_seconds=… status_peak_mb=…``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

from solver.errors import InputError
from sweep.store.sweep_status import sweep_status

_CLI = "from pipelines.cli import main; main()"
_RESULTS = (
    "import sys; from sweep.store.read_results import read_results;"
    "print(len(read_results(sys.argv[1], columns=['dataset', 'solver', 'lam', 'objective'])))"
)


def commands(store: Path, out: Path) -> dict[str, list[str]]:
    """What each reader runs."""
    return {
        "status": ["-c", _CLI, "status", str(store)],
        "results": ["-c", _RESULTS, str(store)],
        "report": ["-c", _CLI, "report", str(store), "--out", str(out)],
        "verify": ["-c", _CLI, "verify", str(store)],
    }


def measure(arguments: Sequence[str], log: Path) -> tuple[float, float, float]:
    """Seconds, seconds of CPU and peak MB of a Python process.

    Raises
    ------
    InputError
        If it fails.
    """
    began = time.perf_counter()
    with log.open("wb") as output:
        child = subprocess.Popen(
            [sys.executable, *arguments], stdout=output, stderr=subprocess.STDOUT
        )
        _, code, usage = os.wait4(child.pid, 0)
    taken = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(code)  # it has been waited for
    if child.returncode:
        lines = log.read_text(errors="replace").strip().splitlines() or ["no message"]
        raise InputError(f"{' '.join(arguments[:3])} failed: {lines[-1]}")
    return taken, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store", type=Path, metavar="STORE")
    parser.add_argument("--only", default="status,results,report", help="which readers, by commas")
    parser.add_argument("--out", type=Path, help="keep the report here")
    given = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="treesweep-readers-"))
    try:
        known = commands(given.store, given.out or folder / "report")
        names = given.only.split(",")
        for name in names:
            if name not in known:
                raise InputError(f"there is no reader {name!r}; there are: {', '.join(known)}")
        found = sweep_status(given.store)
        line = f"rows={found.done + found.failed}"
        for name in names:
            seconds, cpu, peak = measure(known[name], folder / "log")
            print(f"{name}: {seconds:.1f} s, {cpu:.1f} s of CPU, {peak:.0f} MB", flush=True)
            line += f" {name}_seconds={seconds:.1f} {name}_peak_mb={peak:.0f}"
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
