"""Check a store: all trees on the raw rows, all keys, bounds and proofs.

Here: ``treesweep verify``.
Not here: the scorer and the checker of certificates (``solver.verify``).
"""
