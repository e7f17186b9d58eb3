"""States of long searches on their way between workers and driver.

Here: files that travel in chunks through Dask's scheduler, in both directions.
Not here: what a state holds (``sweep.store``) and when it is written (``sweep.worker``).
"""
