"""BRANCHES as its paper has it: select, expand, backpropagate (Algorithm 1).

Here: mode ``paper``.
Not here: the faster search of mode ``full`` (``solver.branches.kernels``).
"""

COMPILE_SECONDS = 6
"""To compile its kernels, on one core."""
