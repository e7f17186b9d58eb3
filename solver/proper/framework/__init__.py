"""The framework of the paper as programs, each with its number in the paper.

X. He, M. A. Little, "Proper decision trees: An axiomatic framework for solving optimal decision
tree problems with arbitrary splitting rules". It is the reference for the faster code. Read it next
to the paper, in this order: ``geometry`` (points and hyperplanes), ``rules``, ``ancestry``,
``trees``, ``generators``, ``optimum``.

Here: ancestry, geometry and rules, which mode ``paper`` needs too.
Not here: generators of all trees (``solver.theory.proper_framework``).
"""
