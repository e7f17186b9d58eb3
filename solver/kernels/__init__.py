"""What compiled kernels share: the jit decorator, vector instructions, tables of bits.

Here: numba code that several solvers use.
Not here: a solver's own kernels (its package).
"""
