"""What checks an answer without trusting the search that gave it.

Here: the plain scorer, the checks of a solution, certificates and their checker, which imports
numpy only, and a counter of good trees.
Not here: writing certificates (``solver.branches.certify``).
"""
