"""How long it takes to compact many small parts, while others read them.

python benchmarks/compaction.py --parts 10000 [--rows 10] [--readers 2] [--place s3://bucket/prefix]

Ends with ``parts=… files=… seconds=… cpu_seconds=… readers=… reads=… wrong=…``: the parts before,
the files after, the seconds of the compaction and those that it kept a core busy, processes that
read all rows all the time meanwhile, how often they did so, and how often they did not find each
row exactly once.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from datetime import UTC, datetime
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sweep.filesystem import Place, open_folder
from sweep.rows.schema import SCHEMA
from sweep.store import checksummed_parquet
from sweep.store.part_files import Parts

_PATIENCE = 120.0

_TREE = '{"format":"treesweep-tree","version":1,"nodes":[' + "{}," * 40 + "{}]}"


def make_table(number: int, rows: int) -> pa.Table:
    """The rows of one part; each has a key of its own."""
    now = datetime.now(UTC)
    plain: dict[str, Any] = {
        "schema_version": 1, "sweep": "benchmark", "dataset": f"set-{number % 7}",
        "data_hash": "d" * 64, "encoding": "onehot", "encoding_options": "{}", "solver": "branches",
        "solver_version": "2", "solver_options": '{"mode":"full"}', "validation": "null",
        "limits": '{"seconds":60.0}', "status": "optimal", "objective": 0.25,
        "objective_exact": "1/4", "lower_bound": 0.25, "lower_bound_exact": "1/4", "gap": 0.0,
        "gap_exact": "0", "attempt": 1, "started": now, "finished": now, "tree": _TREE,
        "host": "benchmark", "worker": f"tcp://worker-{number % 5}", "seconds": 0.01 * number,
        "trace": [{"seconds": 0.1, "objective": 0.3, "lower_bound": 0.2}],
    }  # fmt: skip
    table = [
        {**plain, "key": f"{number * rows + row:064x}", "lam": 0.001 * row} for row in range(rows)
    ]
    return pa.Table.from_pylist(table, schema=SCHEMA)


def read(place: str, expected: int, done: Event, counts: Any) -> None:
    """Read all keys, again and again, and count how often they are not what they should be."""
    parts = Parts(place)
    while not done.is_set():
        keys = parts.read(["key"])["key"]
        counts[0] += 1
        counts[1] += len(keys) != expected or pc.count_distinct(keys).as_py() != expected


def measure(place: Place, n_parts: int, rows: int, readers: int) -> str:
    """Write parts, compact them while others read, and say how it went."""
    parts = Parts(place, "benchmark")
    parts.folder.make()
    parts.create()
    contents = [checksummed_parquet.to_bytes(make_table(number, rows)) for number in range(n_parts)]
    for number, content in enumerate(contents):
        name = f"{parts.current()}/part-{number + 1:08d}.parquet"
        parts.folder.write(name, content, durable=False)
    context = multiprocessing.get_context("spawn")
    done = context.Event()
    counts = [context.Array("q", 2) for _ in range(readers)]
    processes = [
        context.Process(target=read, args=(str(parts.folder), n_parts * rows, done, own))
        for own in counts
    ]
    for process in processes:
        process.start()
    deadline = time.monotonic() + _PATIENCE
    while not all(own[0] for own in counts) and time.monotonic() < deadline:
        time.sleep(0.1)
    began, worked = time.perf_counter(), time.process_time()
    parts.compact()
    seconds, worked = time.perf_counter() - began, time.process_time() - worked
    time.sleep(1.0)
    done.set()
    for process in processes:
        process.join()
    files = len(parts.names())
    parts.discard_old()
    found = parts.read(["key"])["key"]
    wrong = int(len(found) != n_parts * rows) + sum(own[1] for own in counts)
    wrong += sum(process.exitcode != 0 for process in processes)
    return (
        f"parts={n_parts} files={files} seconds={seconds:.1f} cpu_seconds={worked:.1f} "
        f"readers={readers} "
        f"reads={sum(own[0] for own in counts)} wrong={wrong}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Run it; 0 if no reader found anything wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--parts", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=10, help="rows of a part")
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--place", help="a new folder; by default a temporary one")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        place = given.place or Path(folder) / "store"
        if open_folder(place).is_there():
            parser.error(f"{place} is there already")
        line = measure(place, given.parts, given.rows, given.readers)
    print(line)
    return int(not line.endswith("wrong=0"))


if __name__ == "__main__":
    sys.exit(main())
