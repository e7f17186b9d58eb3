"""What the searches of all solvers share: the driver of slices, tree constraints, first trees.

Here: limits, snapshots, growing arrays, the greedy initial tree.
Not here: what one solver does alone (its own package) and compiled helpers (``solver.kernels``).
"""
