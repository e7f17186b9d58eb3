"""The driver of a sweep: from the plan to rows in the store, whatever happens to workers.

Here: dispatch, failures, retirement, timeouts, transfer to and from workers.
Not here: how a cluster is started (``sweep.clusters``) and what a task does (``sweep.worker``).
"""
