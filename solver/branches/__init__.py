"""BRANCHES: best-first dynamic programming with purification bounds.

Here: the solver, the object that owns its arrays, warm starts, certificates, mode ``paper``.
Not here: the compiled search (``kernels``) and the initial tree (``solver.engine.greedy``).
"""

from solver.branches.solver import Branches

__all__ = ["Branches"]

COMPILE_SECONDS = 15
"""To compile its kernels, on one core."""
