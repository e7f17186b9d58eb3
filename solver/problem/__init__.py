"""The problem that a search works on: encoded features, target and integer weights.

Here: building a problem from a table or from codes.
Not here: raw columns (``solver.features``) and encodings (``solver.encodings``).
"""
