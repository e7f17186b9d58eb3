"""Solvers that others wrote, as solvers of ours: one adapter a file.

Here: adapters, and the child process in which each search runs under hard limits.
Not here: proofs. What such a solver says of its tree is kept as a claim; the tree is scored anew.
"""
