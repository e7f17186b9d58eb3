"""Optimal regression trees on numbers: the search for the least squared error.

Here: its kernels, bounds and exact target scaling.
Not here: classification (``solver.quantbnb.classification``).
"""

COMPILE_SECONDS = 10
"""To compile its kernels, on one core."""
