"""What happens on a worker: load, encode, solve, checkpoint, certify, find good trees.

Here: functions that Dask calls on workers, and what the process keeps beside them.
Not here: who is given which task (``sweep.graph``).
"""
