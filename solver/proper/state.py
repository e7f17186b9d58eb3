"""The arrays of a search over regions: plain, so that kernels can work on them in slices."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import Ints, Words
from solver.kernels.hash_tables import slots_for
from solver.kernels.pass_by_reference import by_reference
from solver.proper.mask_sets import MaskSet, new_set, set_bytes


@by_reference
class Params(NamedTuple):
    """The parameters of the search.

    Parameters
    ----------
    error, split : int
        CostScale, see :class:`solver.objective.exact_objective.CostScale`.
    min_leaf : int
        Smallest weight of a leaf.
    surplus : int
        How far beyond the incumbent the cost of a rule is found out exactly: what it costs more
        than the incumbent bounds the rules near it.
    memo : bool
        Whether best trees of regions are remembered.
    """

    error: int
    split: int
    min_leaf: int
    surplus: int
    memo: bool


@by_reference
class Rows(NamedTuple):
    """The weights of the rows, as masks of the rows whose weight has a binary digit.

    Parameters
    ----------
    planes : (planes, words)
        The planes of class 0 first, then those of class 1, and so on.
    values : (planes,)
        The weight of a plane, a power of two.
    starts : (classes + 1,)
        Where the planes of a class begin.
    """

    planes: Words
    values: Ints
    starts: Ints

    @property
    def columns(self) -> int:
        """Sums that are kept of a set of rows."""
        return len(self.planes)


@by_reference
class Squares(NamedTuple):
    """The rows of regression, those of equal features together.

    See :mod:`solver.proper.squared_costs`.

    Parameters
    ----------
    sums : (rows, 3 + outputs)
        The weight w; what the worst prediction between other targets costs; w·|Y|², rounded up;
        and w·Y of every output.
    unit : float
        Units of cost in one of Y², rounded down.
    shift : int
        ``FAR`` counts 2^shift units of cost.
    """

    sums: Ints
    unit: float
    shift: int

    @property
    def columns(self) -> int:
        """Sums that are kept of a set of rows."""
        return int(self.sums.shape[1])


AnyRows: TypeAlias = Rows | Squares
HEAVY, FAR, SQUARED, FIRST = range(4)
"""Columns of :class:`Squares`; w·Y of the first output is the last one."""


@by_reference
class Levels(NamedTuple):
    """One region for each level of recursion, with its rules.

    Parameters
    ----------
    masks : (levels, room, words)
        Different dichotomies of the region, in the order of the rules.
    rule : (levels, room)
        Twice the number of the first of all rules that parts the region so, and 1 more where what
        is in that rule's mask is not in this one.
    inside : (levels, room, columns)
        Rows of the region in the mask: by plane, or in regression their sums.
    bound : (levels, room)
        No tree of the region with this rule at its root costs less.
    left : (levels, room)
        Positions of the rules that may still be at the root of a better tree; the first
        ``LEFT`` of them.
    sides : (levels, room, 2, splits)
        In regression: no tree of at most N splits of either side of the rule costs less; of leaves
        of any size. Without room in classification.
    shared : (room,)
        Weight of the rows in both a mask and the current side; in regression ``FAR``.
    region : (levels, words)
    frame : (levels, fields)
        See :data:`FIELDS`.
    tree : (levels, splits, 2)
        The best tree of the region in preorder: rule, and splits of the subtree above.
    sub_cost : (levels, 2, splits)
        Of the rule at hand, what the best tree of at most N splits of either side costs,
        or a bound.
    sub_size : (levels, 2, splits)
        The splits of these trees, −1 for a bound.
    sub_tree : (levels, 2, splits, splits, 2)
        These trees.
    """

    masks: Words
    rule: NDArray[np.int32]
    inside: Ints
    bound: Ints
    left: NDArray[np.int32]
    sides: Ints
    shared: Ints
    region: Words
    frame: Ints
    tree: Ints
    sub_cost: Ints
    sub_size: Ints
    sub_tree: Ints


FIELDS = (
    "RULES",  # number of dichotomies of the region
    "LEFT",  # rules that are left
    "SPLITS",  # that the tree may have
    "DEPTH",
    "LIMIT",  # costs beyond it are of no interest
    "COST",  # of the best tree
    "BEST",  # position of its rule, −1 for a leaf
    "SIZE",  # its splits
    "AT",  # position of the current rule, −1 if it is to be chosen
    "ALLOWED",  # the most that a tree with the current rule may cost
    "PHASE",  # the step of evaluating the current rule, −1 before the first one
    "LEAST",  # of the current rule
    "FLOOR",  # no omitted tree of the region costs less
    "ANSWER",  # side and splits of the tree that the next level looks for
    "WEIGHT",  # in regression ``FAR``
    "RELAXED",  # whether its leaves may be of any size
    "EXACT",  # whether the current rule is evaluated with leaves of the least size
    "NEAR",  # the cost of the current rule with leaves of any size
)
(
    RULES, LEFT, SPLITS, DEPTH, LIMIT, COST, BEST, SIZE, AT, ALLOWED, PHASE, LEAST, FLOOR, ANSWER,
    WEIGHT, RELAXED, EXACT, NEAR,
) = range(len(FIELDS))  # fmt: skip


@by_reference
class Scratch(NamedTuple):
    """Where kernels work.

    Parameters
    ----------
    side : (columns, words)
        The rows of the current side, by plane; in regression all of them in the first row.
    counts, other, whole, above, below : (columns,)
    mask : (words,)
    slots : (a power of two,)
        Of the hash table of dichotomies.
    stump : (4,)
        Cost and position of the best stump of either side.
    progress : (5,)
        Evaluated rules, lookups and hits of the memo, regions, rules evaluated at the root.
    roots : (room,)
        Positions of the rules evaluated at the root; their bounds are what they cost.
    """

    side: Words
    counts: Ints
    other: Ints
    whole: Ints
    above: Ints
    below: Ints
    mask: Words
    slots: NDArray[np.int32]
    stump: Ints
    progress: Ints
    roots: NDArray[np.int32]


@by_reference
class Memo(NamedTuple):
    """Best trees of known regions, see section 4.7.2 of the paper.

    Parameters
    ----------
    regions : MaskSet
        A region, and a word for the splits and the depth.
    cost : (room,)
    size : (room,)
        Splits of the tree, −1 if the cost is a bound.
    tree : (room, splits, 2)
    key : (words + 1,)
    """

    regions: MaskSet
    cost: Ints
    size: Ints
    tree: Ints
    key: Words


def new_memo(room: int, words: int, splits: int) -> Memo:
    """An empty memo."""
    return Memo(
        new_set(words + 1, room),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros((room, splits, 2), np.int64),
        np.zeros(words + 1, np.uint64),
    )


def memo_bytes(room: int, words: int, splits: int) -> int:
    """Memory of a memo."""
    return set_bytes(words + 1, room) + room * (16 + 16 * splits) + 8 * (words + 2)


def new_levels(
    number: int, room: int, words: int, columns: int, splits: int, squares: bool
) -> Levels:
    """Arrays for this many levels."""
    return Levels(
        np.zeros((number, room, words), np.uint64),
        np.zeros((number, room), np.int32),
        np.zeros((number, room, columns), np.int64),
        np.zeros((number, room), np.int64),
        np.zeros((number, room), np.int32),
        np.zeros((number, room if squares else 0, 2, splits), np.int64),
        np.zeros(room, np.int64),
        np.zeros((number, words), np.uint64),
        np.zeros((number, len(FIELDS)), np.int64),
        np.zeros((number, splits, 2), np.int64),
        np.zeros((number, 2, splits), np.int64),
        np.zeros((number, 2, splits), np.int64),
        np.zeros((number, 2, splits, splits, 2), np.int64),
    )


def levels_bytes(
    number: int, room: int, words: int, columns: int, splits: int, squares: bool
) -> int:
    """Memory of the large arrays, of all trees, and of the hash table."""
    trees = number * 32 * splits * splits
    each = 8 * words + 8 * columns + 16 + (16 * splits if squares else 0)
    return room * (number * each + 8) + trees + 4 * slots_for(room)


def new_scratch(room: int, words: int, columns: int) -> Scratch:
    """Arrays for a search."""
    counts, other, whole, above, below = np.zeros((5, columns), np.int64)
    return Scratch(
        np.zeros((columns, words), np.uint64),
        counts,
        other,
        whole,
        above,
        below,
        np.zeros(words, np.uint64),
        np.full(slots_for(room), -1, np.int32),
        np.zeros(4, np.int64),
        np.zeros(5, np.int64),
        np.zeros(room, np.int32),
    )
