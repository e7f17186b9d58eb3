"""The numbers that the paper prints of its Figures 2, 5 and 6."""

from itertools import permutations
from math import comb, factorial

from solver.proper.paper.ancestry import ancestry, ancestry_matrix, broken_axioms
from solver.theory.proper_framework.tree_generators import (
    gen_bts,
    gen_dtks_by_permutations,
    gen_dts,
)
from solver.theory.proper_framework.trees import from_level_order
from tests.helpers import paper_figure5

RULES, PLANE = paper_figure5.rules_of(paper_figure5.POINTS)


def test_the_lines_are_those_that_the_search_finds():
    assert paper_figure5.search() == paper_figure5.POINTS


def test_their_matrix():
    # r0 cannot be a root, nor r1 or r3: each is unrelated to one of the others.
    assert ancestry_matrix(RULES, ancestry) == [
        [0, 1, 0, 1],
        [-1, 0, -1, 0],
        [-1, -1, 0, -1],
        [1, 1, 0, 0],
    ]


def test_four_lines_cut_the_plane_into_eleven_cells():
    assert PLANE.bit_count() == 1 + 4 + comb(4, 2)


def test_three_trees_of_24_permutations_and_336_labelled_trees():
    valid = [p for p in permutations(RULES) if from_level_order(p, ancestry) is not None]
    assert (len(valid), factorial(4)) == (3, 24)
    assert len(gen_dts(RULES, PLANE)) == len(gen_bts(RULES, ancestry)) == 3
    assert len([*gen_dtks_by_permutations(4, RULES, PLANE)]) == 3
    assert factorial(4) * comb(8, 4) // 5 == 336


def test_two_partitions_of_the_plane():
    trees = gen_dts(RULES, PLANE)
    assert len(paper_figure5.partitions(trees)) == 2
    assert all(broken_axioms(tree, PLANE) == [] for tree in trees)


def test_the_matrix_is_not_transitive_the_trees_are():
    """r0 above r1 above r2, but r0 is not above r2: Axiom 3 speaks of trees."""
    r0, r1, r2, _ = RULES
    assert ancestry(r0, r1) != 0
    assert ancestry(r1, r2) != 0
    assert ancestry(r0, r2) == 0
