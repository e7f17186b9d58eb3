"""The folder of a sweep: rows, plan, states, certificates, lease, status.

Here: everything that is read from and written to the folder.
Not here: the file systems below (``sweep.filesystem``) and checking (``sweep.verify``).
"""
