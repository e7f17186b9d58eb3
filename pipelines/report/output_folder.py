"""The folder of a report, which knows the files that it wrote."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from solver.errors import InputError

MOST_LINES = 100_000
"""A table of more rows is written as Parquet only: no spreadsheet opens such a CSV."""

_LIST = ".files.json"


class ReportFolder:
    """The folder of a report.

    It has a list of its files, so that the next report removes those that it does not write again,
    and no others. All methods raise InputError if the folder cannot be made or written to.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._written: list[str] = []
        self._used: set[str] = set()
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder {root}: {error.strerror or error}") from None

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file; ``name`` may begin with a subfolder."""
        path = self.root / name
        data = content.encode() if isinstance(content, str) else content
        part = path.with_name(f"{path.name}.tmp")
        try:
            path.parent.mkdir(exist_ok=True)
            part.write_bytes(data)
            os.replace(part, path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise InputError(f"cannot write {path}: {error.strerror or error}") from None
        self._written.append(name)
        return path

    def write_table(self, name: str, parts: Iterable[pd.DataFrame]) -> None:
        """Write a table as Parquet, and as CSV if it has at most :data:`MOST_LINES` rows. There is
        at least one part; all of them need not fit into memory."""
        buffer, writer, rows = io.BytesIO(), None, 0
        for part in parts:
            table = pa.Table.from_pandas(part, preserve_index=False)
            if writer is None:
                first, writer = part, pq.ParquetWriter(buffer, table.schema)
            writer.write_table(table.cast(writer.schema))
            rows += len(part)
        assert writer is not None
        writer.close()
        self.write(f"tables/{name}.parquet", buffer.getvalue())
        if rows <= MOST_LINES and rows == len(first):
            self.write(f"tables/{name}.csv", first.to_csv(index=False))

    def name_for(self, *words: str) -> str:
        """An unused file name of letters, digits and ``-`` only."""
        plain = (re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-") for word in words)
        base = "-".join(word for word in plain if word)[:80] or "chart"
        name, number = base, 1
        while name in self._used:
            number += 1
            name = f"{base}-{number}"
        self._used.add(name)
        return name

    def finish(self) -> None:
        """Remove the files that only an earlier report wrote, and store the new list."""
        listing = self.root / _LIST
        try:
            old = json.loads(listing.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            old = []
        for name in old if isinstance(old, list) else []:
            path = self.root / str(name)
            if name not in self._written and path.resolve().is_relative_to(self.root.resolve()):
                path.unlink(missing_ok=True)
        self.write(_LIST, json.dumps(sorted(self._written), indent=1))
