"""The row of a run: its schema, its metrics, the columns of a λ-path.

Here: from a solution to a row and back.
Not here: the files that hold rows (``sweep.store``).
"""
