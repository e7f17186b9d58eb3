"""The folder of a sweep: rows, plan, states, certificates, good trees, lease, status.

Here: all files of the folder, read and written.
Not here: disk and S3 (``sweep.filesystem``) and checks (``sweep.verify``).
"""
