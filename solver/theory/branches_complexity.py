"""Bounds on the work of BRANCHES and of OSDT, as the BRANCHES paper gives them, exactly.

Chaouki, Read and Bifet, *Branches: A Fast Dynamic Programming and Branch & Bound Algorithm for
Optimal Decision Trees*: Theorem 4.4, Corollary 4.5, Theorem C.3, Corollary C.4, Remark C.5.

All bounds are for ``q`` features of ``arity`` categories each (the paper's C) and count branch
evaluations: for each branch that is expanded, one for every child of every feature that its path
has not used. The evaluation of the root itself is not counted, in the paper as here.

Where the paper cannot be taken at its word
-------------------------------------------
*Theorem 4.4, Corollary 4.5.* The cap (C^q − 1)/(C − 1) on κ is the largest number of splits of a
tree; what is capped is the length of a path, which q bounds. The terms beyond q are zero, so the
value is the same.

*Corollaries 4.5 and C.4* are printed with 1/(Kλ) for K classes. From their first line,
S* + (1 − H*)/λ = (1 − H_λ(T*))/λ and H_λ(T*) ≥ 1/K, follows (K − 1)/(Kλ) instead. For K = 2, as in
Table 1, the two are the same; for K > 2 the printed value is no bound: three equally frequent
classes and λ = 1/2 make BRANCHES expand the root, where the printed κ is −1.

*Theorem C.3* is printed with κ₋ = S* − C + ⌊S* − 1 + (1 − H*)/λ⌋ and
κ = S* − 1 + ⌊S* − 1 + (1 − H*)/λ⌋, which counts S* − 1 twice. Its proof starts from the κ of
Theorem 4.4 and treats the depths above S* − C + (1 − H*)/λ, so κ = ⌊S* − 1 + (1 − H*)/λ⌋ and
κ₋ = κ − (C − 1). Corollary C.4 is printed with just these, 1/(Kλ) for S* + (1 − H*)/λ, and its
weight (h − ⌊1/(Kλ)⌋ + C) is the h − κ₋ of C.3.

*The weight h − κ₋*, in both, runs the wrong way. A tree with a branch l of depth h has at least h
splits, so at most κ + 1 − h of its leaves are still to be expanded, and as many of the subtrees
that leave the path to l hold a branch that is ever expanded, l's own included. So all expanded
branches over the same h features lie under at most κ + 1 − h of the C values of the first feature
of that path: at most (κ + 1 − h)·C^(h−1) of them. This is C^(h−1) at depth κ (as the proof says
itself: "the last one can only take one value") and C^h at depth κ₋, whereas h − κ₋ is C − 1 at
depth κ and 1 just above κ₋. For C = 2 the two agree. For C > 2 the printed sum is no bound once
κ comes near q; the tests hold an instance that exceeds it.

*Depth 0* has no last feature: the root, when it is expanded, costs all q·C evaluations, where the
printed formulas give q·(0 − κ₋), less than that if κ = 0.

``tight_bound`` therefore uses min(C, κ + 1 − h) for h ≥ 1 and the full count for h = 0.

*Remark C.5* corrects the bound of OSDT (Hu, Rudin and Seltzer 2019, Theorem E.2) by summing up to
a depth K = min{log₂⌊1/(2λ)⌋, M}, "its maximum depth". Table 1 rounds the logarithm up. But this is
the *least* depth of a binary tree of ⌊1/(2λ)⌋ leaves; the greatest, of a caterpillar, is
⌊1/(2λ)⌋ − 1. So the corrected value is no bound on the trees of the search space; it is below one.
``osdt_bound`` gives Table 1's value by default and the sum up to the longest path on request. In
the thesis' formula (2.1) for N_k the ranges 2^n and binomials of 2^n must read 2·n, the number of
leaves below n splits: only so does it give the values of Table 1.
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
    """The greatest depth of an expanded branch when an optimal tree is known.

    Parameters
    ----------
    lam : Fraction
        λ > 0.
    splits, loss : int, Fraction
        S(T*) and 1 − H(T*) of an optimal tree T*.

    Returns
    -------
    int
        κ of Theorem 4.4, ``⌊S* − 1 + loss/λ⌋``; −1 if the root itself is not expanded.
    """
    return splits - 1 + math.floor(loss / lam)


def worst_depth(lam: Fraction, n_classes: int) -> int:
    """κ of Corollary 4.5: the greatest depth whatever the problem.

    ``⌊(K − 1)/(Kλ)⌋ − 1``, which for two classes is the printed ``⌊1/(Kλ)⌋ − 1``.
    """
    return math.floor((n_classes - 1) / (n_classes * lam)) - 1


def simple_bound(q: int, arity: int, depth: int) -> int:
    """Evaluations if every branch up to a depth is expanded: the sum of Theorem 4.4.

    Parameters
    ----------
    q : int
        Number of features.
    arity : int
        Categories of each feature, C.
    depth : int
        κ.
    """
    return sum((q - h) * arity ** (h + 1) * math.comb(q, h) for h in range(min(depth, q) + 1))


def tight_bound(q: int, arity: int, depth: int) -> int:
    """The sum of Theorem C.3 with its weights put right, see the module's text.

    Parameters as :func:`simple_bound`, which it never exceeds.
    """
    total = 0
    for h in range(min(depth, q) + 1):
        branches = min(arity, depth + 1 - h) * arity ** (h - 1) if h else 1
        total += (q - h) * arity * branches * math.comb(q, h)
    return total


def theorem_4_4(q: int, arity: int, lam: Fraction, splits: int, loss: Fraction) -> int:
    """Branch evaluations of BRANCHES when an optimal tree is known.

    Parameters
    ----------
    q, arity : int
    lam : Fraction
        λ > 0.
    splits, loss : int, Fraction
        Of an optimal tree.

    Raises
    ------
    InputError
        If λ is not positive or there are no features.
    """
    _check(q, lam, arity)
    return simple_bound(q, arity, problem_depth(lam, splits, loss))


def corollary_4_5(q: int, arity: int, lam: Fraction, n_classes: int = 2) -> int:
    """Branch evaluations of BRANCHES on any problem; Table 1 of the paper.

    Errors as :func:`theorem_4_4`.
    """
    _check(q, lam, arity, n_classes)
    return simple_bound(q, arity, worst_depth(lam, n_classes))


def theorem_c_3(q: int, arity: int, lam: Fraction, splits: int, loss: Fraction) -> int:
    """The tighter form of :func:`theorem_4_4`, with the paper's slips put right."""
    _check(q, lam, arity)
    return tight_bound(q, arity, problem_depth(lam, splits, loss))


def corollary_c_4(q: int, arity: int, lam: Fraction, n_classes: int = 2) -> int:
    """The tighter form of :func:`corollary_4_5`, with the paper's slips put right."""
    _check(q, lam, arity, n_classes)
    return tight_bound(q, arity, worst_depth(lam, n_classes))


def trees_of_depth(q: int, depth: int) -> int:
    """N_k: the number of binary trees of exactly this depth whose paths repeat no feature.

    Parameters
    ----------
    q : int
        Number of binary features.
    depth : int
        k, 1 or more.
    """

    @cache
    def below(leaves: int, level: int) -> int:
        """Ways to go on from ``leaves`` leaves of the last level, one or more of them split."""
        if level == depth:
            return 1
        return sum(
            math.comb(leaves, n) * (q - level) ** n * below(2 * n, level + 1)
            for n in range(1, leaves + 1)
        )

    return below(1, 0) if depth <= q else 0


def osdt_bound(q: int, lam: Fraction, *, longest: bool = False) -> int:
    """Tree evaluations of OSDT, by Remark C.5.

    Parameters
    ----------
    q : int
        Number of binary features.
    lam : Fraction
        λ > 0, in OSDT the price of a leaf.
    longest : bool
        Sum up to the longest path that the tree may have, ⌊1/(2λ)⌋ − 1 splits, instead of the
        ⌈log₂⌊1/(2λ)⌋⌉ of the remark and of Table 1. The numbers grow beyond any use.

    Raises
    ------
    InputError
        If λ is not positive or there are no features.
    """
    _check(q, lam, 2)
    leaves = math.floor(1 / (2 * lam))
    # (leaves − 1).bit_length() is the logarithm to base 2, rounded up, without a float.
    depth = leaves - 1 if longest else max(leaves - 1, 0).bit_length()
    return sum(trees_of_depth(q, k) for k in range(1, min(depth, q) + 1))
