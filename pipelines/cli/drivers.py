"""The commands on drivers that run on their own: start one, end it."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.cli.app import ExitCode

_FOLDER = click.Path(path_type=Path)

_START_SECONDS = 20.0
_STOP_SECONDS = 120.0


@click.command()
@click.argument("spec", type=_FOLDER, metavar="SPEC.yaml")
@click.option("--out", metavar="DIR", help="Folder of the results [results/NAME].")
@click.option(
    "--cluster", type=_FOLDER, metavar="cluster.yaml",
    help="Where to run; by default one worker a core of this machine.",
)  # fmt: skip
def submit(spec: Path, out: str | None, cluster: Path | None) -> int:
    """Run a sweep by a process of its own, and come back at once.

    Closing the terminal, or losing the connection to it, does the sweep no harm.
    """
    from pipelines.detached import await_driver, log_for, start_driver
    from sweep import store
    from sweep.clusters import load_cluster, reach_cluster
    from sweep.spec import load_spec
    from sweep.storage import is_remote

    sweep = load_spec(spec)
    folder = f"results/{sweep.spec.name}" if out is None else out
    if not is_remote(folder):
        folder = str(Path(folder).absolute())
    arguments = ["resume", folder]
    if cluster is not None:
        reach_cluster(load_cluster(cluster))
        arguments += ["--cluster", str(cluster.absolute())]
    with store.create(folder, sweep):
        pass  # what is wrong with it is better said here than in the log
    log = log_for(folder, sweep.spec.name)
    process = start_driver(arguments, log)
    if not await_driver(process, folder, log, _START_SECONDS):
        click.echo(f"The sweep has ended already. Report: treesweep report {folder}")
        return int(process.returncode)
    click.echo(
        f"Process {process.pid} runs the sweep; it goes on when this terminal is closed.\n"
        f"Follow it: treesweep status {folder} --follow\n"
        f"Stop it:   treesweep stop {folder}\n"
        f"Its log:   {log}"
    )
    return ExitCode.DONE


@click.command()
@click.argument("folder", metavar="DIR")
def stop(folder: str) -> int:
    """Stop the sweep of a folder, as Ctrl-C does: running searches end, and are kept."""
    from pipelines.detached import await_end, stop_driver

    driver = stop_driver(folder)
    click.echo(f"Asked {driver.name} to stop; waiting for it.")
    if not await_end(folder, _STOP_SECONDS):
        click.echo(f"It is still at work; see 'treesweep status {folder}'.", err=True)
        return ExitCode.FAILED
    click.echo(f"Stopped. Go on with: treesweep resume {folder}")
    return ExitCode.DONE
