"""Tables of other libraries as those of pandas, value for value."""

from __future__ import annotations

from typing import Any

import pandas as pd

from solver.errors import InputError

_EXACT = 2.0**53


def check_names(table: pd.DataFrame) -> None:
    """Raise InputError if two columns have the same name."""
    names = pd.Index([str(name) for name in table.columns])
    if names.has_duplicates:
        twice = names[names.duplicated()][0]
        raise InputError(f"the table has two columns named {twice!r}; rename one of them")


def as_frame(table: Any) -> pd.DataFrame:
    """A table as pandas has it.

    Whole numbers beyond 2^53 stay what they are: beside missing ones ``to_pandas()`` makes floats
    of them.

    Raises
    ------
    InputError
        If it is no DataFrame and has no ``to_pandas()``, or two columns have the same name.
    """
    if isinstance(table, pd.DataFrame):
        return table
    found = table.to_pandas() if hasattr(table, "to_pandas") else table
    if not isinstance(found, pd.DataFrame):
        raise InputError(
            f"the table is a {type(table).__name__}; give a pandas DataFrame, or what has "
            "to_pandas()"
        )
    check_names(found)
    for name, column in found.items():
        if column.dtype.kind == "f" and (column.abs() >= _EXACT).any():
            given = table[str(name)]
            values = given.to_pylist() if hasattr(given, "to_pylist") else list(given)
            whole = [value for value in values if isinstance(value, int)]
            if whole:
                dtype = pd.Int64Dtype() if max(whole) < 2**63 else pd.UInt64Dtype()
                found[name] = pd.array(values, dtype=dtype)
    return found
