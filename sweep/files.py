"""Writing files so that a reader finds the old content or the new, and a crash tears nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from solver.errors import InputError


def replace(path: Path, write: Callable[[Path], None], durable: bool = True) -> None:
    """Write beside a file, then rename.

    Parameters
    ----------
    write : callable
        Given the path to write to.
    durable : bool
        Whether the file must survive a power cut once this returns.

    Raises
    ------
    InputError
        If the disk is full or the folder cannot be written to.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        try:
            write(temporary)
            if durable:
                sync(temporary)
            os.replace(temporary, path)
            if durable:
                sync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror or error}; make room or give the folder other "
            "rights, then resume the sweep"
        ) from None


def write_text(path: Path, text: str, durable: bool = True) -> None:
    """Write text; errors as :func:`replace`."""

    def write(to: Path) -> None:
        to.write_text(text, encoding="utf-8")

    replace(path, write, durable)


def write_json(path: Path, data: Any, durable: bool = True) -> None:
    """Write JSON; errors as :func:`replace`."""
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n", durable)


def write_table(path: Path, table: pa.Table) -> None:
    """Write a Parquet file with checksums; errors as :func:`replace`."""

    def write(to: Path) -> None:
        pq.write_table(table, to, compression="zstd", write_page_checksum=True)

    replace(path, write)


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a Parquet file and check its checksums.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    InputError
        If it is damaged.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(columns=columns)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        text = " ".join(str(error).split())
        raise InputError(
            f"{path} is damaged ({text[:120]}); move it away, then 'treesweep resume' computes "
            "again what it held"
        ) from None


def read_json(path: Path) -> Any:
    """Read JSON.

    Raises
    ------
    InputError
        If it is not there or damaged.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError:
        raise InputError(f"{path} is damaged: it is not valid JSON") from None


def sync(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
