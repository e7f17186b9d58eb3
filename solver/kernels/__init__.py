"""What compiled kernels share: the jit decorator, vector instructions, tables of bits.

Here: numba code that no single solver owns.
Not here: a solver's own kernels (its package).
"""
