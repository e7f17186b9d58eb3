"""Class counts of branches, of their children, and of their children's children, as weights."""

from __future__ import annotations

from solver.kernels.constants import ZERO, Ints
from solver.kernels.jit import helper, popcount
from solver.rashomon.kernels.state import Space


@helper
def select(s: Space, node: int, value: int) -> int:
    """Put the points of a subproblem that have a code into the scratch ``words``, all its points if
    ``value`` is −1; return the number of these words."""
    n = 0
    for w in range(s.memo.sets.shape[1]):
        word = s.memo.sets[node, w]
        if value >= 0:
            word &= s.points.masks[value, w]
        if word != ZERO:
            s.words[n] = word
            s.places[n] = w
            n += 1
    return n


@helper
def weigh(s: Space, n: int, value: int, out: Ints) -> None:
    """Weight of each class, and unavoidable errors, of the points in the ``n`` scratch words that
    have a code; of all of them if ``value`` is −1."""
    for k in range(len(out)):
        out[k] = 0
    for i in range(n):
        word, w = s.words[i], s.places[i]
        if value >= 0:
            word &= s.points.masks[value, w]
        if word != ZERO:
            for p in range(len(s.points.plane_class)):
                weight = s.points.plane_weight[p] * popcount(word & s.points.planes[p, w])
                out[s.points.plane_class[p]] += weight


@helper
def weigh_branch(s: Space, node: int) -> None:
    """The weights of a subproblem, and of all columns in it."""
    n, column = select(s, node, -1), 0
    weigh(s, n, -1, s.totals)
    for feature in range(len(s.points.first) - 1):
        for value in range(s.points.first[feature] + 1, s.points.first[feature + 1]):
            weigh(s, n, value, s.singles[column])
            s.paired[column] = 0
            column += 1


@helper
def pair_columns(s: Space, node: int, value: int, column: int) -> None:
    """The weights of a column, of code ``value``, together with each other one."""
    if s.paired[column]:
        return
    n, other = select(s, node, value), 0
    for feature in range(len(s.points.first) - 1):
        for second in range(s.points.first[feature] + 1, s.points.first[feature + 1]):
            if s.paired[other]:
                for k in range(len(s.totals)):
                    s.pairs[column, other, k] = s.pairs[other, column, k]
            else:
                weigh(s, n, second, s.pairs[column, other])
            other += 1
    s.paired[column] = 1


@helper
def children_of(s: Space, feature: int) -> None:
    """Put the weights of the children of a split of a branch into ``parts``."""
    first = s.points.first[feature]
    for k in range(len(s.totals)):
        rest = s.totals[k]
        for code in range(1, s.points.first[feature + 1] - first):
            s.parts[code, k] = s.singles[first - feature + code - 1, k]
            rest -= s.parts[code, k]
        s.parts[0, k] = rest


@helper
def grandchildren_of(s: Space, feature: int, code: int, second: int) -> None:
    """Put the weights of the children of a split of a child into ``below``.

    The child's weights are in ``parts``; its feature's columns must be paired.
    """
    first, other = s.points.first[feature] - feature - 1, s.points.first[second] - second - 1
    for k in range(len(s.totals)):
        rest = s.parts[code, k]
        for c in range(1, s.points.first[second + 1] - s.points.first[second]):
            if code > 0:
                weight = s.pairs[first + code, other + c, k]
            else:
                weight = s.singles[other + c, k]
                for d in range(1, s.points.first[feature + 1] - s.points.first[feature]):
                    weight -= s.pairs[first + d, other + c, k]
            s.below[c, k] = weight
            rest -= weight
        s.below[0, k] = rest


@helper
def weight_of(counts: Ints) -> int:
    """The weight of all classes."""
    weight: int = 0
    for k in range(len(counts) - 1):
        weight += counts[k]
    return weight


@helper
def leaf_cost(s: Space, counts: Ints) -> int:
    """The cost of a leaf."""
    most: int = 0
    for k in range(len(counts) - 1):
        most = max(most, counts[k])
    return s.error * (weight_of(counts) - most)
