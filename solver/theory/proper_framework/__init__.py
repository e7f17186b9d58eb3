"""The framework of the paper as programs that enumerate all proper trees.

Here: generators, the optimum over them, trees as data.
Not here: rules and geometry, which a search needs too (``solver.proper.paper``).
"""
