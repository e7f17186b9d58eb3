"""The linear program of row duals: column generation.

Here: the program for the constraints in a pool, and the search for constraints that are violated.
Not here: when it is improved, and what its duals bound (``kernels.lp_dual_bounds``).
"""
