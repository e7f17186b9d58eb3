"""Bounds and trees of every branch from searches at other λ, carried over to a new one."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.kernels.constants import Floats, Ints
from solver.kernels.jit import ensure_compiled, helper, is_compiled, kernel, unchecked
from solver.objective.exact_objective import INFINITE, CostScale

ARCHIVED = "archive."
"""How the names of an archive's arrays begin in the state of a search."""

_PRICES = f"{ARCHIVED}prices"
_NEAREST = 3  # records on either side that bounds are taken from; others tell hardly more
_MOST_SPLITS = 2**12  # that a bound is looked for among
_WINDOW = 32  # numbers of splits on either side of the best that are tried one by one
_ROUNDING = 2.0**-38  # share of a bound that floats may be off, over so many splits

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

    A bound ``L`` at price ``p`` says of every tree of a branch ``errors ≥ L − p·splits``. The
    bounds at all prices say together how many errors a tree of a number of splits has at least,
    and errors are whole numbers. The least cost of these pairs is a bound at any other price.
    """

    def __init__(self) -> None:
        self.records: list[Record] = []
        # Records by price; floats order them faster than fractions do.
        self._prices: list[float] = []
        self._by_price: list[Record] = []
        self.bytes = 0
        """Memory of all arrays."""

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
            fits = lower.dtype == np.float64 and whole and lower.ndim == 1 and len(lengths) == 1
            if not fits or len(lower) > nodes:
                raise InputError("the state's bounds of other λ do not fit; it is damaged")
            price = Fraction(numerator, denominator)
            arrays = map(np.ascontiguousarray, (lower, errors, splits, best))
            archive._keep(Record(price, *arrays))
        return archive

    def _keep(self, record: Record) -> None:
        self.records.append(record)
        self.bytes += sum([array.nbytes for array in record[1:]])
        price = float(record.price)
        place = bisect_right(self._prices, price)
        self._prices.insert(place, price)
        self._by_price.insert(place, record)

    def add(self, cost_scale: CostScale, unit: int, lower: Ints, upper: Ints, best: Ints) -> None:
        """Keep the bounds and trees of a search; costs are those of its prices."""
        nodes, error = len(lower), cost_scale.error * unit
        price = Fraction(cost_scale.split, error)
        ints = (np.empty(nodes, np.int64) for _ in range(3))
        record = Record(price, np.empty(nodes), *ints)
        scale = error, cost_scale.split, cost_scale.tie
        _kernels().record_nodes(lower, upper, best, *scale, *record[1:])
        self._keep(record)

    def carry(self, cost_scale: CostScale, unit: int, fewest: Ints) -> tuple[Ints, Ints, Ints]:
        """Lower bounds, costs of known trees and their first splits, at other prices.

        ``fewest``, (nodes, 2), are the errors of a node as a leaf and with one split, or less.
        """
        nodes, error, kernels = len(fewest), cost_scale.error * unit, _kernels()
        lower, upper, best = np.empty((3, nodes), np.int64)
        upper.fill(INFINITE)
        best.fill(-1)
        for record in self.records:
            known = record.errors, record.splits, record.best
            kernels.take_trees(*known, error, cost_scale.split, upper, best)
        near = self._near(cost_scale.split / error)
        # Beyond its nodes a record says nothing.
        records = self._by_price[near]
        stacked = np.zeros((len(records), nodes))
        for row, record in zip(stacked, records, strict=True):
            row[: len(record.lower)] = record.lower
        prices = np.array(self._prices[near])
        kernels.bound_nodes(prices, stacked, fewest, error, cost_scale.split, upper, lower)
        return lower, upper, best

    def _near(self, price: float) -> slice:
        """The places of the records that bounds at a price are taken from."""
        place = bisect_right(self._prices, price)
        return slice(max(place - _NEAREST, 0), place + _NEAREST)


def compile_carrying() -> float:
    """Compile the kernels of an archive, the first time; seconds it took."""
    if is_compiled(record_nodes) and is_compiled(take_trees) and is_compiled(bound_nodes):
        return 0.0
    ints, floats = np.zeros(0, np.int64), np.zeros(0)
    bounds, fewest = np.zeros((0, 0)), np.zeros((0, 2), np.int64)
    three = ints, ints, ints
    return (
        ensure_compiled(record_nodes, *three, 0, 0, 0, floats, *three)
        + ensure_compiled(take_trees, *three, 0, 0, ints, ints)
        + ensure_compiled(bound_nodes, floats, bounds, fewest, 0, 0, ints, ints)
    )


class _Kernels(NamedTuple):
    """Those of an archive, which do not look at the types of its arrays."""

    record_nodes: Callable[..., None]
    take_trees: Callable[..., None]
    bound_nodes: Callable[..., None]


@cache
def _kernels() -> _Kernels:
    compile_carrying()
    return _Kernels(unchecked(record_nodes), unchecked(take_trees), unchecked(bound_nodes))


@kernel
def record_nodes(
    lower: Ints,
    upper: Ints,
    best: Ints,
    error: int,
    split: int,
    tie: int,
    bounds: Floats,
    errors: Ints,
    splits: Ints,
    first: Ints,
) -> None:
    """Write bounds and trees, as costs, to the arrays of a record.

    A cost is ``error·errors + split·splits`` with ``error`` a multiple of ``tie``, and ``split``
    one more than a multiple.
    """
    for node in range(len(lower)):
        bounds[node], first[node] = lower[node] / error, best[node]
        errors[node], splits[node] = INFINITE, 0
        if upper[node] < INFINITE:
            splits[node] = upper[node] % tie
            errors[node] = (upper[node] - splits[node] * split) // error


@kernel
def take_trees(
    errors: Ints, splits: Ints, first: Ints, error: int, split: int, upper: Ints, best: Ints
) -> None:
    """Take the trees of a record where they cost less than those known."""
    most = INFINITE // split
    for node in range(len(errors)):
        # A tree of many splits, which were cheap, would cost more than 64 bits hold.
        if errors[node] < INFINITE and splits[node] <= most:
            cost = errors[node] * error + splits[node] * split
            if cost < upper[node]:
                upper[node], best[node] = cost, first[node]


@helper
def fewest_errors(prices: Floats, bounds: Floats, node: int, splits: int) -> float:
    """Errors of a tree of so many splits, at least; what rounding may have added is taken off."""
    most = 0.0
    for i in range(len(prices)):
        paid = prices[i] * splits
        most = max(most, bounds[i, node] - paid - _ROUNDING * (bounds[i, node] + paid))
    return most - 2.0**-20


@helper
def best_splits(
    prices: Floats, bounds: Floats, node: int, error: int, split: int, most: int
) -> int:
    """The splits, up to ``most``, at which errors that need not be whole cost least."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        saved = fewest_errors(prices, bounds, node, middle) - fewest_errors(
            prices, bounds, node, middle + 1
        )
        if saved * error > split:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def level(prices: Floats, bounds: Floats, node: int, error: int, split: int) -> int:
    """The cost that bounds at lower prices, and at this one, prove: the least cost never falls."""
    most = 0.0
    for i in range(len(prices)):
        if prices[i] <= split / error:
            most = max(most, bounds[i, node] * error)
    return max(0, math.ceil(most - _ROUNDING * most - 2.0**-20))


@kernel
def bound_nodes(
    prices: Floats,
    bounds: Floats,
    fewest: Ints,
    error: int,
    split: int,
    upper: Ints,
    lower: Ints,
) -> None:
    """The least cost of every node's trees that the bounds at several prices allow.

    ``bounds`` are (prices, nodes), ``fewest`` as in :meth:`Archive.carry`, ``upper`` the costs of
    known trees. The cost of errors that need not be whole is a convex function of the splits. So no
    tree costs less than the cheapest pair of numbers near its minimum, and its own values beyond.
    """
    for node in range(len(lower)):
        low = level(prices, bounds, node, error, split)
        if low >= upper[node]:
            lower[node] = upper[node]
            continue
        errors = max(fewest[node, 0], math.ceil(fewest_errors(prices, bounds, node, 0)))
        best = min(max(errors, 0) * error, upper[node])
        most, lower[node] = best // split, low
        if most > _MOST_SPLITS:
            continue
        centre = best_splits(prices, bounds, node, error, split, most)
        for step in (1, -1):
            splits = max(centre, 1) if step > 0 else centre - 1
            for i in range(_WINDOW + 1):
                if not 1 <= splits <= most:
                    break
                errors_ = fewest_errors(prices, bounds, node, splits)
                if errors_ * error + splits * split >= best:
                    break
                least = fewest[node, 1] if splits == 1 else 0
                if i == _WINDOW:
                    best = min(best, max(0, math.floor(errors_ * error)) + splits * split)
                else:
                    best = min(best, max(least, math.ceil(errors_)) * error + splits * split)
                splits += step
        lower[node] = max(low, best)
