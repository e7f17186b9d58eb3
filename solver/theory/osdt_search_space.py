"""How many rule lists and how many trees there are: Table 2.1 of the OSDT thesis, exactly.

Hu, *Optimal Sparse Decision Trees* (OSDT), chapter 2. Whole numbers of any size replace floats, so
there is a value where the table prints "Inf".

Where the thesis is wrong
-------------------------
*Rule lists.* The printed sum over the lists of d rules ends at d − 1, the table's at d: for 10
variables and d = 1 it has 55, the number of lists of one rule. Up to d − 1 there would be none.

*Formula (2.1)* counts the trees of a depth level by level: of the 2^n leaves below n splits it
splits 1 or more. But below n splits there are 2·n leaves. Up to depth 3 (n = 1, 2) both are equal;
beyond, the formula splits leaves that do not exist. The table uses the printed formula: at depth 4
it has 9.338e20 trees of 10 variables, where there are 5.610e13. :func:`trees` counts the trees,
:func:`trees_as_printed` gives the table's figures. The BRANCHES paper, which quotes the formula,
has the right counts in its Table 1, see :mod:`solver.theory.branches_complexity`.

*Digits.* The table cuts its figures after the fourth digit and does not round.
"""

from __future__ import annotations

import math

from solver.errors import InputError
from solver.theory.branches_complexity import trees_of_depth

MOST_DEPTH_AS_PRINTED = 5
"""The printed formula has 2^65536 leaves on the level below this depth."""


def rules(p: int, clauses: int = 2) -> int:
    """The rules that CORELS mines: conjunctions of 1 to ``clauses`` of ``p`` binary variables.

    With 2 clauses this is the thesis's D = p + binom(p, 2). InputError if a number is not positive.
    """
    _check(p, clauses)
    return sum(math.comb(p, c) for c in range(1, clauses + 1))


def rule_lists(p: int, length: int, clauses: int = 2) -> int:
    """The lists of one to ``length`` different rules in some order: Table 2.1, "Rule Lists".

    ``Σ P(D, d)`` over d = 1 … length: P counts arrangements, and D = :func:`rules`. Errors as
    there.
    """
    _check(p, length)
    return sum(math.perm(rules(p, clauses), d) for d in range(1, length + 1))


def trees(p: int, depth: int) -> int:
    """The binary trees of depth 1 to ``depth`` over ``p`` variables, none twice on a path.

    Trees differ by their splits, not by the predictions of leaves. InputError if a number is not
    positive.
    """
    _check(p, depth)
    return sum(trees_of_depth(p, d) for d in range(1, min(depth, p) + 1))


def trees_as_printed(p: int, depth: int) -> int:
    """Formula (2.1) as the thesis prints it, summed up to a depth: Table 2.1, "Trees".

    From depth 4 on it counts too many trees, see the module's text. InputError if a number is not
    positive, or the depth is beyond :data:`MOST_DEPTH_AS_PRINTED`, where the number is too long.
    """
    _check(p, depth)
    if depth > MOST_DEPTH_AS_PRINTED:
        raise InputError(
            f"formula (2.1) as printed can be worked out up to depth {MOST_DEPTH_AS_PRINTED}, not "
            f"{depth}; trees({p}, {depth}) counts the trees there are"
        )
    return sum(_below(p, 1, d) for d in range(1, min(depth, p) + 1))


def _below(variables: int, leaves: int, levels: int) -> int:
    """What the printed formula counts below a level of ``leaves`` leaves, at least one of them
    split.

    The last level has a closed form: Σ binom(L, n)·v^n over n ≥ 1 is (1 + v)^L − 1.
    """
    if levels == 1:
        return int((1 + variables) ** leaves) - 1
    return sum(
        math.comb(leaves, n) * variables**n * _below(variables - 1, 2**n, levels - 1)
        for n in range(1, leaves + 1)
    )


def _check(*numbers: int) -> None:
    if min(numbers) < 1:
        raise InputError("a search space needs at least one variable, and a depth of at least 1")
