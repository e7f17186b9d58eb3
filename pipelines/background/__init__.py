"""Drivers that outlive their terminal: detached, and on the machine of a worker.

Here: ``treesweep submit`` and ``stop``.
Not here: workers (``sweep.clusters``).
"""
