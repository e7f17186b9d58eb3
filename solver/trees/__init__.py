"""Decision trees: the stored form, its view for people, exports, pruning.

Here: what a finished tree can do.
Not here: how a tree is found (``solver.engine`` and the solvers).
"""
