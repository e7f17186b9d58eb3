"""Bounds and trees of every branch from searches at other λ, carried over to a new one."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.kernels.constants import Ints
from solver.objective.exact_objective import INFINITE, CostScale

ARCHIVED = "archive."
"""How the names of an archive's arrays begin in the state of a search."""

_PRICES = f"{ARCHIVED}prices"
_NEAREST = 3  # records on either side that bounds are taken from; others tell hardly more


BYTES_A_NODE = 32
"""Bytes of a record for every node."""


class Record(NamedTuple):
    """The bounds of all nodes at one λ, and their trees as errors and splits.

    ``price`` is that of a split in units of weight in error, ``lower`` are lower bounds in these
    units. ``errors`` and ``splits`` are those of the best tree known, INFINITE errors without one;
    ``best`` is its first split.
    """

    price: Fraction
    lower: np.ndarray[tuple[int], np.dtype[np.float64]]
    errors: Ints
    splits: Ints
    best: Ints


class Archive:
    """Bounds by price.

    The least cost of a branch is the least ``errors + price·splits`` over its trees: a concave
    function of the price that never falls. So a bound at one price holds at every higher one, and
    bounds may be interpolated between two prices, also from the bound 0 at price 0.
    """

    def __init__(self) -> None:
        self.records: list[Record] = []

    @property
    def bytes(self) -> int:
        """Memory of all arrays."""
        return sum(array.nbytes for record in self.records for array in record[1:])

    def state(self) -> dict[str, NDArray[Any]]:
        """All records as arrays, which are views; the prices as numerators and denominators."""
        ratios = [record.price.as_integer_ratio() for record in self.records]
        found: dict[str, NDArray[Any]] = {_PRICES: np.array(ratios, np.int64)}
        for i, record in enumerate(self.records):
            for name in Record._fields[1:]:
                found[f"{ARCHIVED}{i}.{name}"] = getattr(record, name)
        return found

    @classmethod
    def restored(cls, state: Mapping[str, NDArray[Any]], nodes: int) -> Archive:
        """The reverse of :meth:`state`; ``state`` may hold other arrays too.

        No record has more than ``nodes``, those of the memo. InputError if the arrays do not fit.
        """
        archive = cls()
        names, ratios = Record._fields[1:], state.get(_PRICES, np.zeros((0, 2), np.int64))
        own = {f"{ARCHIVED}{i}.{name}" for i in range(len(ratios)) for name in names}
        if {name for name in state if name.startswith(ARCHIVED)} != {_PRICES, *own}:
            raise InputError("the state's bounds of other λ are not complete; it is damaged")
        for i, (numerator, denominator) in enumerate(ratios.tolist()):
            lower, errors, splits, best = (state[f"{ARCHIVED}{i}.{name}"] for name in names)
            whole = {array.dtype.str for array in (errors, splits, best)} == {"<i8"}
            lengths = {array.shape for array in (lower, errors, splits, best)}
            if lower.dtype != np.float64 or not whole or len(lengths) > 1 or len(lower) > nodes:
                raise InputError("the state's bounds of other λ do not fit; it is damaged")
            price = Fraction(numerator, denominator)
            archive.records.append(Record(price, lower, errors, splits, best))
        return archive

    def add(self, cost_scale: CostScale, unit: int, lower: Ints, upper: Ints, best: Ints) -> None:
        """Keep the bounds and trees of a search; costs are those of its prices."""
        error = cost_scale.error * unit
        # A cost is ``error·errors + split·splits`` with ``error`` a multiple of ``tie``, and
        # ``split`` one more than a multiple.
        splits = np.where(upper < INFINITE, upper % cost_scale.tie, 0)
        errors = np.where(upper < INFINITE, (upper - splits * cost_scale.split) // error, INFINITE)
        self.records.append(
            Record(Fraction(cost_scale.split, error), lower / error, errors, splits, best.copy())
        )

    def carry(self, cost_scale: CostScale, unit: int, nodes: int) -> tuple[Ints, Ints, Ints]:
        """Lower bounds, costs of known trees and their first splits, at other prices."""
        error = cost_scale.error * unit
        price = Fraction(cost_scale.split, error)
        lower = np.zeros(nodes)
        upper, best = np.full(nodes, INFINITE), np.full(nodes, -1)
        records = sorted(self.records, key=lambda record: record.price)
        below = [record for record in records if record.price <= price][-_NEAREST:]
        above = [record for record in records if record.price > price][:_NEAREST]
        for record in below:
            n = len(record.lower)
            np.maximum(lower[:n], record.lower, out=lower[:n])
            for other in above:
                share = float((price - record.price) / (other.price - record.price))
                m = min(n, len(other.lower))
                between = (1 - share) * record.lower[:m] + share * other.lower[:m]
                np.maximum(lower[:m], between, out=lower[:m])
        for record in above:
            n = len(record.lower)
            np.maximum(lower[:n], float(price / record.price) * record.lower, out=lower[:n])
        for record in self.records:
            n = len(record.lower)
            # A tree of many splits, which were cheap, would cost more than 64 bits hold.
            fits = (record.errors < INFINITE) & (record.splits <= INFINITE // cost_scale.split)
            splits = np.where(fits, record.splits, 0)
            cost = np.where(fits, record.errors * error + splits * cost_scale.split, INFINITE)
            better = cost < upper[:n]
            upper[:n][better], best[:n][better] = cost[better], record.best[better]
        # A bound is the next integer up. What rounding has added to it is taken off first.
        lower *= error
        bound = np.ceil(lower * (1 - 2.0**-46) - 2.0**-20).astype(np.int64)
        return np.minimum(np.maximum(bound, 0), upper), upper, best
