"""A million small random problems, each solved and compared with the best of all its trees.

Here: the problems, their oracle, which shares no code with the product, the checks, the ways to
solve a problem, and the command (``python -m tests.solver.million``).
Not here: problems that hypothesis draws and shrinks; tests of single solvers.
"""
