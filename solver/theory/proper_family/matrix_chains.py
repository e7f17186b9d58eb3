"""Matrix chain multiplication: in which order to multiply A₁ A₂ … Aₙ.

A tree of the chain has a matrix at each leaf and no rule at its nodes (section 6.3 of the paper; it
breaks Axiom 1). Here a memo pays: the product of A_i … A_j is one subproblem wherever it occurs, so
there are n(n + 1)/2 subproblems for Catalan(n − 1) trees (section 4.7.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from solver.errors import InputError
from solver.proper.paper.tree_recursion import (
    Found,
    Leaf,
    Memo,
    Objective,
    Space,
    Split,
    Tree,
    best,
    trees,
)

Chain: TypeAlias = tuple[int, int]
"""The matrices from the first number up to, but without, the second one."""

Product: TypeAlias = tuple[int, int, int]
"""The cost of a product, and its numbers of rows and columns."""


def splits_mcmp(chain: Chain) -> Iterator[Split[Chain]]:
    """splits_MCMP: every way to divide the chain into two that are not empty."""
    first, end = chain
    for middle in range(first + 1, end):
        yield (first, middle), None, (middle, end)


chains = Space(splits_mcmp, lambda chain: Leaf(chain[0]) if chain[1] - chain[0] == 1 else None)
"""The trees of a chain; a leaf holds the number of its matrix, from 0."""


def multiplications(sizes: Sequence[int]) -> Objective[Product]:
    """How many numbers are multiplied; matrix i has sizes[i] rows and sizes[i + 1] columns."""

    def product(root: None, left: Product, right: Product) -> Product:
        (one, rows, inner), (other, _, columns) = left, right
        return one + other + rows * inner * columns, rows, columns

    return Objective(lambda i: (0, sizes[i], sizes[i + 1]), product)


def multiply_best(sizes: Iterable[int], memo: Memo | None = None) -> Found:
    """The order that multiplies fewest numbers.

    Matrix i has sizes[i] rows and sizes[i + 1] columns. With the memo the time grows as n³, without
    it as 3ⁿ. InputError if there is no matrix, or one has no rows or columns.
    """
    given = tuple(sizes)
    if len(given) < 2 or min(given) < 1:
        raise InputError(
            f"sizes {list(given)} describe no chain of matrices; give n + 1 numbers above 0 "
            "for n of them"
        )
    found = best(
        chains, multiplications(given), (0, len(given) - 1), Memo() if memo is None else memo
    )
    assert found is not None
    return Found(found.cost[0], found.tree)


def parenthesisations(n: int) -> Iterator[str]:
    """All ways to bracket n matrices, Catalan(n − 1) of them."""
    return (bracketed(tree) for tree in trees(chains, (0, n)))


def bracketed(tree: Tree) -> str:
    """The tree as a formula: ((A1(A2A3))A4)."""
    if isinstance(tree, Leaf):
        return f"A{tree.content + 1}"
    return f"({bracketed(tree.left)}{bracketed(tree.right)})"
