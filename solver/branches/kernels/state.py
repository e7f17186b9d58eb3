"""The state of a search: plain arrays that grow between slices and can be saved and loaded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from solver.branches.kernels import stack_frame
from solver.kernels.constants import Floats, Floats32, Ints, Shorts, Words
from solver.kernels.hash_tables import slots_for
from solver.kernels.packed_rows import Table, packed
from solver.kernels.pass_by_reference import by_reference
from solver.kernels.simd import LANES
from solver.kernels.simd32 import SHORT_LANES


@by_reference
class Params(NamedTuple):
    """The parameters of a search; costs as in :class:`solver.objective.exact_objective.CostScale`.

    Parameters
    ----------
    error, split : int
        Cost of one unit of weight in error, and of one split.
    budgets : int
        See :class:`solver.engine.tree_constraints.TreeConstraints`.
    depth : int
        Longest path.
    min_leaf : int
        Smallest weight of a leaf with rows, in units; at least 1.
    max_arity : int
        Most children of a split.
    slack : int
        How much worse than the second best split the followed one may become.
    root_slack, root_slack_from : int
        The slack at the root, and from which iteration on.
    row_memo : bool
        Whether branches of equal rows are one node, or branches of equal literals.
    child_order : int
        Which open child of a split is entered: LOWEST_BOUND, SMALLEST_GAP or LEAST_GAIN.
    pairs, support, class_counts, similar_support, duplicates, equivalent_points, incumbent,
    two_splits, row_duals : bool
        Switches of the search's ideas.
    recent : int
        How many blocks of branches are kept for ``subset_bounds``; 0: none.
    recent_from : int
        Iterations before they are kept and compared.
    """

    error: int
    split: int
    budgets: int
    depth: int
    min_leaf: int
    max_arity: int
    slack: int
    root_slack: int
    root_slack_from: int
    row_memo: bool
    child_order: int
    pairs: bool
    support: bool
    class_counts: bool
    similar_support: bool
    duplicates: bool
    equivalent_points: bool
    incumbent: bool
    two_splits: bool
    row_duals: bool
    recent: int
    recent_from: int


LOWEST_BOUND, SMALLEST_GAP, LEAST_GAIN = range(3)


@by_reference
class Memo(NamedTuple):
    """What is known of every branch that the search has entered (a node), and how to find it.

    ``used`` counts nodes, literals, iterations, and frames on the stack; and has the number of the
    frame at which the search ends, the root's unless a branch is searched by itself.
    """

    node_lower: Ints  # (nodes, budgets) lower bounds
    node_upper: Ints  # (nodes, budgets) costs of known trees
    node_best: Ints  # (nodes, budgets) feature of that tree's first split, or SMALL
    node_hash: Words  # (nodes,)
    node_rows: Ints  # (nodes,) number of rows of the table
    node_errors: Ints  # (nodes, 2) fewest errors as a leaf, and with one split; or less
    node_place: Ints  # (nodes,) block · LANES + lane where ``Recent`` may have it
    node_literals: Ints  # (nodes, 2) first literal and number of literals
    literals: Ints  # values that were taken, in the order of the path
    slots: Ints  # open addressing, power of two; −1: free
    used: Ints


NODES, LITERALS, ITERATIONS, FRAMES, BASE = range(5)
SMALL = -1  # a leaf or a single split, whichever costs less


@by_reference
class Stack(NamedTuple):
    """The branches from the root to the current one: one frame each.

    ``head`` holds the numbers of a frame, see :mod:`solver.branches.kernels.stack_frame`. Data of
    variable size lie in the arenas ``rows``, ``keys``, ``words`` and ``joint``, one frame after
    the other. Features, values and columns are numbered as in the table, but the columns of
    ``words`` and ``joint`` are those of the frame's live features.
    """

    head: Ints  # (frames, HEAD)
    row_key: Words  # (frames,) sum of the keys of all rows
    segments: Ints  # (frames, classes + 1) first word of every class that is present
    live: Ints  # (frames, features) features that can pay here or below
    first: Ints  # (frames, features) first column of a live feature in this frame; −1: not live
    candidates: Ints  # (frames, features) splits still to be closed
    split_lower: Ints  # (frames, features) bound on the tree that begins with this split
    looked: Ints  # (frames, features) whether the memo was asked for its children
    child_lower: Ints  # (frames, values, budgets)
    child_upper: Ints  # (frames, values, budgets)
    child_weight: Ints  # (frames, values)
    child_leaf: Ints  # (frames, values) cost as a leaf
    child_node: Ints  # (frames, values) −1: not known
    rows: Shorts  # row of the table at every position; −1: none
    words: Words  # of a frame: its positions, its planes, its columns
    keys: Words  # key of the row at every position; 0: none
    duals: Words  # row dual at every position; 0: none
    joint: Shorts  # of a frame: weight of every pair of columns i < j


@by_reference
class Scratch(NamedTuple):
    """Room that one iteration needs; nothing in it outlives the iteration."""

    block: Words  # (64,)
    column_of: Ints  # (columns,) column of the table of a column of the frame
    mask: Words  # (width,) the table's columns that are live
    care: Words  # (width,)
    want: Words  # (width,)
    marked: Words  # (words,) positions of a frame
    rows: Ints  # (rows,)
    literals: Ints  # (frames,)
    groups: Ints  # (5, power of two)
    singles: Ints  # (classes, columns)
    totals: Ints  # (classes,)
    counts: Ints  # (classes,)
    ranked: Ints  # (classes,)
    present: Ints  # (classes,) those of some rows
    column_weight: Ints  # (columns,)
    row_duals: Words  # (rows,) of the branch that was looked at last
    column_dual: Ints  # (columns,)
    branch_dual: Ints  # (1,)
    floors: Ints  # (values,) unavoidable errors
    duplicate: Ints  # (features,)
    allowed: Ints  # (features,) whether no leaf is too small
    step: Ints  # (1,) how far the rows of the next three arrays are apart
    column_counts: Shorts  # (classes + 1, step) class weights of the columns, and their sums
    single_errors: Shorts  # (2, step) fewest errors of a child with at most one split
    fewest: Shorts  # (2, SPLITS, step) fewest errors of a child with a number of splits
    of_row: Shorts  # (2, SPLITS, SHORT_LANES) the same, for the columns that are in hand
    kept: Shorts  # counts of all pairs of columns, between the two passes over them
    limits: Shorts  # (4,) what the weight of a cell must exceed
    pair_lower: Ints  # (values,) bound on a child through each further split
    stump: Ints  # (values,) a child with its best single split
    work: Ints  # rows of BLOCK numbers each
    joint: Ints  # (max arity, classes, columns)
    cells: Ints  # (max arity, max arity, classes) of one pair of features
    cell: Ints  # (3, max arity, max arity) weight, errors, errors after one more split
    lower: Ints  # (budgets,)
    upper: Ints
    sums: Ints  # (max arity + 1, budgets)
    shares: Ints  # (max arity,)
    row_set: Words  # (words,) a set of the table's rows
    outside: Shorts  # (LANES,) weights of a block of ``Recent`` in ``row_set``
    row_planes: Words  # (planes, words) the table's planes as sets of rows


DEEPEST, FOUND, POOL, BEAM = 48, 128, 4096, 32
_GROUPS = 4  # for each position, in a search through all conjunctions
"""Literals of a conjunction; sets kept of a search, in all, and of a step of a beam search."""


@by_reference
class Program(NamedTuple):
    """What outlives an iteration of the linear program of ``row_duals``."""

    pool: Words  # (POOL, words) conjunctions, as sets of positions of the root
    pool_cost: Floats  # (POOL,) cost of each as a leaf, in splits
    pool_price: Floats  # (POOL,) see ``linear_program.master``
    pool_rows: Ints  # (POOL,) positions of each
    trial: Floats  # (positions,) duals in splits, for the pool alone
    centre: Floats  # (positions,) duals that violate no constraint that is known
    value: Ints  # (positions,) duals that are searched for a violated constraint
    may: Words  # (DEEPEST, 2, width) literals that may follow; columns of ones, of zeros
    left_out: Words  # (DEEPEST, 2, width) literals of which all is known
    added: Words  # (DEEPEST, 2, width) literals of the conjunction on the way
    branched: Ints  # (DEEPEST,) the literal that leads to the next
    gained: Ints  # (DEEPEST,) what the conjunction that was kept gains
    column_gain: Ints  # (DEEPEST, columns) what the groups gain whose column is one
    group: Words  # (width, groups) columns of groups, see ``best_conjunctions``
    group_gain: Ints  # (groups,)
    group_end: Ints  # (DEEPEST + 1,) where the groups end
    found: Words  # (FOUND, words)
    found_value: Ints  # (FOUND,)
    status: Ints  # see below


(
    WORK,
    SIZE,
    DUE,
    SEARCH,
    PART,
    DEPTH,
    NUMBER,
    WORST,
    LARGEST,
    OPTIMUM,
    TURNS,
    TAKEN,
    BEGUN,
    SHARE,
    WIDTH,
    STALLED,
    UNFOUND,
    STATUS,
) = range(18)
"""Operations on words; size of the pool; the search's work at the next improvement; operations of
the search of trees. Of the search through all conjunctions: the class of their leaf and 1, 0
between two searches; literals on the way; sets found, and the least gain for the next; the most
that one gains. The most that the pool's duals can sum to; turns that are over; whether the duals
are those of another shard; the work at which the search through all conjunctions began; how many
times the search's work improving may take, if that is set; words of a set of columns; rounds in a
row that have changed nothing; the most that a conjunction gains that the search has not found.
``STATUS`` is how many these are."""


@by_reference
class Duals(NamedTuple):
    """Room to improve row duals; nothing in it outlives the iteration."""

    literal: Words  # (literals, words) sets of positions
    mask: Words  # (width,) columns of the literals that may follow
    held: Words  # (4, width) see ``best_conjunctions.sum_groups``
    slot: Words  # (power of two,) hash table of groups by their columns
    turn: Words  # (1,) see ``best_conjunctions.merge_groups``
    gaining: Words  # (positions,) the groups that gain
    rows: Words  # (words,) a conjunction
    beam: Words  # (2 · BEAM, words)
    beam_value: Ints  # (2 · BEAM,)
    load: Floats  # (POOL,) how much of its cost a conjunction's rows have
    weight: Words  # (positions,) of the row; 0: none
    gain: Words  # (positions,) what a row adds to the gain of a conjunction
    plus: Words  # (positions,) the same, at least 0
    best: Floats  # (positions,) best duals for the pool alone
    most: Floats  # (positions,) cost of the row as an error, in splits
    paid: Floats32  # (positions,) sum of the prices of a row's conjunctions
    degree: Floats  # (positions,) their number
    ahead: Floats32  # (positions,) see ``linear_program.master``


def new_program(table: Table, params: Params, n_classes: int) -> tuple[Program, Duals]:
    """A program without conjunctions, and room to work on it."""
    words = frame_sizes(table, params, n_classes)[0] // 64 if params.row_duals else 0
    literals = 2 * int(table.columns[-1]) if params.row_duals else 0
    groups, width = slots_for(64 * words, 2), (literals // 2 + 63) // 64
    pool, ints, floats = POOL if params.row_duals else 0, np.int64, np.float64
    program = Program(
        pool=np.zeros((pool, words), np.uint64),
        pool_cost=np.zeros(pool, floats),
        pool_price=np.zeros(pool, floats),
        pool_rows=np.zeros(pool, ints),
        trial=np.zeros(64 * words, floats),
        centre=np.zeros(64 * words, floats),
        value=np.zeros(64 * words, ints),
        may=np.zeros((DEEPEST, 2, width), np.uint64),
        left_out=np.zeros((DEEPEST, 2, width), np.uint64),
        added=np.zeros((DEEPEST, 2, width), np.uint64),
        branched=np.zeros(DEEPEST, ints),
        gained=np.zeros(DEEPEST, ints),
        column_gain=np.zeros((DEEPEST, 64 * width), ints),
        group=np.zeros((width, _GROUPS * 64 * words), np.uint64),
        group_gain=np.zeros(_GROUPS * 64 * words, ints),
        group_end=np.zeros(DEEPEST + 1, ints),
        found=np.zeros((FOUND, words), np.uint64),
        found_value=np.zeros(FOUND, ints),
        status=np.zeros(STATUS, ints),
    )
    return program, Duals(
        literal=np.zeros((literals, words), np.uint64),
        mask=np.zeros(width, np.uint64),
        held=np.zeros((4, width), np.uint64),
        slot=np.zeros(groups, np.uint64),
        turn=np.zeros(1, np.uint64),
        gaining=np.zeros(64 * words, np.uint64),
        rows=np.zeros(words, np.uint64),
        beam=np.zeros((2 * BEAM, words), np.uint64),
        beam_value=np.zeros(2 * BEAM, ints),
        load=np.zeros(pool, floats),
        weight=np.zeros(64 * words, np.uint64),
        gain=np.zeros(64 * words, np.uint64),
        plus=np.zeros(64 * words, np.uint64),
        best=np.zeros(64 * words, floats),
        most=np.zeros(64 * words, floats),
        paid=np.zeros(64 * words, np.float32),
        degree=np.zeros(64 * words, floats),
        ahead=np.zeros(64 * words, np.float32),
    )


@by_reference
class Recent(NamedTuple):
    """Branches that were left before, with their rows and bounds, for ``subset_bounds``.

    They lie in blocks of LANES.
    """

    recent_node: Ints  # (blocks, LANES) number of the node and 1; 0: free
    recent_weight: Ints  # (blocks, LANES)
    recent_lower: Ints  # (blocks, budgets · LANES) lower bounds, negative
    recent_rows: Words  # (blocks, words · LANES) sets of the table's rows
    recent_best: Ints  # (blocks, budgets) best lower bound in a block
    recent_most: Ints  # (blocks, budgets) the same of lower bound − cost if all rows are errors
    recent_uses: Ints  # (blocks,) how many bounds it raised lately
    filling: Ints  # (SIZES · LEVELS,) the block for the next branch of a kind, and 1; 0: none
    effort: Ints  # see below


SIZES, LEVELS = 12, 12
"""Kinds of branches: by weight, and by lower bound."""
TRIED, REACHED, RESTING, BLOCKS = range(4)
"""Comparisons in this window; how many of them spared an opening; comparisons to leave out; blocks
that were begun."""


@by_reference
class Log(NamedTuple):
    """What a proof needs of a search; without room nothing is logged.

    ``events``, (events, 2), are: a pushed child, its value and OPENED; a child that needed no push,
    its value and what is known of it; a frame that was left, LEFT and the bound of its branch.
    ``used``, (1,), is their number.
    """

    events: Ints
    used: Ints


OPENED = LEFT = -1


@by_reference
class Space(NamedTuple):
    """All that the kernels of a search work on."""

    table: Table
    params: Params
    memo: Memo
    stack: Stack
    scratch: Scratch
    log: Log
    program: Program
    duals: Duals
    recent: Recent


MOST_KEPT_COLUMNS = 512
"""Columns of a frame up to which the counts of all pairs are kept for a second pass."""
BLOCK = LANES
"""Columns that are counted at a time."""

# Rows of ``Scratch.work``, BLOCK numbers each. A constant distance between the rows lets the
# compiler prove that they do not overlap, and so use vector instructions.
N11, N10, N01, SPARE = range(0, 4 * BLOCK, BLOCK)

KEPT = 9 * SHORT_LANES
"""Numbers that are kept of a column and SHORT_LANES others: the weight where both are 1; of the
cells 11, 10, 01 and 00, the errors of a leaf, and the least errors after one more split."""
SPLITS = 4
"""Splits of a child, up to which its errors are bounded for each number of them."""
HUGE = 2**29
"""More than any weight; the sum of three of them does not overflow."""


def words_of_rows(table: Table) -> int:
    """Words of a set of the table's rows."""
    return (len(table.labels) + 63) // 64


def planes_of_rows(table: Table) -> Words:
    """The rows in each plane of weight, as sets: (planes, words)."""
    planes = [packed((table.planes >> p) & 1 == 1) for p in range(len(table.scales))]
    return np.array(planes, np.uint64).reshape(len(table.scales), words_of_rows(table))


def new_recent(table: Table, params: Params) -> Recent:
    """No branches yet, and little room."""
    blocks, ints = int(params.recent > 0), np.int64
    return Recent(
        recent_node=np.zeros((blocks, LANES), ints),
        recent_weight=np.zeros((blocks, LANES), ints),
        recent_lower=np.zeros((blocks, params.budgets * LANES), ints),
        recent_rows=np.zeros((blocks, words_of_rows(table) * LANES), np.uint64),
        recent_best=np.zeros((blocks, params.budgets), ints),
        recent_most=np.zeros((blocks, params.budgets), ints),
        recent_uses=np.zeros(blocks, ints),
        filling=np.zeros(SIZES * LEVELS if blocks else 0, ints),
        effort=np.zeros(4, ints),
    )


def new_memo(budgets: int) -> Memo:
    """An empty memo with little room."""
    rows, ints = 1024, np.int64
    return Memo(
        node_lower=np.zeros((rows, budgets), ints),
        node_upper=np.zeros((rows, budgets), ints),
        node_best=np.zeros((rows, budgets), ints),
        node_hash=np.zeros(rows, np.uint64),
        node_rows=np.zeros(rows, ints),
        node_errors=np.zeros((rows, 2), ints),
        node_place=np.zeros(rows, ints),
        node_literals=np.zeros((rows, 2), ints),
        literals=np.zeros(rows, ints),
        slots=np.full(4 * rows, -1, ints),
        used=np.zeros(5, ints),
    )


def new_stack(table: Table, params: Params, n_classes: int) -> Stack:
    """A stack with room for the root and a few frames."""
    frames, ints = 8, np.int64
    features, values = len(table.values) - 1, int(table.values[-1])
    rows, words, joint = frame_sizes(table, params, n_classes)
    return Stack(
        head=np.zeros((frames, stack_frame.HEAD), ints),
        row_key=np.zeros(frames, np.uint64),
        segments=np.zeros((frames, n_classes + 1), ints),
        live=np.zeros((frames, features), ints),
        first=np.zeros((frames, features), ints),
        candidates=np.zeros((frames, features), ints),
        split_lower=np.zeros((frames, features), ints),
        looked=np.zeros((frames, features), ints),
        child_lower=np.zeros((frames, values, params.budgets), ints),
        child_upper=np.zeros((frames, values, params.budgets), ints),
        child_weight=np.zeros((frames, values), ints),
        child_leaf=np.zeros((frames, values), ints),
        child_node=np.zeros((frames, values), ints),
        rows=np.zeros(rows, np.int32),
        keys=np.zeros(rows, np.uint64),
        duals=np.zeros(rows, np.uint64),
        words=np.zeros(words + BLOCK, np.uint64),
        joint=np.zeros(joint + BLOCK, np.int32),
    )


def frame_sizes(table: Table, params: Params, n_classes: int) -> tuple[int, int, int]:
    """The most that a frame can take of the arenas ``rows``, ``words`` and ``joint``."""
    sizes = np.bincount(table.labels, minlength=n_classes)
    words, columns = int(((sizes + 63) // 64).sum()), int(table.columns[-1])
    joint = columns**2 if params.similar_support else 0
    return 64 * words, words * (1 + len(table.scales) + columns), joint


def pair_blocks(columns: int) -> int:
    """Blocks of columns in which all pairs of columns are counted."""
    return sum((columns - 1 - i + SHORT_LANES - 1) // SHORT_LANES for i in range(columns))


def new_scratch(table: Table, params: Params, n_classes: int) -> Scratch:
    """Room for one iteration."""
    ints = np.int64
    n_rows, columns, values = len(table.bits), int(table.columns[-1]), int(table.values[-1])
    words = frame_sizes(table, params, n_classes)[0] // 64
    width, arity = table.bits.shape[1], params.max_arity
    pairs = params.pairs and arity > 2
    binary = params.pairs and arity == 2
    # With more columns, the blocks of one column are kept at a time; these are fewer.
    kept_blocks = pair_blocks(min(columns, MOST_KEPT_COLUMNS)) if binary else 0
    step = columns + SHORT_LANES if binary else 0
    return Scratch(
        block=np.zeros(64, np.uint64),
        column_of=np.zeros(columns, ints),
        mask=np.zeros(width, np.uint64),
        care=np.zeros(width, np.uint64),
        want=np.zeros(width, np.uint64),
        marked=np.zeros(words, np.uint64),
        rows=np.zeros(n_rows, ints),
        literals=np.zeros(len(table.values) + 1, ints),
        groups=np.zeros((5, slots_for(n_rows)), ints),
        singles=np.zeros((n_classes, columns + BLOCK), ints),
        totals=np.zeros(n_classes, ints),
        counts=np.zeros(n_classes, ints),
        ranked=np.zeros(n_classes, ints),
        present=np.zeros(n_classes, ints),
        column_weight=np.zeros(columns + BLOCK, ints),
        row_duals=np.zeros(n_rows, np.uint64),
        column_dual=np.zeros(columns + BLOCK, ints),
        branch_dual=np.zeros(1, ints),
        floors=np.zeros(values, ints),
        allowed=np.zeros(len(table.values) - 1, ints),
        duplicate=np.zeros(len(table.values) - 1, ints),
        step=np.array([step], ints),
        column_counts=np.zeros((n_classes + 1) * step, np.int32),
        single_errors=np.zeros(2 * step, np.int32),
        fewest=np.zeros(2 * SPLITS * step, np.int32),
        of_row=np.zeros(2 * SPLITS * SHORT_LANES, np.int32),
        kept=np.zeros(KEPT * kept_blocks, np.int32),
        limits=np.zeros(4, np.int32),
        pair_lower=np.zeros(values + BLOCK, ints),
        stump=np.zeros(values + BLOCK, ints),
        work=np.zeros(SPARE + BLOCK, ints),
        joint=np.zeros((arity, n_classes, columns + BLOCK) if pairs else (1, 1, 1), ints),
        cells=np.zeros((arity, arity, n_classes) if pairs else (1, 1, 1), ints),
        cell=np.zeros((3, arity, arity) if pairs else (1, 1, 1), ints),
        lower=np.zeros(params.budgets, ints),
        upper=np.zeros(params.budgets, ints),
        sums=np.zeros((arity + 1, params.budgets), ints),
        shares=np.zeros(arity, ints),
        row_set=np.zeros(words_of_rows(table), np.uint64),
        outside=np.zeros(LANES, np.int32),
        row_planes=planes_of_rows(table),
    )
