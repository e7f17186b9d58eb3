"""Limits on what a search may spend and on the tree."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Self

from solver.errors import InputError, unknown_name

_LARGEST = 2**60
OTHER_NAMES = {
    "max_depth": "depth",
    "max_splits": "splits",
    "min_samples_leaf": "min_leaf_size",
    "time": "seconds",
    "time_limit": "seconds",
    "timeout": "seconds",
    "memory": "bytes",
    "memory_limit": "bytes",
    "node_limit": "nodes",
}
"""Limits, by the names that programs call them."""


@dataclass(frozen=True)
class Limits:
    """Limits of one solve; ``None`` means no limit.

    Parameters
    ----------
    seconds : float
        Search time without compilation. The search stops within 100 ms of the limit.
    bytes : int
        Memory of the search's own arrays.
    nodes : int
        Size of the search: branches or trees that it holds (``branches``, ``osdt``), or thresholds
        or rules that it evaluates (``quantbnb``, ``proper``). The search stops at the same point on
        every machine.
    depth : int
        Longest path of the tree, in splits.
    splits : int
        Splits of the tree.
    min_leaf_size : int, float, Fraction or Decimal
        Smallest weight of a leaf, in the unit of the given weights. A float is read as its shortest
        decimal: 0.1 is exactly 1/10. The limit does not apply to a child of a multiway split that
        has no rows, nor to the tree without a split.

    Raises
    ------
    InputError
        If a limit is negative, not a number, or larger than any search can reach.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> limits = treesweep.Limits(seconds=60, bytes=2**30, depth=1)
    >>> treesweep.solve(problem, lam="0.05", limits=limits).depth
    0
    """

    seconds: float | None = None
    bytes: int | None = None
    nodes: int | None = None
    depth: int | None = None
    splits: int | None = None
    min_leaf_size: float | None = None

    def __new__(cls, *values: Any, **named: Any) -> Self:
        """Refuse what is no limit; Python's own error does not say which limits there are."""
        known = list(cls.__dataclass_fields__)
        for name in named:
            if name not in known:
                raise InputError(
                    f"Limits: {unknown_name(name, known, 'limit', OTHER_NAMES.get(name))}"
                )
        if len(values) > len(known) or set(known[: len(values)]) & named.keys():
            raise InputError("Limits: each limit is given once, by its name: Limits(seconds=60)")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            if value is None:
                continue
            whole = name not in ("seconds", "min_leaf_size")
            number = isinstance(value, Integral if whole else Real)
            if name == "min_leaf_size" and isinstance(value, Decimal):
                number = value.is_finite()  # weights may be decimals, too
            if isinstance(value, bool) or not number or not 0 <= value < math.inf:
                kind = "a whole number" if whole else "a number"
                raise InputError(
                    f"limit {name} = {value!r} must be {kind} of 0 or more"
                    f"{_as_number(name, value, whole)}"
                )
            if name != "seconds" and value > _LARGEST:
                raise InputError(
                    f"limit {name} = {value!r} is too large; leave it out for no limit"
                )
            # numpy's numbers, as a grid search has them, are stored as Python's.
            counted = whole or (name == "min_leaf_size" and value == int(value))
            kept = int(value) if counted else _exact_or_float(value)
            object.__setattr__(self, name, kept)

    def to_dict(self) -> dict[str, Any]:
        """The limits that are set, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def _as_number(name: str, value: object, whole: bool) -> str:
    """What to write instead of a number in quotes."""
    with suppress(ValueError):
        if isinstance(value, str) and (number := (int if whole else float)(value)) >= 0:
            return f"; write {name}={number:g}" if number < math.inf else "; leave it out"
    return ""


def _exact_or_float(value: Any) -> Any:
    """A fraction as it is and a decimal as the same fraction; another number, also a float32, as
    the float of its shortest decimal."""
    return Fraction(value) if isinstance(value, (Fraction, Decimal)) else float(str(value))
