"""Relatives of proper decision trees: one recursion, other rules for splitting.

Here: space partitions, K-D trees, search trees, matrix chains, trees over binary features.
Not here: the recursion itself (``solver.proper.paper.tree_recursion``).
"""
