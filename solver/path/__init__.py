"""The exact λ-path: every tree that is optimal for some λ, with exact breakpoints.

Here: the path, its lower envelope, the search for it, and the log to replay it from.
Not here: a single solve (``solver.base``).
"""
