"""How many errors trees of few splits have at least: by counting, for all λ at once."""

from __future__ import annotations

import numpy as np

from solver.problem.problem import Problem

# Products of so few operations are done by one thread, and take little memory.
_AT_A_TIME = 2**18
_MOST_COUNTED = 2**24  # operations; more take longer than the search that they may spare
_MOST_CODES = 2**12  # of a feature, each of which is counted by itself
_EXACT = 2**53  # sums of whole numbers below this are exact in floats


def most_counted(problem: Problem) -> int:
    """How many numbers of splits :func:`fewest_errors` tells of: 0, 1, 2, … are fewer than this."""
    by_classes = -(-(problem.n_classes - 1) // (problem.max_arity - 1))
    return max(by_classes, 2) if _counts_features(problem) else by_classes


def fewest_errors(problem: Problem) -> list[int]:
    """The fewest errors of a tree of 0, 1, 2, … splits, or less; only of classification.

    A tree of ``s`` splits with at most ``A`` children each has at most ``s·(A − 1) + 1`` leaves,
    and so is right for no more classes than that. For one split all features are counted.
    """
    right = np.sort(problem.class_weights)[::-1].cumsum().tolist()
    leaves = [splits * (problem.max_arity - 1) + 1 for splits in range(most_counted(problem))]
    found = [problem.total_weight - right[min(n, len(right)) - 1] for n in leaves]
    if _counts_features(problem):
        found[1] = min(found[0], _one_split(problem))
    return found


def _counts_features(problem: Problem) -> bool:
    """Whether features are few enough to count, and sums are exact."""
    most = int(problem.arities.max(initial=1))
    few = most <= _MOST_CODES and most * problem.codes.size * problem.n_classes <= _MOST_COUNTED
    return few and not problem.ordered and problem.total_weight < _EXACT


def _one_split(problem: Problem) -> int:
    """The fewest errors of a split."""
    n_features, n_classes = problem.n_features, problem.n_classes
    last = int(problem.arities.max(initial=1))
    weights = np.zeros((last, n_classes, n_features))  # of the codes of all features
    step = max(1, _AT_A_TIME // max(n_features * n_classes, 1))
    for begin in range(0, len(problem.codes), step):
        codes = problem.codes[begin : begin + step]
        counts = problem.counts[begin : begin + step].T.astype(float)
        for code in range(1, last):
            weights[code] += counts @ (codes == code)
    weights[0] = problem.class_weights[:, None] - weights.sum(axis=0)
    right = weights.max(axis=1).sum(axis=0)
    return problem.total_weight - int(right.max(initial=0))
