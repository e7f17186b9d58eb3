"""Doctoring a finished store, to see whether the comparison finds it."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa

from sweep.rows.schema import SCHEMA
from sweep.store.part_files import Parts


def sabotage(out: Path, chance: random.Random) -> None:
    """Lose a row, double another, and change the errors of a third."""
    parts = Parts(out)
    rows = parts.read().to_pylist()
    lost, doubled, changed = chance.sample(range(len(rows)), 3)
    rows[changed]["errors"] += 1
    rows.append({**rows[doubled], "attempt": rows[doubled]["attempt"] + 1})
    del rows[lost]
    for name in parts.names():
        parts.folder.remove(name)
    parts.append(pa.Table.from_pylist(rows, schema=SCHEMA))
