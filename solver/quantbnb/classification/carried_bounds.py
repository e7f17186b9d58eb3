"""Bounds of the thresholds at the root from searches at other λ, carried over to a new one.

A bound ``L`` at price ``p`` says of every tree of a part ``errors ≥ L − p·splits``. The bounds at
all prices say together how many errors a tree of a number of splits has at least, and errors are
whole numbers. The least cost of these pairs is a bound at any other price. The part on the left of
a threshold grows with it, the one on the right shrinks: so the nearest known thresholds bound the
parts of one that is new.

They are kept without a least weight of leaves only: with one they hold for wider classes of trees,
which depend on the interval of a threshold.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.kernels.constants import Floats, Ints
from solver.kernels.jit import helper, kernel
from solver.kernels.pass_by_reference import by_reference
from solver.objective.exact_objective import INFINITE
from solver.quantbnb.classification.class_bounds import take_largest
from solver.quantbnb.classification.state import (
    AT,
    CHILD,
    FEATURE,
    LIMIT,
    OPENING,
    PHASE,
    POINTS,
    START,
    Levels,
    Params,
    Part,
    Sweep,
    Table,
)
from solver.quantbnb.classification.stump_pairs import code_holding, divide_totals, weight_below

CARRIED = "carried."
"""How the names of an archive's arrays begin in the state of a path."""

_NEAREST = 3  # λ on either side that bounds are taken from
_WINDOW = 64  # numbers of splits that are looked at one by one
_ROUNDING = 2.0**-38  # share of a bound that floats may be off


@by_reference
class Known(NamedTuple):
    """Thresholds at the root that were evaluated at other λ; costs are in weight in error.

    Parameters
    ----------
    prices : (records,)
        Price of a split at each λ.
    begins : (records, features + 1)
        Where the thresholds of a feature begin among those of a λ.
    codes : (thresholds,)
        Rising within a feature.
    below : (thresholds,)
        Weight of the rows to the left.
    least : (thresholds, 2)
        Lower bounds on the costs of the left and the right part.
    firsts : (records, features)
        Lower bounds on all trees by the feature of the first split.
    used : (used,)
        The records that bounds are taken from.
    bounds : (used,)
        Scratch.
    """

    prices: Floats
    begins: Ints
    codes: Ints
    below: Ints
    least: Floats
    firsts: Floats
    used: Ints
    bounds: Floats


def nothing(features: int) -> Known:
    """No bounds."""
    ints, floats = np.zeros(0, np.int64), np.zeros(0)
    return Known(
        floats,
        np.zeros((0, features + 1), np.int64),
        ints,
        ints,
        np.zeros((0, 2)),
        np.zeros((0, features)),
        ints,
        floats,
    )


_KEPT = Known._fields[:6]


class Archive:
    """Bounds by λ; ``depths`` are the greatest depths of the trees that they hold for."""

    def __init__(self, features: int, digest: str) -> None:
        self.digest, self.features = digest, features
        self.forget()

    def forget(self) -> None:
        """Forget all bounds, to have room."""
        self.known = nothing(self.features)
        self.prices: list[Fraction] = []
        self.depths: list[int] = []

    @property
    def bytes(self) -> int:
        """Memory of all bounds."""
        return sum(getattr(self.known, name).nbytes for name in _KEPT)

    def add(self, params: Params, depth: int, levels: Levels) -> None:
        """Keep the bounds of a search, which may have been stopped."""
        frame, known = levels.frame[0], self.known
        if frame[PHASE] in (START, OPENING):
            return
        is_evaluated = np.arange(frame[POINTS]) >= 2  # the first have all rows on one side
        if frame[PHASE] == CHILD:
            is_evaluated[frame[AT]] = False
        at = np.flatnonzero(is_evaluated)
        at = at[np.lexsort((levels.code[0, at], levels.column[0, at]))]
        begins = np.searchsorted(levels.column[0, at], np.arange(self.features + 1))
        self.prices.append(Fraction(params.split, params.error))
        self.depths.append(depth)
        more = (
            np.array([params.split / params.error]),
            begins[None] + len(known.codes),
            levels.code[0, at],
            levels.below[0, at],
            levels.least[0, at] / params.error,
            levels.lower[0][None] / params.error,
        )
        joined = (np.concatenate(pair) for pair in zip(known[: len(_KEPT)], more, strict=True))
        self.known = Known(*joined, *known[len(_KEPT) :])

    def for_price(self, params: Params, depth: int) -> Known:
        """What helps at a price of a split: the bounds at the nearest others."""
        price = Fraction(params.split, params.error)
        fit = [i for i, most in enumerate(self.depths) if most >= depth]
        fit.sort(key=self.prices.__getitem__)
        place = bisect_right(fit, price, key=self.prices.__getitem__)
        used = np.array(fit[max(place - _NEAREST, 0) : place + _NEAREST], np.int64)
        return self.known._replace(used=used, bounds=np.zeros(len(used)))

    def state(self) -> dict[str, NDArray[Any]]:
        """All bounds as arrays; the prices as numerators and denominators."""
        ratios = [price.as_integer_ratio() for price in self.prices]
        return {
            f"{CARRIED}problem": np.array(self.digest),
            f"{CARRIED}ratios": np.array(ratios, np.int64).reshape(-1, 2),
            f"{CARRIED}depths": np.array(self.depths, np.int64),
            **{f"{CARRIED}{name}": getattr(self.known, name) for name in _KEPT[1:]},
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """The reverse of :meth:`state`; InputError if the arrays do not fit."""
        if set(state) != set(self.state()) or str(state[f"{CARRIED}problem"]) != self.digest:
            raise InputError("the state is that of another problem or of another solver")
        ratios, depths = state[f"{CARRIED}ratios"], state[f"{CARRIED}depths"]
        arrays = {name: np.array(state[f"{CARRIED}{name}"]) for name in _KEPT[1:]}
        if not self._fit(ratios, depths, arrays):
            raise InputError("the state's bounds of other λ do not fit; it is damaged")
        self.prices = [Fraction(*ratio) for ratio in ratios.tolist()]
        self.depths = depths.tolist()
        prices = np.array([ratio[0] / ratio[1] for ratio in ratios.tolist()])
        self.known = nothing(self.features)._replace(prices=prices, **arrays)

    def _fit(
        self, ratios: NDArray[Any], depths: NDArray[Any], arrays: Mapping[str, NDArray[Any]]
    ) -> bool:
        """Whether arrays of a state have the types and shapes of an archive's."""
        records, points, p = len(depths), arrays["codes"].size, self.features
        shapes = {
            "begins": (records, p + 1),
            "codes": (points,),
            "below": (points,),
            "least": (points, 2),
            "firsts": (records, p),
        }
        ends = arrays["begins"]
        return (
            {array.dtype.str for array in (ratios, depths, ends, arrays["codes"], arrays["below"])}
            == {"<i8"}
            and all(arrays[name].dtype == np.float64 for name in ("least", "firsts"))
            and all(arrays[name].shape == shape for name, shape in shapes.items())
            and (ratios.shape, depths.shape) == ((records, 2), (records,))
            and bool((ratios > 0).all())
            and bool((np.diff(ends.ravel()) >= 0).all())
            and (records == 0 or bool(ends.min() >= 0 and ends.max() <= points))
        )


def most_splits(depth: int) -> int:
    """Splits of the largest binary tree of a depth."""
    return (1 << depth) - 1


@helper
def _carry(known: Known, params: Params, counts: Ints, most: int, best: int) -> int:
    """The least cost of trees of 1 to ``most`` splits with the bounds in ``known.bounds``; no
    more than ``best``.

    ``counts`` are weights of classes of which every leaf has one right; it sorts them.
    """
    rest = 0
    for k in range(len(counts)):
        rest += counts[k]
    for splits in range(1, most + 1):
        paid = splits * params.split
        if paid >= best:
            break
        # Beyond the window they have at least the errors of the largest tree.
        number = splits if splits <= _WINDOW else most
        if number > splits:
            rest = 0
        elif splits == 1:
            rest -= take_largest(counts, 0)
        rest -= take_largest(counts, splits)
        errors = float(rest)
        for i in range(len(known.used)):
            bound, price = known.bounds[i], known.prices[known.used[i]] * number
            errors = max(errors, bound - price - _ROUNDING * (bound + price))
        best = min(best, max(0, math.ceil(errors - 2.0**-20)) * params.error + paid)
        if splits > _WINDOW:
            break
    return best


@helper
def _place(known: Known, record: int, feature: int, code: int) -> int:
    """The first known threshold of a feature from a code on, at one λ; or where they end."""
    low, high = known.begins[record, feature], known.begins[record, feature + 1]
    while low < high:
        middle = (low + high) // 2
        if known.codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return int(low)


@helper
def part_cost(
    table: Table,
    params: Params,
    part: Part,
    scratch: Sweep,
    feature: int,
    code: int,
    side: int,
    known: Known,
    most: int,
) -> int:
    """A lower bound on the cost of one part of a threshold at the root.

    It has the rows of the part of a known threshold, or lacks some of them.
    """
    divide_totals(table, part, scratch, feature, code)
    classes = table.sizes[2]
    below, weight, largest = 0, 0, 0
    for k in range(classes):
        below += scratch.totals[k]
        count = scratch.totals[side * classes + k]
        weight += count
        largest = max(largest, count)
        scratch.counts[k] = count
    for i in range(len(known.used)):
        record = known.used[i]
        first, last = known.begins[record, feature], known.begins[record, feature + 1]
        at, bound = _place(known, record, feature, code), 0.0
        exact = at < last and known.codes[at] == code
        before = at if exact else at - 1
        if before >= first:
            lacks = below - known.below[before] if side == 1 else 0
            bound = max(bound, known.least[before, side] - lacks)
        if at < last:
            lacks = known.below[at] - below if side == 0 else 0
            bound = max(bound, known.least[at, side] - lacks)
        known.bounds[i] = bound
    leaf = params.error * (weight - largest)
    return _carry(known, params, scratch.counts[:classes], most, leaf)


@helper
def _are_dead(
    table: Table,
    params: Params,
    part: Part,
    scratch: Sweep,
    s: Levels,
    feature: int,
    first: int,
    last: int,
    known: Known,
    most: int,
) -> bool:
    """Whether bounds of other λ exclude all thresholds from one to another."""
    left = part_cost(table, params, part, scratch, feature, first, 0, known, most)
    right = part_cost(table, params, part, scratch, feature, last, 1, known, most)
    return bool(params.split + left + right >= s.frame[LIMIT])


@helper
def _next_alive(
    table: Table,
    params: Params,
    part: Part,
    scratch: Sweep,
    s: Levels,
    feature: int,
    first: int,
    last: int,
    known: Known,
    most: int,
) -> int:
    """The first threshold that is not excluded, going from ``first`` to ``last`` upwards or
    downwards; −1: all are."""
    way = 1 if first <= last else -1
    at, stride = first, 1
    while (last - at) * way >= 0:
        end = at + way * (stride - 1)
        if (last - end) * way < 0:
            end = last
        low, high = min(at, end), max(at, end)
        if _are_dead(table, params, part, scratch, s, feature, low, high, known, most):
            at, stride = end + way, 2 * stride
        elif stride == 1:
            return int(at)
        else:
            stride = max(1, stride // 4)
    return -1


@helper
def choose_alive(
    table: Table,
    params: Params,
    part: Part,
    scratch: Sweep,
    s: Levels,
    feature: int,
    low: int,
    high: int,
    known: Known,
    most: int,
) -> int:
    """The middle of the thresholds at the root with weights from ``low`` to ``high`` below them
    that are not excluded; −1: all are.

    ``most`` is the number of splits of a part's largest tree. Those in the middle of others stay
    in their interval: its ends must be evaluated, and an evaluation says more of its neighbours
    than the bound that excludes a threshold.
    """
    first = code_holding(table, part, feature, low) + 1
    last = code_holding(table, part, feature, high + 1)
    first = _next_alive(table, params, part, scratch, s, feature, first, last, known, most)
    if first < 0:
        return -1
    last = _next_alive(table, params, part, scratch, s, feature, last, first, known, most)
    low = weight_below(table, part, feature, first)
    high = weight_below(table, part, feature, last)
    code = code_holding(table, part, feature, (low + high) // 2) + 1
    code = max(first, min(last, code))
    return int(_next_alive(table, params, part, scratch, s, feature, code, last, known, most))


@helper
def raise_least(
    table: Table, params: Params, part: Part, scratch: Sweep, s: Levels, known: Known, most: int
) -> None:
    """Raise the bounds of both parts of the current threshold at the root to what other λ say.

    A part that they exclude is not searched. This would save little where the other part's search
    does not go beyond its cap: then the threshold would bound few of its neighbours.
    """
    at, feature = s.frame[AT], s.frame[FEATURE]
    for side in range(2):
        bound = part_cost(table, params, part, scratch, feature, s.code[at], side, known, most)
        s.least[at, side] = max(s.least[at, side], bound)
        s.paid[at, side] = max(s.paid[at, side], s.least[at, side])


@kernel
def bound_firsts(known: Known, params: Params, most: int, lower: Ints) -> None:
    """Raise lower bounds on all trees by the feature of their first split."""
    for g in range(len(lower)):
        for i in range(len(known.used)):
            known.bounds[i] = known.firsts[known.used[i], g]
        if len(known.used) > 0:
            lower[g] = max(lower[g], _carry(known, params, lower[:0], most, INFINITE))
