"""Predict the rows of a raw table with a stored tree."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from solver.errors import InputError, one_line
from solver.features.columns import ColumnSpec
from solver.problem.target import MISSING, UNKNOWN, find_labels
from solver.trees.tree import Tree
from sweep.rows.metric_columns import held_out_quality


class Accuracy(NamedTuple):
    """Correct predictions, rows with a label, and those of them with an unknown class."""

    right: int
    known: int
    foreign: int = 0


class Fit(NamedTuple):
    """The fit to a column on its ``known`` rows; ``r2`` is None if they are all equal."""

    column: str
    r2: float | None
    rmse: float
    known: int


def load_tree(path: Path) -> Tree:
    """Read a tree of ``solve --save`` or ``solve --json``. Raises InputError for other files."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"there is no file {path}; 'treesweep solve --save' writes a tree"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as a tree: {error}") from None
    if not isinstance(data, dict):
        raise InputError(f"{path} is not a treesweep tree; 'treesweep solve --save' writes one")
    if isinstance(data.get("tree"), dict):
        data = data["tree"]
    try:
        return Tree.from_dict(data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def save_tree(tree: Tree, path: Path) -> None:
    """Write a tree as JSON, atomically."""
    write_text(json.dumps(tree.to_dict(), ensure_ascii=False, indent=1) + "\n", path)


def write_text(text: str, path: Path) -> None:
    """Write a text atomically."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write predictions atomically, as Parquet for the suffix ``.parquet``, else as CSV."""
    with replacing(path) as part:
        if path.suffix == ".parquet":
            try:
                table.to_parquet(part, index=False)
            except (OverflowError, pa.ArrowException) as error:
                why = one_line(error)
                raise InputError(f"cannot write {path} as Parquet: {why}; write .csv") from None
        else:
            table.to_csv(part, index=False)


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written, before the work: InputError with the reason."""
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {folder}")
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write {path}: the folder {folder} is read-only")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file that replaces ``path`` if there is no error."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def predict_table(tree: Tree, frame: pd.DataFrame, *, proba: bool = False) -> pd.DataFrame:
    """The predicted label or number of each row, in the order of the rows.

    Several outputs have a column ``prediction(name)`` each. Raises InputError if a column that the
    tree reads is missing or unreadable, or for class frequencies of regression.

    Parameters
    ----------
    frame : pandas.DataFrame
        Raw rows with at least the columns that the tree reads.
    proba : bool
        Add a column ``p(label)`` for each class: its frequency among the leaf's training rows.
    """
    if proba and tree.outputs:
        raise InputError("the tree predicts numbers, which have no frequencies; leave out --proba")
    if len(tree.outputs) > 1:
        names = [f"prediction({name})" for name in tree.outputs]
        return pd.DataFrame(tree.predict(frame), columns=names)
    table = pd.DataFrame({"prediction": tree.predict(frame)})
    if proba:
        shares = tree.predict_proba(frame)
        for position, label in enumerate(tree.classes):
            table[f"p({label})"] = shares[:, position]
    return table


def names_to_keep(frame: pd.DataFrame, kept: Sequence[str], table: pd.DataFrame) -> list[str]:
    """The names of columns to be copied before the predictions; ``*`` stands for all.

    Raises InputError if a column has the name of a prediction.
    """
    names = [str(name) for name in frame.columns] if "*" in kept else [*dict.fromkeys(kept)]
    if taken := [name for name in names if name in table.columns]:
        raise InputError(f"column {taken[0]!r} has the name of a prediction; rename it")
    return names


def measure_fit(tree: Tree, frame: pd.DataFrame, table: pd.DataFrame) -> list[Fit]:
    """Compare predicted numbers with those targets that the table has.

    Raises InputError if a target holds no numbers.
    """
    fits = []
    for position, name in enumerate(tree.outputs):
        if name not in frame.columns:
            continue
        truth = ColumnSpec("number").read(frame[name])
        known = np.isfinite(truth)
        if known.any():
            guesses = table.iloc[:, position].to_numpy(np.float64)
            pair = guesses[known, None], truth[known, None]
            found = held_out_quality(*pair, "regression")
            fits.append(Fit(name, found["test_r2"], found["test_rmse"], int(known.sum())))
    return fits


def measure_accuracy(tree: Tree, frame: pd.DataFrame, table: pd.DataFrame) -> Accuracy | None:
    """Compare predictions with the target; None if the table has no target.

    Raises InputError if the target cannot be read.
    """
    if tree.target not in frame.columns:
        return None
    truth = find_labels(frame[tree.target], tree.classes)
    guesses = find_labels(table["prediction"], tree.classes)
    right, known = int(np.sum(truth == guesses)), int(np.sum(truth != MISSING))
    return Accuracy(right, known, int(np.sum(truth == UNKNOWN)))
