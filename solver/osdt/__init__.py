"""OSDT: branch and bound over sets of leaves.

Here: the solver, its caches of leaves and trees, its bounds and scheduling policies.
Not here: the size of its search space (``solver.theory``).
"""

from solver.osdt.solver import Osdt

__all__ = ["Osdt"]

COMPILE_SECONDS = 9
"""To compile its kernels, on one core."""
