"""Proper decision trees: optimal trees of any splitting rules.

Here: the solver, rules as dichotomies of points, exact geometry, mode ``paper``. Not everything
needs numba, so the solver is imported from ``solver.proper.solver``.
Not here: related families of trees (``solver.theory.proper_family``).
"""

COMPILE_SECONDS = 10
"""To compile its kernels, on one core."""
