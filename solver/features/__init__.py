"""Features: how raw columns are read, and the tests that a tree asks of them.

Here: columns and their values, categories, thresholds, hyperplanes, number formats.
Not here: what turns a table into features (``solver.encodings``).
"""
