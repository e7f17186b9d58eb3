"""Comparing a store that faults have hit with an undisturbed one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from solver.errors import InputError
from solver.solution import Status
from sweep.store.read_results import read_results
from sweep.verify.verify import verify_sweep
from tests.helpers import drivers

# A search that goes on from its best tree, or a certificate made anew, may take other ways.
_EFFORT = {"proof_seconds", "iterations", "nodes", "proof_bytes", "path_points"}
VARYING = _EFFORT.union(drivers.VARYING)
"""Columns of times, places and effort. All others must be equal."""


@dataclass
class Damage:
    """What is wrong with a store; all is well if all are empty.

    Parameters
    ----------
    lost : set of str
        Keys of tasks without a result, or whose result was on the disk once and is not any more.
    doubled : set of str
        Keys with more than one result.
    differing : dict
        By key, what is unlike the undisturbed run, or is found wrong by ``verify``.
    """

    lost: set[str] = field(default_factory=set)
    doubled: set[str] = field(default_factory=set)
    differing: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.lost or self.doubled or self.differing)

    def line(self, faults: int) -> str:
        """The last line of the output."""
        found = f"lost={len(self.lost)} doubled={len(self.doubled)} differing={len(self.differing)}"
        return f"faults={faults} {found}"


def results(out: Path) -> pd.DataFrame:
    """All runs of a store that gave a result, also those that reading would hide."""
    frame = read_results(out, every_run=True)
    gave = [Status(status).has_tree for status in frame["status"]]
    return frame[np.array(gave, dtype=bool)]


class Ledger:
    """Remembers which results were seen on the disk: what is there must stay.

    Results may only go if the file that held them was damaged, see :meth:`strike`.
    """

    def __init__(self) -> None:
        self._seen: dict[str, pd.Timestamp] = {}
        self._is_struck = False

    def strike(self, keys: list[str]) -> None:
        """Results that were damaged on purpose."""
        self._is_struck = True
        for key in keys:
            self._seen.pop(key, None)

    def look(self, out: Path, damage: Damage) -> None:
        """Compare with what was seen before."""
        try:
            frame = results(out)
        except InputError:
            if self._is_struck:
                return  # no driver has come to mend it since
            raise
        self._is_struck = False
        here = dict(zip(frame["key"], frame["started"], strict=True))
        for key, started in self._seen.items():
            if here.get(key) != started:
                damage.lost.add(key)
        self._seen = here


def compare(quiet: pd.DataFrame, out: Path, damage: Damage, verify: bool = True) -> None:
    """Hold a finished store against the results of an undisturbed run."""
    found = results(out)
    damage.lost |= set(quiet["key"]) - set(found["key"])
    damage.doubled |= set(found["key"][found["key"].duplicated()])
    shown = read_results(out)
    damage.doubled |= set(shown["key"][shown["key"].duplicated()])
    expected = {row["key"]: row for row in quiet.to_dict("records")}
    for row in found.to_dict("records"):
        other = expected.get(row["key"], {})
        unlike = [n for n in row if n not in VARYING and not _equal(row[n], other.get(n))]
        for name in unlike:
            change = f"{name}: {_short(row[name])} instead of {_short(other.get(name))}"
            damage.differing[row["key"]] = change
    if verify:
        for finding in verify_sweep(out).findings:
            damage.differing[finding.key] = finding.problem


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return (
            isinstance(one, np.ndarray)
            and isinstance(other, np.ndarray)
            and len(one) == len(other)
            and all(_equal(a, b) for a, b in zip(one, other, strict=True))
        )
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    if pd.api.types.is_scalar(one) and pd.api.types.is_scalar(other):
        if pd.isna(one) or pd.isna(other):
            return bool(pd.isna(one) and pd.isna(other))
    return bool(one == other)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
