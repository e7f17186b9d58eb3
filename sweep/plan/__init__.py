"""The plan of a sweep: its tasks with their keys, and the cells that cannot run.

Here: tasks, their keys, and the versions of the code.
Not here: the plan's file (``sweep.store.plan_file``) and running it (``sweep.graph``).
"""
