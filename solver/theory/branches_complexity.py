"""Bounds on the work of BRANCHES and of OSDT, as the BRANCHES paper gives them, exactly.

Chaouki, Read and Bifet, *Branches: A Fast Dynamic Programming and Branch & Bound Algorithm for
Optimal Decision Trees*: Theorem 4.4, Corollary 4.5, Theorem C.3, Corollary C.4, Remark C.5.

All bounds are for ``q`` features of ``arity`` categories each (the paper's C). They count branch
evaluations: for each expanded branch, one for every child of every feature that its path has not
used. The evaluation of the root is not counted, in the paper as here.

Where the paper is wrong
------------------------
*Theorem 4.4, Corollary 4.5.* The cap (C^q − 1)/(C − 1) on κ is the largest number of splits of a
tree, but q already bounds the length of a path. The terms beyond q are zero, so the value is right.

*Corollaries 4.5 and C.4* print 1/(Kλ) for K classes. Their first line,
S* + (1 − H*)/λ = (1 − H_λ(T*))/λ and H_λ(T*) ≥ 1/K, gives (K − 1)/(Kλ). For K = 2, as in Table 1,
both are equal. For K > 2 the printed value is no bound: with three equally frequent classes and
λ = 1/2 BRANCHES expands the root, where the printed κ is −1.

*Theorem C.3* prints κ₋ = S* − C + ⌊S* − 1 + (1 − H*)/λ⌋ and
κ = S* − 1 + ⌊S* − 1 + (1 − H*)/λ⌋, which counts S* − 1 twice. Its proof starts from the κ of
Theorem 4.4 and treats the depths above S* − C + (1 − H*)/λ, so κ = ⌊S* − 1 + (1 − H*)/λ⌋ and
κ₋ = κ − (C − 1). Corollary C.4 prints just these, with 1/(Kλ) for S* + (1 − H*)/λ, and its
weight (h − ⌊1/(Kλ)⌋ + C) is the h − κ₋ of C.3.

*The weight h − κ₋*, in both, runs the wrong way. A tree with a branch l of depth h has at least h
splits, so at most κ + 1 − h of its leaves are still to be expanded. As many of the subtrees that
leave the path to l, l's own included, hold a branch that is ever expanded. So all expanded branches
over the same h features lie under at most κ + 1 − h of the C values of the first feature of that
path: they are at most (κ + 1 − h)·C^(h−1). This is C^(h−1) at depth κ (the proof says so: "the last
one can only take one value") and C^h at depth κ₋, whereas h − κ₋ is C − 1 at depth κ and 1 just
above κ₋. For C = 2 the two agree. For C > 2 the printed sum is no bound once κ comes near q; the
tests hold an instance that exceeds it.

*Depth 0* has no last feature. Expanding the root costs all q·C evaluations; the printed formulas
give q·(0 − κ₋), less than that if κ = 0. So ``tight_bound`` uses min(C, κ + 1 − h) for h ≥ 1 and
the full count for h = 0.

*Remark C.5* corrects the bound of OSDT (Hu, Rudin and Seltzer 2019, Theorem E.2) by summing up to
a depth K = min{log₂⌊1/(2λ)⌋, M}, "its maximum depth". Table 1 rounds the logarithm up. But this is
the *least* depth of a binary tree of ⌊1/(2λ)⌋ leaves; the greatest, of a caterpillar, is
⌊1/(2λ)⌋ − 1. So the corrected value is below the bound on the search space. ``osdt_bound`` gives
Table 1's value by default and the sum up to the longest path on request. In the thesis' formula
(2.1) for N_k the ranges 2^n and binomials of 2^n must read 2·n, the number of leaves below n
splits: only so does it give the values of Table 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from solver.errors import InputError


def _check(q: int, lam: Fraction, arity: int, n_classes: int = 2) -> None:
    if q < 1 or arity < 2 or n_classes < 2:
        raise InputError(
            "a complexity bound needs q ≥ 1 features, arity ≥ 2 and at least 2 classes"
        )
    if not lam > 0:
        raise InputError("a complexity bound needs λ > 0; with λ = 0 no branch is too deep")


def problem_depth(lam: Fraction, splits: int, loss: Fraction) -> int:
    """κ of Theorem 4.4, ``⌊S* − 1 + loss/λ⌋``: the greatest depth of an expanded branch.

    ``splits`` and ``loss`` are S(T*) and 1 − H(T*) of an optimal tree T*; λ > 0. −1: the root
    itself is not expanded.
    """
    return splits - 1 + math.floor(loss / lam)


def worst_depth(lam: Fraction, n_classes: int) -> int:
    """κ of Corollary 4.5: the greatest depth on any problem.

    ``⌊(K − 1)/(Kλ)⌋ − 1``, which for two classes is the printed ``⌊1/(Kλ)⌋ − 1``.
    """
    return math.floor((n_classes - 1) / (n_classes * lam)) - 1


def simple_bound(q: int, arity: int, depth: int) -> int:
    """Evaluations if every branch up to depth κ is expanded: the sum of Theorem 4.4.

    ``q`` is the number of features, ``arity`` the categories of each, C, and ``depth`` is κ.
    """
    return sum((q - h) * arity ** (h + 1) * math.comb(q, h) for h in range(min(depth, q) + 1))


def tight_bound(q: int, arity: int, depth: int) -> int:
    """The sum of Theorem C.3 with corrected weights, see the module's text; at most
    :func:`simple_bound`."""
    total = 0
    for h in range(min(depth, q) + 1):
        branches = min(arity, depth + 1 - h) * arity ** (h - 1) if h else 1
        total += (q - h) * arity * branches * math.comb(q, h)
    return total


def theorem_4_4(q: int, arity: int, lam: Fraction, splits: int, loss: Fraction) -> int:
    """Branch evaluations of BRANCHES, given the splits and the loss of an optimal tree.

    InputError if λ is not positive or there are no features.
    """
    _check(q, lam, arity)
    return simple_bound(q, arity, problem_depth(lam, splits, loss))


def corollary_4_5(q: int, arity: int, lam: Fraction, n_classes: int = 2) -> int:
    """Branch evaluations of BRANCHES on any problem; Table 1 of the paper. Errors as
    :func:`theorem_4_4`."""
    _check(q, lam, arity, n_classes)
    return simple_bound(q, arity, worst_depth(lam, n_classes))


def theorem_c_3(q: int, arity: int, lam: Fraction, splits: int, loss: Fraction) -> int:
    """The tighter form of :func:`theorem_4_4`, corrected."""
    _check(q, lam, arity)
    return tight_bound(q, arity, problem_depth(lam, splits, loss))


def corollary_c_4(q: int, arity: int, lam: Fraction, n_classes: int = 2) -> int:
    """The tighter form of :func:`corollary_4_5`, corrected."""
    _check(q, lam, arity, n_classes)
    return tight_bound(q, arity, worst_depth(lam, n_classes))


def trees_of_depth(q: int, depth: int) -> int:
    """N_k: the binary trees of exactly depth k ≥ 1 over q features whose paths repeat no
    feature."""

    @cache
    def below(leaves: int, level: int) -> int:
        """Ways to continue from ``leaves`` leaves of the last level, with at least one split."""
        if level == depth:
            return 1
        return sum(
            math.comb(leaves, n) * (q - level) ** n * below(2 * n, level + 1)
            for n in range(1, leaves + 1)
        )

    return below(1, 0) if depth <= q else 0


def osdt_bound(q: int, lam: Fraction, *, longest: bool = False) -> int:
    """Tree evaluations of OSDT on ``q`` binary features, by Remark C.5; λ > 0 is the price of a
    leaf.

    ``longest`` sums up to the longest possible path, ⌊1/(2λ)⌋ − 1 splits, instead of the
    ⌈log₂⌊1/(2λ)⌋⌉ of the remark and of Table 1. The numbers become huge. InputError if λ is not
    positive or there are no features.
    """
    _check(q, lam, 2)
    leaves = math.floor(1 / (2 * lam))
    # (leaves − 1).bit_length() is the logarithm to base 2, rounded up, without a float.
    depth = leaves - 1 if longest else max(leaves - 1, 0).bit_length()
    return sum(trees_of_depth(q, k) for k in range(1, min(depth, q) + 1))
