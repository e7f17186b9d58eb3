"""The rows published with BRANCHES, for the scripts that run them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from solver import Problem


def published_rows(data: Path, only: Collection[str] = ()) -> Iterator[tuple[str, Any, Problem]]:
    """Name, published figures (``lam`` as text) and problem of every row.

    Parameters
    ----------
    data : Path
        A folder with ``published-branches.csv`` and ``encoded/<dataset>-<encoding>.parquet``.
    only : collection of str
        Names of the rows that are wanted, e.g. ``car-full``; all if empty.
    """
    published = pd.read_csv(data / "published-branches.csv", dtype={"lambda": str})
    for row in published.rename(columns={"lambda": "lam"}).itertuples():
        name = f"{row.dataset}-{row.encoding}"
        if not only or name in only:
            table = pd.read_parquet(data / "encoded" / f"{name}.parquet")
            yield name, row, Problem.from_codes(table.drop(columns="target"), table["target"])
