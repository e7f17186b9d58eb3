"""Proper trees as their paper has them: mode ``paper``, each function with its number there.

X. He, M. A. Little, "Proper decision trees: An axiomatic framework for solving optimal decision
tree problems with arbitrary splitting rules". It is the reference for the faster code. Read it next
to the paper, in this order: ``geometry`` (points and hyperplanes), ``rules``, ``ancestry``,
``tree_recursion``, ``trees``, ``tree_generators``, ``optimum``.

Here: geometry, rules, ancestry, the recursion, and the search of mode ``paper``.
Not here: ``trees``, ``tree_generators`` and ``optimum`` (``solver.theory.proper_framework``), the
faster search of mode ``search`` (``solver.proper``).
"""
