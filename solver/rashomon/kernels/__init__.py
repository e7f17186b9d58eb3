"""The compiled search for good trees: a memo of subproblems, bounds, the graph, and counts.

Here: numba functions on plain arrays.
Not here: the objects that own the arrays (``solver.rashomon.build_graph`` and ``exact_counts``).
"""
