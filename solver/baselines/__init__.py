"""Heuristic solvers to compare with: CART and TAO.

Here: solvers of the catalogue that prove nothing.
Not here: solvers that prove optimality (a package each).
"""
