"""Limits on what a search may spend and on the tree."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

from solver.errors import InputError

_LARGEST = 2**60


@dataclass(frozen=True)
class Limits:
    """Limits of one solve; ``None`` means no limit.

    Parameters
    ----------
    seconds : float
        Search time without compilation. Honoured within 100 ms.
    bytes : int
        Memory of the search's own arrays.
    nodes : int
        Branches in the memo. The search stops at the same branch on every machine.
    depth : int
        Longest path of the tree, in splits.
    splits : int
        Splits of the tree.
    min_leaf_size : int, float or Fraction
        Smallest weight of a leaf, in the unit of the given weights. A float stands for its
        shortest decimal. Children of a multiway split without rows are allowed.

    Raises
    ------
    InputError
        If a limit is negative, not a number, or larger than any search can reach.
    """

    seconds: float | None = None
    bytes: int | None = None
    nodes: int | None = None
    depth: int | None = None
    splits: int | None = None
    min_leaf_size: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            whole = field.name not in ("seconds", "min_leaf_size")
            number = isinstance(value, Integral if whole else Real)
            if isinstance(value, bool) or not number or not 0 <= value < math.inf:
                kind = "a whole number" if whole else "a number"
                raise InputError(f"limit {field.name} = {value!r} must be {kind} of 0 or more")
            if field.name != "seconds" and value > _LARGEST:
                raise InputError(
                    f"limit {field.name} = {value!r} is too large; leave it out for no limit"
                )
            # numpy's numbers, as a grid search has them, are stored as Python's.
            counted = whole or (field.name == "min_leaf_size" and value == int(value))
            kept = int(value) if counted else _exact_or_float(value)
            object.__setattr__(self, field.name, kept)

    def to_dict(self) -> dict[str, Any]:
        """The limits that are set, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def _exact_or_float(value: Any) -> Any:
    """A fraction as it is; another number, also a float32, as the float of its shortest decimal."""
    return value if isinstance(value, Fraction) else float(str(value))
