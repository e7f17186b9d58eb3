"""The plan of a sweep: its tasks with their keys, and the cells that cannot run.

Here: what will be done, and the versions that it is done with.
Not here: the plan's file (``sweep.store.plan_file``) and doing it (``sweep.graph``).
"""
