"""A sweep that faults hit at random, and the comparison with an undisturbed one.

Here: its processes, the faults, the comparison and the command (``python -m tests.faults.chaos``).
Not here: tests of single faults.
"""
