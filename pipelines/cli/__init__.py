"""The command line ``treesweep``. Slow imports are inside the commands.

Here: a module for each command or group: arguments, printing, exit codes.
Not here: the work that they start (``single_table``, ``report``, ``sweep.graph``).
"""

from pipelines.cli.cluster import cluster
from pipelines.cli.command_group import treesweep
from pipelines.cli.datasets_and_solvers import datasets, encodings, solvers
from pipelines.cli.inspect_and_init import init, inspect
from pipelines.cli.path import path
from pipelines.cli.predict import predict
from pipelines.cli.rashomon import rashomon
from pipelines.cli.reproduce import reproduce
from pipelines.cli.show_tree import show
from pipelines.cli.solve import solve
from pipelines.cli.submit import stop, submit
from pipelines.cli.sweeps import compare, report, resume, run, status, verify
from pipelines.cli.warmup import warmup

__all__ = ["main", "treesweep"]

for command in (
    inspect, init, solve, path, rashomon, predict, show, run, resume, submit, stop, status, report,
    compare, verify, reproduce, datasets, encodings, solvers, warmup, cluster,
):  # fmt: skip
    treesweep.add_command(command)


def main() -> None:
    """The console script ``treesweep``."""
    treesweep(prog_name="treesweep")
