"""Checking a store: every tree scored anew on the raw rows, every key, bound and proof.

Here: ``treesweep verify``.
Not here: the scorer and the checker of certificates (``solver.verify``).
"""
