"""What happens on a worker: it starts, loads, encodes, solves, checkpoints, certifies.

Here: functions that Dask calls on workers, and what the process keeps beside them.
Not here: who is given which task (``sweep.graph``).
"""
