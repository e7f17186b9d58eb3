"""How many rule lists and how many trees there are: Table 2.1 of the OSDT thesis, exactly.

Hu, *Optimal Sparse Decision Trees* (OSDT), chapter 2. Whole numbers without a limit take the
place of floats, so what the table prints as "Inf" has a value.

Where the thesis cannot be taken at its word
--------------------------------------------
*Rule lists.* The sum over the lists of d rules is printed up to d − 1. The table has it up to d:
for 10 variables and d = 1 it prints 55, the number of rules, which is the number of lists of one
rule; up to d − 1 there would be none.

*Formula (2.1)* counts the trees of a depth level by level: of the 2^n leaves below n splits it
splits some, 1 or more. But below n splits there are 2·n leaves. For n = 1 and n = 2, so up to
depth 3, the two are the same; beyond, the printed formula counts splits of leaves that are not
there. The table was made with the formula as printed: at depth 4 it has 9.338e20 trees of 10
variables where there are 5.610e13. :func:`trees` counts the trees there are,
:func:`trees_as_printed` gives the table's figures. The BRANCHES paper, which quotes the formula,
has the right counts in its Table 1, see :mod:`solver.theory.branches_complexity`.

*Digits.* The table cuts its figures off after the fourth digit and does not round them.
"""

from __future__ import annotations

import math

from solver.errors import InputError
from solver.theory.branches_complexity import trees_of_depth

MOST_DEPTH_AS_PRINTED = 5
"""The printed formula has 2^65536 leaves on the level below this depth."""


def rules(p: int, clauses: int = 2) -> int:
    """The rules that CORELS mines: a variable, or a conjunction of up to ``clauses`` of them.

    Parameters
    ----------
    p : int
        Binary variables.
    clauses : int
        The most variables in a rule; 2 gives the thesis's D = p + binom(p, 2).

    Raises
    ------
    InputError
        If a number is not positive.
    """
    _check(p, clauses)
    return sum(math.comb(p, c) for c in range(1, clauses + 1))


def rule_lists(p: int, length: int, clauses: int = 2) -> int:
    """The lists of one to ``length`` different rules in some order: Table 2.1, "Rule Lists".

    ``Σ P(D, d)`` over d = 1 … length, with P the number of arrangements and D = :func:`rules`.
    Errors as there.
    """
    _check(p, length)
    return sum(math.perm(rules(p, clauses), d) for d in range(1, length + 1))


def trees(p: int, depth: int) -> int:
    """The binary trees of depth 1 to ``depth`` of which no path asks for a variable twice.

    Trees are told apart by their splits only, not by what their leaves predict.

    Parameters
    ----------
    p : int
        Binary variables.
    depth : int
        Splits on the longest path.

    Raises
    ------
    InputError
        If a number is not positive.
    """
    _check(p, depth)
    return sum(trees_of_depth(p, d) for d in range(1, min(depth, p) + 1))


def trees_as_printed(p: int, depth: int) -> int:
    """Formula (2.1) as the thesis prints it, summed up to a depth: Table 2.1, "Trees".

    From depth 4 on it counts more trees than there are, see the module's text.

    Raises
    ------
    InputError
        If a number is not positive, or the depth is beyond :data:`MOST_DEPTH_AS_PRINTED`: no
        computer could write the number down.
    """
    _check(p, depth)
    if depth > MOST_DEPTH_AS_PRINTED:
        raise InputError(
            f"formula (2.1) as printed can be worked out up to depth {MOST_DEPTH_AS_PRINTED}, not "
            f"{depth}; trees({p}, {depth}) counts the trees there are"
        )
    return sum(_below(p, 1, d) for d in range(1, min(depth, p) + 1))


def _below(variables: int, leaves: int, levels: int) -> int:
    """What the printed formula counts below a level of so many leaves, one or more of them split.

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
