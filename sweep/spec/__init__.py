"""The specification of a sweep: the models of its YAML, the axes of λ and folds.

Here: reading and validation.
Not here: which tasks follow from it (``sweep.plan``).
"""
