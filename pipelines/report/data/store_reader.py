"""Read a sweep's rows and plan from its store. Texts that repeat are kept once."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sweep.filesystem import Place, open_folder
from sweep.rows.schema import SCHEMA
from sweep.store import certificate_files
from sweep.store.part_files import Parts
from sweep.store.plan_file import plan_tables
from sweep.store.row_precedence import RUN_COLUMNS, rows_of_keys
from sweep.store.store import read_manifest

_UNIQUE = (
    "key", "answered_by", "objective_exact", "lower_bound_exact", "gap_exact", "proof", "rashomon",
)  # fmt: skip
"""Texts that rarely repeat."""

_LONG = ("tree", "extra")
"""Texts that are also compressed."""

_READ = [name for name in SCHEMA.names if name != "trace"]


def read_rows(store: Place) -> pd.DataFrame:
    """All rows of a store without their traces, in the order in which they were stored; errors as
    :func:`sweep.store.read_results.read_results`. ``proof`` is null where the file is gone."""
    folder = open_folder(store)
    read_manifest(folder)
    table = Parts(folder).read(_READ, _short).unify_dictionaries()
    proof = pc.if_else(certificate_files.lost(folder, table), None, table["proof"])
    table = table.set_column(table.schema.get_field_index("proof"), "proof", proof)
    pa.default_memory_pool().release_unused()
    frame = _as_frame(table)
    return frame.assign(trace=None)[list(SCHEMA.names)]


def read_traces(
    stores: Sequence[Place], keys: Collection[str]
) -> dict[str, list[tuple[float, float]]]:
    """Seconds and objective of each better tree of the runs that count, by their stored keys."""
    wanted = pa.array([*keys], pa.string())

    def of_these(table: pa.Table) -> pa.Table:
        return table.filter(pc.is_in(table["key"], value_set=wanted))

    tables = [Parts(open_folder(one)).read((*RUN_COLUMNS, "trace"), of_these) for one in stores]
    rows = pa.concat_tables(tables)
    places = rows_of_keys(wanted, rows)
    known = places >= 0
    pairs = zip(wanted.filter(pa.array(known)).to_pylist(),
                rows["trace"].take(places[known]).to_pylist(), strict=True)  # fmt: skip
    return {
        key: [(point["seconds"], point["objective"]) for point in trace]
        for key, trace in pairs
        if trace
    }


def read_plan_columns(store: Place) -> pd.DataFrame:
    """The plan of a sweep; errors as :func:`sweep.store.plan_file.read_plan`."""
    tables = [_short(table) for table in plan_tables(store)]
    return _as_frame(pa.concat_tables(tables).unify_dictionaries())


def _short(table: pa.Table) -> pa.Table:
    """The table with every text that repeats stored once."""
    for place, field in enumerate(table.schema):
        if field.type == pa.string() and field.name not in _UNIQUE:
            column = table[field.name]
            short = compress_column(column) if field.name in _LONG else column.dictionary_encode()
            table = table.set_column(place, field.name, short)
    return table


def _as_frame(table: pa.Table) -> pd.DataFrame:
    """The table in pandas, converted column by column so that both need not fit into memory."""
    columns: dict[str, pd.Series[Any]] = {}
    for name in table.column_names:
        columns[name] = _column(table[name])
        table = table.drop_columns([name])
    return pd.DataFrame(columns, copy=False)


def _column(column: pa.ChunkedArray) -> pd.Series[Any]:
    if not pa.types.is_list(column.type):
        found: pd.Series[Any] = column.to_pandas()
        return found
    if column.null_count == len(column):
        return pd.Series([None] * len(column), dtype=object)
    return pd.Series(column.to_pandas(), dtype=object)


def compress_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts with each different text stored once, and compressed."""
    chunks = []
    for chunk in column.chunks:
        encoded = chunk.dictionary_encode()
        compressed = [zlib.compress(text.encode(), 1) for text in encoded.dictionary.to_pylist()]
        values = pa.array(compressed, pa.binary())
        chunks.append(pa.DictionaryArray.from_arrays(encoded.indices, values))
    return pa.chunked_array(chunks, pa.dictionary(pa.int32(), pa.binary()))


def decompress(value: str | bytes) -> str:
    """The text of a value of such a column; a text that was not compressed is returned as it is."""
    return value if isinstance(value, str) else zlib.decompress(value).decode()
