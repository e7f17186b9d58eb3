"""The plainest correct version of everything, to hold the fast ones against.

Nothing here is shared with the searches: rows are tuples of row numbers, costs are Python integers
of any size, and every tree that could matter is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import lcm
from typing import NamedTuple

Shape = int | tuple[int, tuple["Shape", ...]]
"""A tree without counts: −1 for a leaf, or (feature, one shape per code)."""

Rows = tuple[int, ...]


class Optimum(NamedTuple):
    """The least objective, the fewest splits that reach it, and one tree that does."""

    objective: Fraction
    splits: int
    shape: Shape


class _Best(NamedTuple):
    cost: int
    splits: int
    shape: Shape


def optimum(
    codes: Sequence[Sequence[int]],
    counts: Sequence[Sequence[int]],
    arities: Sequence[int],
    lam: Fraction,
    *,
    depth: int | None = None,
    splits: int | None = None,
    min_leaf_size: int | None = None,
) -> Optimum:
    """Least (objective, splits), in this order, over all trees within the limits.

    Parameters
    ----------
    codes : rows × features
    counts : rows × classes
        Weight of each class; equal rows may be repeated.
    arities : features
        Number of children of a split on each feature; some may be empty.
    lam : Fraction
    depth, splits, min_leaf_size : int, optional
        Limits. A leaf may be empty, but must not have a weight between 0 and ``min_leaf_size``,
        except for the leaf of the tree without a split, which is always allowed.

    Notes
    -----
    Costs are the objective times ``lam.denominator × total weight``. A split with a single
    non-empty child is never needed: that child's subtree in its place is cheaper or equal, has
    fewer splits and is no deeper.
    """
    weight = sum(map(sum, counts))
    error, split = lam.denominator, lam.numerator * weight
    smallest = min_leaf_size or 0

    @cache
    def best(rows: Rows, depth: int | None, splits: int | None) -> _Best | None:
        totals = [sum(column) for column in zip(*(counts[r] for r in rows), strict=True)]
        if 0 < sum(totals) < smallest and len(rows) < len(codes):
            return None
        found = _Best(error * (sum(totals) - max(totals, default=0)), 0, -1)
        if depth == 0 or splits == 0:
            return found
        for feature, arity in enumerate(arities):
            parts = tuple(tuple(r for r in rows if codes[r][feature] == c) for c in range(arity))
            if sum(map(bool, parts)) < 2:
                continue
            below = share(parts, _less(depth), _less(splits))
            if below is not None:
                tree = (feature, below.shape)
                found = min(found, _Best(split + below.cost, 1 + below.splits, tree), key=_order)
        return found

    @cache
    def share(parts: tuple[Rows, ...], depth: int | None, splits: int | None) -> _Best | None:
        """The best subtrees of several branches together; their splits share one limit."""
        if not parts:
            return _Best(0, 0, ())
        candidates = []
        for mine in [None] if splits is None else range(splits + 1):
            first = best(parts[0], depth, mine)
            others = share(parts[1:], depth, None if splits is None else splits - mine)
            if first is not None and others is not None:
                shape = (first.shape, *others.shape)
                total = first.cost + others.cost, first.splits + others.splits
                candidates.append(_Best(*total, shape))
        return min(candidates, key=_order, default=None)

    cost, used, shape = best(tuple(range(len(codes))), depth, splits)
    return Optimum(Fraction(cost, error * weight), used, shape)


def _less(limit: int | None) -> int | None:
    return None if limit is None else limit - 1


def _order(tree: _Best) -> tuple[int, int]:
    return tree.cost, tree.splits


class Stretch(NamedTuple):
    """From which λ on the best tree has so many errors and splits."""

    lam: Fraction
    errors: int
    splits: int


def least_errors(
    codes: Sequence[Sequence[int]],
    counts: Sequence[Sequence[int]],
    arities: Sequence[int],
    *,
    depth: int | None = None,
    splits: int | None = None,
    min_leaf_size: int | None = None,
) -> dict[int, int]:
    """The least errors of all trees of each number of splits; limits as in :func:`optimum`."""
    smallest = min_leaf_size or 0

    @cache
    def reach(rows: Rows, depth: int | None) -> dict[int, int]:
        totals = [sum(column) for column in zip(*(counts[r] for r in rows), strict=True)]
        if 0 < sum(totals) < smallest and len(rows) < len(codes):
            return {}
        found = {0: sum(totals) - max(totals, default=0)}
        if depth == 0:
            return found
        for feature, arity in enumerate(arities):
            parts = [tuple(r for r in rows if codes[r][feature] == c) for c in range(arity)]
            if sum(map(bool, parts)) < 2:
                continue
            trees = {1: 0}
            for part in parts:
                trees = _together(trees, reach(part, _less(depth)))
            found = _least([*found.items(), *trees.items()])
        return found

    every = reach(tuple(range(len(codes))), depth)
    return {used: errors for used, errors in every.items() if splits is None or used <= splits}


def _together(some: dict[int, int], others: dict[int, int]) -> dict[int, int]:
    """Splits and errors of one tree here and one there."""
    return _least([(s + t, e + f) for s, e in some.items() for t, f in others.items()])


def _least(pairs: list[tuple[int, int]]) -> dict[int, int]:
    """The least second of each first."""
    return {first: min(b for a, b in pairs if a == first) for first in {a for a, _ in pairs}}


def path(trees: dict[int, int], weight: int, lam_min: Fraction) -> list[Stretch]:
    """The λ-path of these trees (splits → errors) from ``lam_min`` up, fewest splits at ties.

    It looks at ``lam_min`` and at each λ where any two trees are equally good.
    """
    lams = {lam_min}
    for s, t in product(trees, trees):
        if s > t:
            lams.add(max(lam_min, Fraction(trees[t] - trees[s], weight * (s - t))))
    stretches: list[Stretch] = []
    for lam in sorted(lams):
        _, splits = min((Fraction(errors, weight) + lam * s, s) for s, errors in trees.items())
        if not stretches or stretches[-1].splits != splits:
            stretches.append(Stretch(lam, trees[splits], splits))
    return stretches


def all_shapes(arities: Sequence[int], depth: int) -> Iterator[Shape]:
    """Every tree up to a depth, those with useless and repeated splits included."""
    yield -1
    if depth:
        smaller = list(all_shapes(arities, depth - 1))
        for feature, arity in enumerate(arities):
            for children in product(smaller, repeat=arity):
                yield feature, children


class Measure(NamedTuple):
    """What a shape is and does on a table."""

    errors: int
    splits: int
    depth: int
    smallest_leaf: int


def measure(
    shape: Shape, codes: Sequence[Sequence[int]], counts: Sequence[Sequence[int]]
) -> Measure:
    """Errors, splits, depth and the smallest weight of a leaf that is not empty."""
    if shape == -1:
        totals = [sum(column) for column in zip(*counts, strict=True)]
        return Measure(sum(totals) - max(totals, default=0), 0, 0, sum(totals))
    feature, children = shape
    parts = []
    for code, child in enumerate(children):
        rows = [r for r, row in enumerate(codes) if row[feature] == code]
        parts.append(measure(child, [codes[r] for r in rows], [counts[r] for r in rows]))
    return Measure(
        sum(part.errors for part in parts),
        1 + sum(part.splits for part in parts),
        1 + max(part.depth for part in parts),
        min((part.smallest_leaf for part in parts if part.smallest_leaf), default=0),
    )


def enumerate_optimum(
    codes: Sequence[Sequence[int]],
    counts: Sequence[Sequence[int]],
    arities: Sequence[int],
    lam: Fraction,
    *,
    depth: int,
    splits: int | None = None,
    min_leaf_size: int | None = None,
) -> tuple[Fraction, int]:
    """Least (objective, splits) by looking at every single tree up to a depth."""
    weight = sum(map(sum, counts))
    found = []
    for shape in all_shapes(arities, depth):
        tree = measure(shape, codes, counts)
        too_small = tree.splits > 0 and tree.smallest_leaf < (min_leaf_size or 0)
        if not too_small and (splits is None or tree.splits <= splits):
            found.append((Fraction(tree.errors, weight) + lam * tree.splits, tree.splits))
    return min(found)


class Effort(NamedTuple):
    """What the BRANCHES algorithm spent."""

    objective: Fraction
    evaluations: int
    iterations: int


class _Branch:
    """A node of Algorithm 1 of the BRANCHES paper, in costs instead of rewards."""

    def __init__(self, path: frozenset[tuple[int, int]], rows: Rows, errors: int) -> None:
        self.path = path
        self.rows = rows
        self.errors = Fraction(errors)
        self.bound = self.errors
        self.complete = True
        self.actions: list[list[_Branch]] | None = None


def branches(
    codes: Sequence[Sequence[int]],
    counts: Sequence[Sequence[int]],
    arities: Sequence[int],
    lam: Fraction,
) -> Effort:
    """BRANCHES as the paper has it: select, expand, backpropagate, with nothing added.

    An evaluation is a child of an expansion; the root's own is not counted.
    """
    weight = sum(map(sum, counts))
    split = lam * weight
    evaluations = iterations = 0
    memo: dict[frozenset[tuple[int, int]], _Branch] = {}

    def lookup(path: frozenset[tuple[int, int]], rows: Rows) -> _Branch:
        if path not in memo:
            totals = [sum(column) for column in zip(*(counts[r] for r in rows), strict=True)]
            branch = memo[path] = _Branch(path, rows, sum(totals) - max(totals, default=0))
            # The purification bound: a split that leaves no error is the best there can be.
            if len(path) < len(arities) and branch.errors > split:
                branch.bound, branch.complete = split, False
        return memo[path]

    def expand(branch: _Branch) -> None:
        branch.actions = []
        for feature in sorted(set(range(len(arities))) - {f for f, _ in branch.path}):
            children = []
            for code in range(arities[feature]):
                rows = tuple(r for r in branch.rows if codes[r][feature] == code)
                children.append(lookup(branch.path | {(feature, code)}, rows))
            branch.actions.append(children)

    def cost(action: list[_Branch]) -> Fraction:
        return split + sum(child.bound for child in action)

    root = lookup(frozenset(), tuple(range(len(codes))))
    while not root.complete:
        iterations += 1
        path = [root]
        while path[-1].actions is not None:
            best = min(path[-1].actions, key=cost)
            unfinished = [child for child in best if not child.complete]
            if not unfinished:
                break
            path.append(max(unfinished, key=lambda child: child.errors))
        if path[-1].actions is None:
            expand(path[-1])
            evaluations += sum(map(len, path[-1].actions))
        for branch in reversed(path):
            best = min(branch.actions, key=cost)
            branch.bound = min(branch.errors, cost(best))
            leaf = branch.bound == branch.errors
            branch.complete = leaf or all(child.complete for child in best)
    return Effort(root.bound / weight, evaluations, iterations)


def least_numeric_cost(
    x: Sequence[Sequence[float]],
    y: Sequence[int],
    weights: Sequence[int],
    depth: int,
    error: int = 1,
    split: int = 0,
    min_leaf: int = 1,
    splits: int | None = None,
) -> int:
    """Least ``error · errors + split · splits`` of the trees of thresholds on numbers.

    ``min_leaf`` is the least weight of a leaf that is not the only one, ``splits`` the most splits.
    """

    def weight(rows: Rows) -> int:
        return sum(weights[row] for row in rows)

    @cache
    def least(rows: Rows, depth: int, splits: int | None) -> int:
        totals: dict[int, int] = {}
        for row in rows:
            totals[y[row]] = totals.get(y[row], 0) + weights[row]
        best = error * (sum(totals.values()) - max(totals.values()))
        if depth == 0 or splits == 0:
            return best
        shares: list[tuple[int | None, int | None]] = [(None, None)]
        if splits is not None:
            shares = [(some, splits - 1 - some) for some in range(splits)]
        for feature in range(len(x[0])):
            for value in sorted({x[row][feature] for row in rows})[1:]:
                left = tuple(row for row in rows if x[row][feature] < value)
                right = tuple(row for row in rows if x[row][feature] >= value)
                if min(weight(left), weight(right)) >= min_leaf:
                    for some, rest in shares:
                        both = least(left, depth - 1, some) + least(right, depth - 1, rest)
                        best = min(best, split + both)
        return best

    return least(tuple(range(len(y))), depth, splits)


def least_squares_cost(
    x: Sequence[Sequence[float]],
    y: Sequence[Sequence[float]],
    weights: Sequence[int],
    depth: int,
    split: Fraction = Fraction(0),
    min_leaf: int = 1,
) -> tuple[Fraction, int]:
    """Least ``squared error + split · splits`` of the trees of thresholds on numbers, exactly.

    Returns
    -------
    cost : Fraction
    splits : int
        The fewest splits of a tree of that cost.
    """
    # In a common unit all targets are whole: sums of fractions take many times as long.
    unit = lcm(*(Fraction(value).denominator for row in y for value in row))
    numbers = [[int(Fraction(value) * unit) for value in row] for row in y]

    @cache
    def leaf(rows: Rows) -> Fraction:
        weight, total = sum(weights[row] for row in rows), 0
        for output in range(len(numbers[0])):
            first = sum(weights[row] * numbers[row][output] for row in rows)
            second = sum(weights[row] * numbers[row][output] ** 2 for row in rows)
            total += second * weight - first * first
        return Fraction(total, weight * unit**2)

    @cache
    def least(rows: Rows, depth: int) -> tuple[Fraction, int]:
        best = leaf(rows), 0
        if depth == 0:
            return best
        for feature in range(len(x[0])):
            for value in sorted({x[row][feature] for row in rows})[1:]:
                left = tuple(row for row in rows if x[row][feature] < value)
                right = tuple(row for row in rows if x[row][feature] >= value)
                if min(sum(weights[row] for row in half) for half in (left, right)) < min_leaf:
                    continue
                halves = least(left, depth - 1), least(right, depth - 1)
                cost = split + halves[0][0] + halves[1][0]
                best = min(best, (cost, 1 + halves[0][1] + halves[1][1]))
        return best

    return least(tuple(range(len(y))), depth)


class GoodTree(NamedTuple):
    """A tree and what it costs: weight in error, and splits."""

    errors: int
    splits: int
    shape: Shape


def trees_within(
    codes: Sequence[Sequence[int]],
    counts: Sequence[Sequence[int]],
    arities: Sequence[int],
    price: Fraction,
    budget: Fraction,
    *,
    depth: int | None = None,
    splits: int | None = None,
    min_leaf_size: int = 1,
) -> list[GoodTree]:
    """All trees with ``errors + price·splits ≤ budget``, of ``splits`` splits at most.

    A split has at least two children with weight, and none of them weighs less than
    ``min_leaf_size``. A leaf counts once, however its classes tie; children without rows are
    leaves.
    """

    def weight(rows: Rows) -> int:
        return sum(sum(counts[row]) for row in rows)

    def grow(rows: Rows, left: Fraction, levels: int | None) -> Iterator[GoodTree]:
        totals = [sum(counts[row][k] for row in rows) for k in range(len(counts[0]))]
        errors = sum(totals) - max(totals)
        if errors <= left:
            yield GoodTree(errors, 0, -1)
        if levels == 0 or left < price:
            return
        for feature, arity in enumerate(arities):
            parts = [tuple(r for r in rows if codes[r][feature] == c) for c in range(arity)]
            sizes = [size for size in map(weight, parts) if size]
            if len(sizes) < 2 or min(sizes) < min_leaf_size:
                continue
            below = None if levels is None else levels - 1
            for trees in together(parts, left - price, below):
                yield GoodTree(
                    sum(tree.errors for tree in trees),
                    1 + sum(tree.splits for tree in trees),
                    (feature, tuple(tree.shape for tree in trees)),
                )

    def together(
        parts: Sequence[Rows], left: Fraction, levels: int | None
    ) -> Iterator[tuple[GoodTree, ...]]:
        if not parts:
            yield ()
            return
        children = grow(parts[0], left, levels) if weight(parts[0]) else [GoodTree(0, 0, -1)]
        for tree in children:
            for others in together(parts[1:], left - tree.errors - price * tree.splits, levels):
                yield (tree, *others)

    trees = grow(tuple(range(len(codes))), budget, depth)
    return [tree for tree in trees if splits is None or tree.splits <= splits]


def count_within(
    codes: Sequence[Sequence[int]],
    counts: Sequence[Sequence[int]],
    arities: Sequence[int],
    price: Fraction,
    budget: Fraction,
    *,
    depth: int | None = None,
    min_leaf_size: int = 1,
) -> dict[tuple[int, int], int]:
    """How many trees :func:`trees_within` finds with which errors and splits, for larger tables."""

    @cache
    def grow(rows: Rows, levels: int | None) -> dict[tuple[int, int], int]:
        totals = [sum(counts[row][k] for row in rows) for k in range(len(counts[0]))]
        found = {(sum(totals) - max(totals), 0): 1}
        below = None if levels is None else levels - 1
        for feature, arity in enumerate(arities) if levels != 0 else ():
            parts = [tuple(r for r in rows if codes[r][feature] == c) for c in range(arity)]
            sizes = [sum(sum(counts[row]) for row in part) for part in parts]
            if len([s for s in sizes if s]) < 2 or min(s for s in sizes if s) < min_leaf_size:
                continue
            trees = {(0, 1): 1}
            for part, size in zip(parts, sizes, strict=True):
                some = grow(part, below) if size else {(0, 0): 1}
                trees = _pairs_within(trees, some, price, budget)
            for pair, number in trees.items():
                found[pair] = found.get(pair, 0) + number
        return {(e, s): n for (e, s), n in found.items() if e + price * s <= budget}

    return grow(tuple(range(len(codes))), depth)


def _pairs_within(
    some: dict[tuple[int, int], int],
    others: dict[tuple[int, int], int],
    price: Fraction,
    budget: Fraction,
) -> dict[tuple[int, int], int]:
    """Trees side by side that cost the budget or less."""
    found: dict[tuple[int, int], int] = {}
    for (errors, splits), number in some.items():
        for (more_errors, more_splits), times in others.items():
            pair = errors + more_errors, splits + more_splits
            if pair[0] + price * pair[1] <= budget:
                found[pair] = found.get(pair, 0) + number * times
    return found
