"""The rows of a benchmark: their schema, the file they are kept in, and what makes a row."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import ROOT, Job
from benchmarks.peers import Adapter
from benchmarks.plain_trees import score
from benchmarks.problem_tables import Table
from solver.errors import InputError

SCHEMA = pa.schema(
    [
        ("file", pa.string()),  # folder/stem
        ("n_rows", pa.int64()),
        ("n_features", pa.int32()),  # columns, constant and duplicate ones included
        ("n_classes", pa.int32()),
        ("lam", pa.float64()),
        ("lam_exact", pa.string()),
        ("solver", pa.string()),
        ("version", pa.string()),
        ("settings", pa.string()),  # JSON: seconds, memory, depth, encoding, target
        ("repeat", pa.int32()),
        ("status", pa.string()),
        ("objective", pa.float64()),
        ("objective_exact", pa.string()),
        ("errors", pa.int64()),
        ("splits", pa.int32()),
        ("depth", pa.int32()),
        ("lower_bound", pa.float64()),
        ("lower_bound_exact", pa.string()),  # null where the solver's bound is a float
        ("gap_lams", pa.float64()),  # (objective - lower bound) / λ
        ("seconds", pa.float64()),  # of the fit, compilation apart
        ("counted_seconds", pa.float64()),  # the limit, unless proven within it
        ("search_seconds", pa.float64()),  # the solver's own figure
        ("import_seconds", pa.float64()),
        ("compile_seconds", pa.float64()),
        ("read_seconds", pa.float64()),
        ("peak_bytes", pa.int64()),  # of the process
        ("error", pa.string()),
        ("tree", pa.string()),  # JSON, see benchmarks/plain_trees.py
        ("finished", pa.timestamp("us", "UTC")),
    ]
)
Row = dict[str, Any]
_TIMES = ("seconds", "search_seconds", "import_seconds", "compile_seconds", "read_seconds")


def make_row(
    table: Table, job: Job, adapter: Adapter, repeat: int, answer: Mapping[str, Any]
) -> Row:
    """Score the tree of an answer anew, and set it beside what was asked.

    A claim that the tree does not keep, and a proof that came after a limit, are not taken over.
    """
    row: Row = dict.fromkeys(SCHEMA.names)
    row |= {
        "file": table.name,
        "n_rows": table.n_rows,
        "n_features": table.n_features,
        "n_classes": table.n_classes,
        "lam": float(job.lam),
        "lam_exact": str(job.lam),
        "solver": adapter.name,
        "version": adapter.version(),
        "settings": settings(job),
        "repeat": repeat,
        "status": answer["status"],
        "peak_bytes": answer.get("peak_bytes"),
        "error": answer.get("error") or None,
        "finished": datetime.now(UTC),
    }
    row |= {name: answer.get(name) for name in _TIMES}
    if answer.get("tree"):
        _take_tree(row, table, job.lam, answer)
    if row["status"] == "optimal" and row["seconds"] > job.seconds:
        row |= {"status": "time_limit", "error": "proven after the time limit"}
    if row["status"] == "optimal" and row["peak_bytes"] > job.memory:
        row |= {"status": "memory_limit", "error": "proven with more memory than the limit"}
    in_time = row["status"] in ("optimal", "heuristic")
    if row["status"] not in NOT_RUN:
        row["counted_seconds"] = row["seconds"] if in_time else float(job.seconds)
    return row


NOT_RUN = ("not_applicable", "not_run")


def _take_tree(row: Row, table: Table, lam: Fraction, answer: Mapping[str, Any]) -> None:
    """Fill in what follows from the tree and the bound."""
    found = score(answer["tree"], table, lam)
    bound, exact = answer["lower_bound"], answer["lower_bound_exact"]
    row |= {
        "objective": float(found.objective),
        "objective_exact": str(found.objective),
        "errors": found.errors,
        "splits": found.splits,
        "depth": found.depth,
        "lower_bound": bound,
        "lower_bound_exact": exact,
        "tree": json.dumps(answer["tree"], separators=(",", ":")),
    }
    if row["status"] == "optimal":
        # A proof is one of the tree's own objective, whatever the floats say.
        row |= {"lower_bound": float(found.objective), "gap_lams": 0.0}
        row["lower_bound_exact"] = exact or str(found.objective)
    elif bound is not None and lam:
        least = Fraction(exact) if exact else Fraction(bound)
        row["gap_lams"] = float((found.objective - least) / lam)
    claimed = answer["claimed_errors"]
    if claimed is not None and abs(claimed - found.errors) > 0.01 + 1e-6 * table.n_rows:
        row["status"] = "error"
        row["error"] = f"claims {claimed:g} errors, its tree makes {found.errors}"


def settings(job: Job) -> str:
    """What was asked beside the file, λ and the solver, as JSON."""
    asked = {
        "seconds": job.seconds,
        "memory": job.memory,
        "depth": job.depth,
        "encoding": job.encoding,
        "target": job.target,
    }
    return json.dumps(asked, sort_keys=True)


class Store:
    """The rows so far, and the Parquet file that has them all at any moment.

    Parameters
    ----------
    folder : Path
    resume : bool
        Whether the rows that are there are kept.

    Raises
    ------
    InputError
        If there are rows and they are not to be kept.
    """

    def __init__(self, folder: Path, resume: bool) -> None:
        self.path = folder / "results.parquet"
        if self.path.exists() and not resume:
            raise InputError(f"{self.path} is there already; go on with --resume or take --out")
        folder.mkdir(parents=True, exist_ok=True)
        self.rows: list[Row] = []
        self.about = describe_machine()
        if self.path.exists():
            kept = pq.read_table(self.path)
            self.rows = kept.to_pylist()
            self.about = json.loads(kept.schema.metadata[b"machine"])

    def find(self, file: str, lam: Fraction, solver: str, repeat: int) -> list[Row]:
        """The rows of one solve, whatever its settings."""
        key = (file, str(lam), solver, repeat)
        names = ("file", "lam_exact", "solver", "repeat")
        return [row for row in self.rows if tuple(row[name] for name in names) == key]

    def add(self, row: Row) -> None:
        """Keep a row; the file is complete before and after."""
        self.rows.append(row)
        schema = SCHEMA.with_metadata({"machine": json.dumps(self.about)})
        draft = self.path.with_suffix(".tmp")
        pq.write_table(pa.Table.from_pylist(self.rows, schema), draft, compression="zstd")
        os.replace(draft, self.path)


def describe_machine() -> dict[str, str]:
    """Processor, memory, versions and the source's revision, for the table's foot."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    revision = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    packages = ("numpy", "numba", "scikit-learn", "gosdt", "pystreed")
    known = {dist.name.lower() for dist in metadata.distributions() if dist.name}
    versions = [f"{name} {metadata.version(name)}" for name in packages if name in known]
    return {
        "processor": f"{model}, {psutil.cpu_count()} cores",
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "versions": ", ".join([f"Python {sys.version.split()[0]}", *versions]),
        "revision": revision or "unknown",
        "started": datetime.now(UTC).strftime("%Y-%m-%d"),
        "load": f"{psutil.getloadavg()[0]:.2f}",
    }
