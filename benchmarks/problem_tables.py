"""Reading what the solvers are compared on: one Parquet file, features first, target last."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.encodings import fit_transform
from solver.errors import InputError

AS_IT_IS = "codes"


@dataclass(frozen=True)
class Table:
    """A file as every solver gets it.

    Parameters
    ----------
    name : str
        The file's folder and stem, e.g. ``binary/yeast``.
    codes : array of int32, shape (rows, features)
        Codes 0, 1, …; constant and duplicate columns are still there.
    labels : array of int64, shape (rows,)
        Ranks of the sorted labels.
    n_classes : int
    """

    name: str
    codes: NDArray[np.int32]
    labels: NDArray[np.int64]
    n_classes: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @property
    def n_features(self) -> int:
        """Number of columns beside the target."""
        return int(self.codes.shape[1])

    @property
    def binary(self) -> bool:
        """Whether every feature is 0 or 1, as the peers need it."""
        return not self.codes.size or int(self.codes.max()) <= 1


def table_name(path: Path) -> str:
    """The name under which a file's results are kept."""
    return f"{path.resolve().parent.name}/{path.stem}"


def read_table(path: Path, target: str | None = None, encoding: str = AS_IT_IS) -> Table:
    """Read a Parquet file.

    Parameters
    ----------
    path : Path
    target : str, optional
        Column to predict; the last one by default.
    encoding : str
        ``codes`` takes the columns as the codes they are; the name of an encoding encodes a file
        that has columns with other values than 0 and 1, and leaves a binary file alone.

    Raises
    ------
    InputError
        If the file cannot be read, has no such column, or its columns are no codes.
    """
    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as Parquet: {error}") from None
    target = target or str(frame.columns[-1])
    if target not in frame.columns:
        raise InputError(f"{path} has no column {target!r} for the target; name it with --target")
    classes, labels = np.unique(frame[target].to_numpy(), return_inverse=True)
    features = frame.drop(columns=target)
    labels = labels.astype(np.int64)
    if encoding != AS_IT_IS and not features.isin([0, 1]).all(axis=None):
        codes: NDArray[Any] = fit_transform(encoding, features, labels, n_classes=len(classes))[1]
    else:
        codes = features.to_numpy()
    whole = codes.dtype.kind in "biu"
    if not whole or (codes.size and codes.min() < 0):
        raise InputError(
            f"{path} has columns that are not codes 0, 1, …; encode them, e.g. --encoding onehot"
        )
    matrix = np.ascontiguousarray(codes, dtype=np.int32)
    return Table(table_name(path), matrix, labels, len(classes))
