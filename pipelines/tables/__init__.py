"""One table at a time: what ``treesweep solve``, ``path`` and ``predict`` do.

Here: the work without the printing.
Not here: the commands (``pipelines.cli``) and sweeps (``sweep``).
"""
