"""The sets of good trees that a sweep has stored, and the rows that they were counted on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from solver.errors import InputError
from sweep.filesystem import Place, open_folder
from sweep.store import rashomon_files
from sweep.store.rashomon_files import read_set
from sweep.verify.datasets import FoldKey, Tables

if TYPE_CHECKING:  # a report without sets needs no kernels
    from solver.rashomon.rashomon_set import RashomonSet

USED = (
    "data_hash", "dataset", "validation", "repeat", "fold", "encoding", "encoding_options",
    "rashomon", *rashomon_files.USED,
)  # fmt: skip
"""The columns of a row that are read here."""


class StoredSets:
    """Reads the sets of a sweep's folder. All methods raise InputError if a file or a dataset is
    not there any more as it was."""

    def __init__(self, store: Place) -> None:
        self._folder = open_folder(store)

    @cached_property
    def _tables(self) -> Tables:
        return Tables(self._folder)

    def restore(self, row: Mapping[str, Any]) -> RashomonSet:
        """The set of a row that has one. Its dataset is read again, and its trees are counted
        again."""
        stored, fold = read_set(self._folder, row["rashomon"]), self._fold(row)
        for text in stored.disagreements(row):
            raise InputError(f"{self._folder.where(row['rashomon'])} is not this task's: {text}")
        problem = self._tables.problem(fold, row["encoding"], row["encoding_options"])
        return stored.restore(problem, row)

    def training_rows(self, row: Mapping[str, Any]) -> pd.DataFrame:
        """The raw rows that a row's trees were trained on, with the target."""
        fold = self._fold(row)
        dataset = self._tables.dataset(fold.data_hash)
        return dataset.frame[~self._tables.held_out(fold)]

    def _fold(self, row: Mapping[str, Any]) -> FoldKey:
        if not self._tables.has(row["data_hash"]):
            raise InputError(self._tables.why_not(row["dataset"]))
        whole = {n: None if pd.isna(row[n]) else int(row[n]) for n in ("repeat", "fold")}
        return FoldKey.of({**row, **whole})
