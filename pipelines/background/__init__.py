"""Drivers of sweeps in the background: detached from the terminal, or on a worker's machine.

Here: ``treesweep submit`` and ``stop``.
Not here: workers (``sweep.clusters``).
"""
