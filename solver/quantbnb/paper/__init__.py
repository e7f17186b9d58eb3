"""Quant-BnB as its paper has it: boxes of trees, bounded and narrowed by quantiles.

Here: mode ``paper``.
Not here: the faster search of mode ``fast`` (``solver.quantbnb.classification``).
"""

COMPILE_SECONDS = 4
"""To compile its kernels, on one core."""
