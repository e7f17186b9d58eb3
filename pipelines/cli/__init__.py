"""The command line ``treesweep``. What is slow to import is imported late.

Here: a module a group of commands: arguments, printing, exit codes.
Not here: the work that they start (``pipelines.tables``, ``sweep.graph``, ``pipelines.report``).
"""

from pipelines.cli.app import treesweep
from pipelines.cli.catalogues import datasets, encodings, solvers, warmup
from pipelines.cli.cluster import cluster
from pipelines.cli.drivers import stop, submit
from pipelines.cli.paths import path
from pipelines.cli.single import predict, solve
from pipelines.cli.sweeps import report, resume, run, status, verify

__all__ = ["main", "treesweep"]

for command in (
    run,
    resume,
    submit,
    stop,
    status,
    report,
    verify,
    solve,
    path,
    predict,
    datasets,
    encodings,
    solvers,
    warmup,
    cluster,
):
    treesweep.add_command(command)


def main() -> None:
    """The console script ``treesweep``."""
    treesweep(prog_name="treesweep")
