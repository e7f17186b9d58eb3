"""The compiled search of BRANCHES: AO* over a stack of frames, its bounds and its memo.

Here: numba functions on plain arrays.
Not here: the object that owns the arrays (``solver.branches.engine``).
"""
