"""A certificate: the proof that no tree is better, as a table that another program can check.

It lists the branches in the order in which the proof opens them; see
:mod:`solver.verify.certificate_checker` for the meaning of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FORMAT, VERSION = "treesweep-certificate", 2

LARGEST_COST = 2**60
"""The denominator of λ times the total weight, the cost of all rows, is below it: a checker of
64-bit integers adds several costs."""

RULES = ("splits", "counts", "known")
"""Why a row's bound holds: by all splits of its branch, with the rows below it; the same, by
counting alone; or by what was known before."""

COLUMNS = ("lam", "level", "feature", "code", "bound", "rule")


class Claim(NamedTuple):
    """What an optimal tree has at a λ."""

    lam: Fraction
    errors: int
    splits: int


@dataclass(frozen=True)
class Certificate:
    """A proof of lower bounds at one λ or several.

    Parameters
    ----------
    lam : sequence of str
        λ of every row, a fraction.
    level : (rows,)
        0 is the branch of all rows; a branch of level ``l`` is a child of the last one of level
        ``l − 1`` before it.
    feature, code : (rows,)
        The test that leads to the branch from its parent; −1 at level 0.
    bound : (rows,)
        No tree for the branch costs less, in units of 1 / (denominator of λ · total weight).
    rule : (rows,)
        Positions in :data:`RULES`.
    depth : int or None
        The limit on depth of the proof.
    total_weight : int
    """

    lam: Sequence[str]
    level: NDArray[np.int32]
    feature: NDArray[np.int32]
    code: NDArray[np.int32]
    bound: NDArray[np.int64]
    rule: NDArray[np.int8]
    depth: int | None
    total_weight: int

    def __len__(self) -> int:
        return len(self.level)

    @property
    def meta(self) -> dict[str, Any]:
        """What holds for all rows, as plain data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "depth": self.depth,
            "total_weight": self.total_weight,
        }

    def columns(self) -> dict[str, Any]:
        """The table: names of columns, and their values."""
        return {
            "lam": list(self.lam),
            "level": self.level,
            "feature": self.feature,
            "code": self.code,
            "bound": self.bound,
            "rule": [RULES[rule] for rule in self.rule.tolist()],
        }

    @classmethod
    def joined(cls, parts: Sequence[Certificate]) -> Certificate:
        """Proofs at several λ, one after the other."""
        return cls(
            lam=[lam for part in parts for lam in part.lam],
            level=np.concatenate([part.level for part in parts]),
            feature=np.concatenate([part.feature for part in parts]),
            code=np.concatenate([part.code for part in parts]),
            bound=np.concatenate([part.bound for part in parts]),
            rule=np.concatenate([part.rule for part in parts]),
            depth=parts[0].depth,
            total_weight=parts[0].total_weight,
        )
