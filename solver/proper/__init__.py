"""Proper decision trees: optimal trees of any splitting rules.

Here: the solver, rules as dichotomies of points, exact geometry, mode ``paper``.
Not here: related families of trees (``solver.theory.proper_family``).
"""

from solver.proper.solver import Proper

__all__ = ["Proper"]

COMPILE_SECONDS = 10
"""To compile its kernels, on one core."""
