"""The objective in exact arithmetic: λ, weights, errors and squared errors.

Here: fractions, and the 64-bit integers that searches count in.
Not here: bounds (each solver's own) and the λ-path (``solver.path``).
"""
