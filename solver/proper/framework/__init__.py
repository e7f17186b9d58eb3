"""The framework of the paper as programs, each with the number of what it says there.

X. He, M. A. Little, "Proper decision trees: An axiomatic framework for solving optimal decision
tree problems with arbitrary splitting rules". Written to be read beside it, and the reference for
what is faster: nothing here is clever. Read the modules in this order: ``geometry`` (points and
hyperplanes), ``rules``, ``ancestry``, ``trees``, ``generators``, ``optimum``.

Here: ancestry, geometry and rules, which mode ``paper`` needs too.
Not here: generators of all trees (``solver.theory.proper_framework``).
"""
