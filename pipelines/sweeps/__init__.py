"""Sweeps from Python: ``treesweep.run_sweep`` and what it gives.

Here: what a program calls to run a sweep, and to read its results.
Not here: the engine (``sweep.graph``), the commands (``pipelines.cli``).
"""

from pipelines.sweeps.results import Best, SweepResults, read_results
from pipelines.sweeps.run import resume_sweep, run_sweep, status

__all__ = ["Best", "SweepResults", "read_results", "resume_sweep", "run_sweep", "status"]
