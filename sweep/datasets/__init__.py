"""Datasets by name, from a file, or from OpenML.

Here: reading tables, their digests, and their serialization in Arrow.
Not here: folds (``sweep.spec.folds``) and encodings (``solver.encodings``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from solver.errors import InputError
from solver.features.category_values import override
from sweep.datasets.builtin import BUILTINS, Builtin
from sweep.datasets.dataset import Dataset, table_digest
from sweep.datasets.dataset_reference import ColumnOverride, DatasetRef, parse_reference
from sweep.datasets.files import read_file
from sweep.datasets.openml import cache_directory, read_openml
from sweep.datasets.scikit_learn_tables import TARGET

__all__ = [
    "BUILTINS",
    "Builtin",
    "ColumnOverride",
    "Dataset",
    "DatasetRef",
    "cache_directory",
    "dataset_names",
    "load_dataset",
    "load_table",
    "parse_reference",
    "read_file",
    "table_digest",
]


def dataset_names() -> tuple[Builtin, ...]:
    """The built-in datasets with their sizes and sources."""
    return tuple(BUILTINS.values())


def load_dataset(reference: str | Path | Mapping[str, Any] | DatasetRef, **more: Any) -> Dataset:
    """Load a dataset.

    Parameters
    ----------
    reference : str, Path, mapping or DatasetRef
        A built-in name (``car``), ``openml:61``, ``openml:iris``, the path of a file, or a mapping
        such as ``{"name": "loans", "path": "loans.parquet", "target": "default"}``.
    **more
        Further keys of such a mapping, e.g. ``target="default"``.

    Raises
    ------
    InputError
        If there is no such dataset, it cannot be read, it has no rows or features, or it has no
        column of a name that you gave.

    Examples
    --------
    >>> car = load_dataset("car")
    >>> car.frame.shape, car.target, car.classes
    ((1728, 7), 'target', ('acc', 'good', 'unacc', 'vgood'))
    """
    ref = parse_reference(reference, **more)
    frame, targets = load_table(ref)
    if ref.path is not None:
        if targets is None:
            names = ", ".join(map(str, frame.columns))
            raise InputError(f"{ref.path} needs a target; name one of its columns: {names}")
        _refuse_unnamed(ref, list(frame.columns))
    test = next(iter(ref.test.items())) if ref.test else None
    dataset = Dataset.build(ref.name, frame, targets or TARGET, ref.overrides(), ref.task, test)
    return dataset.part(ref.features, ref.first, ref.replicate) if ref.is_part else dataset


def load_table(ref: DatasetRef) -> tuple[pd.DataFrame, tuple[str, ...] | None]:
    """The table of a dataset with all columns as they are, and its targets if they are known.

    Raises InputError as :func:`load_dataset`, if the table cannot be read.
    """
    target: tuple[str, ...] | None = ref.targets or None
    if ref.path is not None:
        path = ref.path.expanduser()
        frame = read_file(path, ref.separator, ref.charset, sheet=ref.sheet, forms=ref.forms)
    elif ref.is_fetched:
        name = ref.targets[0] if len(ref.targets) == 1 else None
        frame, found = read_openml(ref.origin, name)
        target = target or (found,)
    else:
        frame = BUILTINS[ref.origin].make()
        target = target or (TARGET,)
    return frame, target


def _refuse_unnamed(ref: DatasetRef, names: list[Any]) -> None:
    """Refuse a column without a name: it may be row numbers, not a feature."""
    for name in map(str, names):
        if name.startswith("Unnamed: ") and name not in (*ref.columns, *ref.targets):
            raise InputError(
                f"{ref.path} has a column without a name, perhaps row numbers; name it, or drop "
                f"it: {override(name, 'drop')}"
            )
