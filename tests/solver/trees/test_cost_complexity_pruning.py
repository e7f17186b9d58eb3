"""Pruned trees against every way of cutting a tree back."""

from fractions import Fraction
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

import solver
from solver.trees.cost_complexity_pruning import prunings
from solver.trees.tree import Shape, Tree, shape_of
from tests.helpers.strategies import Table, tables


def cuts(tree: Tree, at: int = 0) -> list[tuple[int, int]]:
    """Errors and splits of every pruned tree, the plainest way."""
    node = tree.nodes[at]
    found = [(sum(node.counts) - max(node.counts), 0)]
    for parts in product(*(cuts(tree, child) for child in node.children)) if node.children else ():
        found.append((sum(e for e, _ in parts), 1 + sum(s for _, s in parts)))
    return found


@settings(max_examples=100, deadline=None)
@given(table=tables(max_rows=16, max_features=4, max_arity=3), data=st.data())
def test_the_best_for_every_price(table: Table, data: st.DataObject) -> None:
    problem = table.problem()
    tree = solver.solve(problem, "1/1000", limits=solver.Limits(splits=7)).tree
    found, every = list(prunings(tree)), cuts(tree)
    assert [p.splits for p in found] == sorted({p.splits for p in found}, reverse=True)
    assert found[-1].splits == 0
    for pruned in found:
        left = pruned.tree()
        assert (left.errors, left.splits) == (pruned.errors, pruned.splits)
        assert left == problem.grow(shape_of(left))
    for price in (Fraction(1, 7), Fraction(1, 2), Fraction(1), Fraction(5, 2), Fraction(9)):
        assert min(p.errors + price * p.splits for p in found) == min(
            errors + price * splits for errors, splits in every
        )


def test_a_split_that_gains_nothing_is_cut() -> None:
    problem = solver.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1])
    wasteful: Shape = (0, ((1, (-1, -1)), -1))
    assert [p.splits for p in prunings(problem.grow(wasteful))] == [1, 0]
