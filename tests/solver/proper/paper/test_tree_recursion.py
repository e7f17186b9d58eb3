"""The recursion, on a family that can be done by hand: all binary trees with n leaves."""

from __future__ import annotations

from collections.abc import Iterator

from solver.proper.paper.tree_recursion import (
    Leaf,
    Memo,
    Node,
    Objective,
    Space,
    best,
    count,
    leaves,
    roots,
    trees,
)

Split = tuple[int, int, int]


def cuts(n: int) -> Iterator[Split]:
    for left in range(1, n):
        yield left, n, n - left


shapes = Space(cuts, lambda n: Leaf(n) if n == 1 else None)
depth = Objective[int](lambda n: 0, lambda root, a, b: 1 + max(a, b))


def test_trees_and_their_number() -> None:
    found = [list(trees(shapes, n)) for n in range(6)]
    assert [len(of) for of in found] == [0, 1, 1, 2, 5, 14]
    assert [count(shapes, n) for n in range(6)] == [0, 1, 1, 2, 5, 14]
    assert all(len(set(of)) == len(of) for of in found)
    one = Leaf(1)
    assert found[3] == [Node(one, 3, Node(one, 2, one)), Node(Node(one, 2, one), 3, one)]


def test_best_is_the_first_of_the_best_trees() -> None:
    for n in range(1, 7):
        everything = list(trees(shapes, n))
        for memo in (None, Memo()):
            found = best(shapes, depth, n, memo)
            assert found is not None
            assert found.cost == depth(found.tree) == min(map(depth, everything))
            assert found.tree == min(everything, key=depth)


def test_no_tree() -> None:
    assert best(shapes, depth, 0) is None
    # A split of which one side has no tree is no split.
    crippled = Space(lambda n: [(0, n, n - 1), (n - 1, n, 1)] if n > 1 else [], shapes.leaf)
    found = best(crippled, depth, 3)
    assert found is not None
    assert found.cost == 2
    assert [*trees(crippled, 3)] == [found.tree]
    assert count(crippled, 3) == 1


def test_a_state_may_be_a_leaf_and_be_split() -> None:
    space = Space(cuts, Leaf)
    weight = Objective[int](lambda n: n * n, lambda root, a, b: a + b + 3)
    assert best(space, weight, 2) == (4, Leaf(2))
    assert best(space, weight, 4) == (11, Node(Leaf(2), 4, Leaf(2)))
    assert count(space, 3) == len(list(trees(space, 3))) == 5


def test_memo_counts_its_hits() -> None:
    memo = Memo()
    best(shapes, depth, 4, memo)
    # 4; of it 1 3, 2 2, 3 1; of 3 once 1 2, 2 1; of 2 once 1 1.
    assert (memo.lookups, memo.hits) == (13, 9)
    assert memo.rate == 9 / 13
    assert Memo().rate == 0


def test_leaves_and_roots() -> None:
    *_, last = trees(shapes, 5)
    assert list(roots(last)) == [5, 4, 3, 2]
    assert list(leaves(last)) == [1] * 5
    assert depth(last) == 4
