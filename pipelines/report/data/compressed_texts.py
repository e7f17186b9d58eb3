"""Texts of trees in little memory: a million different ones would take a gigabyte and more."""

from __future__ import annotations

import zlib

import pyarrow as pa


def pack_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts with each one stored once, and packed; equal texts are packed alike."""
    chunks = []
    for chunk in column.chunks:
        encoded = chunk.dictionary_encode()
        packed = [zlib.compress(text.encode(), 1) for text in encoded.dictionary.to_pylist()]
        values = pa.array(packed, pa.binary())
        chunks.append(pa.DictionaryArray.from_arrays(encoded.indices, values))
    return pa.chunked_array(chunks, pa.dictionary(pa.int32(), pa.binary()))


def unpack(value: str | bytes) -> str:
    """The text of a value of such a column; a text that was never packed is as it is."""
    return value if isinstance(value, str) else zlib.decompress(value).decode()
