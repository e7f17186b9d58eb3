"""Write a dataset to an Arrow file and read it back with the same digest.

A column is numbers, dates, or a dictionary of values as JSON; other values are refused. The file
has no pickles and no metadata of pandas.
"""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc

from solver.errors import InputError, one_line
from solver.features.category_values import widened
from solver.features.columns import ColumnSpec
from sweep.datasets.table import Dataset

_VERSION = 1
_ABOUT = b"treesweep-table"
_DTYPE = b"treesweep-dtype"
_ROWS = 2**17
_NULLABLE = {"b": "boolean", "i": "Int64", "u": "UInt64", "f": "Float64"}


def pack(dataset: Dataset, path: Path) -> None:
    """Write a dataset as a compressed Arrow file. Raises InputError for unsupported values."""
    names = list(dataset.frame.columns)
    try:
        columns = [_pack_column(dataset.frame[name]) for name in names]
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise _cannot(dataset, one_line(error, 120)) from None
    about = {"version": _VERSION, "target": dataset.targets, "columns": dataset.columns}
    about |= {"task": dataset.task, "test": dataset.test}
    fields = [
        pa.field(name, array.type, metadata={_DTYPE: dtype})
        for name, (array, dtype) in zip(names, columns, strict=True)
    ]
    schema = pa.schema(fields, metadata={_ABOUT: json.dumps(about)})
    table = pa.Table.from_arrays([array for array, _ in columns], schema=schema)
    options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
    with pyarrow.ipc.new_file(str(path), schema, options=options) as writer:
        writer.write_table(table, max_chunksize=_ROWS)
    back = unpack(path, dataset.name)
    if back.digest != dataset.digest:
        raise _cannot(dataset, "it would not come back as it is")


def unpack(path: Path, name: str) -> Dataset:
    """Read the file of :func:`pack`. The digest is computed again.

    Raises FileNotFoundError if there is no such file, InputError if it is damaged or another one.
    """
    try:
        with pa.OSFile(str(path)) as source:
            table = pyarrow.ipc.open_file(source).read_all()
        about = json.loads((table.schema.metadata or {})[_ABOUT])
        if about["version"] != _VERSION:
            raise ValueError(f"it is of version {about['version']}")
        frame = pd.DataFrame(
            {field.name: _unpack_column(table[i], field) for i, field in enumerate(table.schema)}
        )
        test = None if about["test"] is None else tuple(about["test"])
        return Dataset.build(name, frame, about["target"], about["columns"], about["task"], test)
    except FileNotFoundError:
        raise
    except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        reason = one_line(error, 120)
        raise InputError(f"{path} is damaged, or no table of treesweep's ({reason})") from None


def _cannot(dataset: Dataset, why: str) -> InputError:
    return InputError(
        f"dataset {dataset.name!r} cannot be sent to the workers ({why}); put its file where they "
        "find it under the same path, or write it as CSV or Parquet with plain columns"
    )


# Columns


def _pack_column(column: pd.Series[Any]) -> tuple[pa.Array, str]:
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        values = column.to_numpy()
        return pa.array(values.astype(np.float64) if dtype.itemsize > 8 else values), "plain"
    if isinstance(dtype, pd.CategoricalDtype):
        values = ColumnSpec("category").factorize(pd.Series(dtype.categories, name=column.name))[1]
        texts = [json.dumps(value, ensure_ascii=False) for value in values[:-1]]
        return _dictionary(column.cat.codes.to_numpy(), texts), "category"
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return pa.Array.from_pandas(column), "date"
    column = widened(column)
    if pd.api.types.infer_dtype(column, skipna=True).startswith("mixed"):
        # 1, 1.0 and True are equal, but columns with them are read in different ways.
        written = [None if pd.isna(v) else _text(v) for v in column.tolist()]
        codes, found = pd.factorize(pd.Series(written, dtype=object))
        return _dictionary(codes, list(found)), "object"
    codes, distinct = pd.factorize(column)
    return _dictionary(codes, [_text(value) for value in distinct]), _nullable(dtype)


def _nullable(dtype: Any) -> str:
    """The pandas dtype for reading a column: numeric if it was numeric."""
    types = pd.api.types
    if types.is_bool_dtype(dtype):
        return _NULLABLE["b"]
    if types.is_numeric_dtype(dtype):
        return _NULLABLE.get(np.dtype(getattr(dtype, "numpy_dtype", dtype)).kind, "object")
    return "object"


def _dictionary(codes: np.ndarray[Any, Any], texts: list[str]) -> pa.Array:
    indices = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts, pa.string()))


def _text(value: Any) -> str:
    return json.dumps(_tagged(value), ensure_ascii=False)


def _tagged(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dt.datetime):  # pandas' own among them
        return ["moment", value.isoformat()]
    if isinstance(value, dt.date):
        return ["date", value.isoformat()]
    if isinstance(value, Decimal):
        return ["decimal", str(value)]
    if type(value) in (str, bool, int, float):
        return value
    raise TypeError(f"it has {type(value).__name__} values")


def _untagged(text: str) -> Any:
    value = json.loads(text)
    if not isinstance(value, list):
        return value
    kind, content = value
    readers: dict[str, Any] = {
        "moment": pd.Timestamp,
        "date": dt.date.fromisoformat,
        "decimal": Decimal,
    }
    return readers[kind](content)


def _unpack_column(column: pa.ChunkedArray, field: pa.Field) -> Any:
    dtype = (field.metadata or {})[_DTYPE].decode()
    if dtype == "plain":
        return column.to_numpy()
    if dtype == "date":
        return column.to_pandas()
    whole = column.combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    codes = whole.indices.fill_null(-1).to_numpy()
    found = [_untagged(text) for text in whole.dictionary.to_pylist()]
    if dtype == "category":
        return pd.Categorical.from_codes(codes, pd.Index(found))
    values = np.empty(len(found) + 1, dtype=object)
    values[:-1] = found
    taken = pd.Series(values[codes], dtype=object)
    return taken if dtype == "object" else taken.astype(dtype)
