"""What a sweep asks for: the models of its YAML, and the axes of λ and folds.

Here: reading and refusing.
Not here: which tasks follow from it (``sweep.plan``).
"""
