"""The face: command line, reports and the reproduction of published tables.

Here: what a person starts and reads.
Not here: running sweeps (``sweep``) and searching trees (``solver``).
"""
