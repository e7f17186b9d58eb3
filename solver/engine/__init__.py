"""What the searches of all solvers share: the driver of slices, tree constraints, first trees.

Here: limits, snapshots, growable arrays, the greedy initial tree.
Not here: code of a single solver (its package) and compiled helpers (``solver.kernels``).
"""
