"""Rashomon sets: all trees whose objective is close to the optimum, counted exactly.

Here: the search for the set, its graph, counts, samples and trees.
Not here: one optimal tree (``solver.branches``), the command ``treesweep rashomon``.
"""
