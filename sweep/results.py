"""Reading a sweep's results."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from solver.errors import InputError
from sweep.keys import BUDGETS, KEY_COLUMNS, canonical
from sweep.parts import Parts
from sweep.store import read_manifest


def read_results(path: str | Path, *, every_run: bool = False) -> pd.DataFrame:
    """The rows of a sweep's store, finished or not, while it is written to or not.

    Parameters
    ----------
    path : str or Path
        The sweep's folder.
    every_run : bool
        Also give runs that a later one has replaced: failed ones that were tried again, and those
        of the same task under a smaller limit of seconds, bytes or nodes.

    Returns
    -------
    pandas.DataFrame
        One row a task, with the columns of :data:`sweep.schema.COLUMNS`, in the order in which
        they were finished.

    Raises
    ------
    InputError
        If it is no sweep's folder, or a part file is damaged.

    Examples
    --------
    >>> frame = read_results("results/first-look")  # doctest: +SKIP
    """
    root = Path(path)
    if not root.is_dir():
        raise InputError(f"there is no folder {root}")
    read_manifest(root)
    frame: pd.DataFrame = Parts(root).read().to_pandas()
    frame = frame.sort_values(["finished", "attempt"], kind="stable", ignore_index=True)
    return frame if every_run else latest(frame)


def latest_by_key(frame: pd.DataFrame) -> pd.DataFrame:
    """Of the rows of each key the one of the latest attempt."""
    ordered = frame.sort_values("attempt", kind="stable")
    return ordered.drop_duplicates("key", keep="last").reset_index(drop=True)


def latest(frame: pd.DataFrame) -> pd.DataFrame:
    """Of the rows of each task the one that was finished last.

    Rows are of the same task if they differ in the budgets (seconds, bytes, nodes) and in the
    attempt only.
    """
    texts = {text: _question(text) for text in frame["limits"].unique()}
    same = frame[[name for name in KEY_COLUMNS if name != "limits"]].assign(
        limits=frame["limits"].map(texts)
    )
    return frame[~same.duplicated(keep="last")].reset_index(drop=True)


def _question(limits: str) -> str:
    """The limits that change what is asked for."""
    return canonical({n: v for n, v in json.loads(limits).items() if n not in BUDGETS})
