"""The commands ``treesweep submit`` and ``stop``: drivers without a terminal."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from pipelines.cli.command_group import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from sweep.clusters import Address, Cluster
    from sweep.plan.plan import Plan
    from sweep.spec.spec import SweepFile

_FOLDER = click.Path(path_type=Path)

_START_SECONDS = 20.0
_STOP_SECONDS = 120.0


@click.command()
@click.argument("spec", type=_FOLDER, metavar="SPEC.yaml")
@click.option("--out", metavar="DIR", help="Folder of the results [results/NAME].")
@click.option(
    "--cluster", type=_FOLDER, metavar="cluster.yaml",
    help="Where to run; by default one worker for each core here.",
)  # fmt: skip
@click.option(
    "--on-cluster", is_flag=True,
    help="Start the process on a worker's machine; for clusters of kind 'address'.",
)  # fmt: skip
def submit(spec: Path, out: str | None, cluster: Path | None, on_cluster: bool) -> int:
    """Run a sweep in a background process, and return at once.

    You may then close the terminal, or lose the connection to it. With --on-cluster you may also
    switch off this machine: DIR must then be on a disk that the worker shares, or on s3://.
    """
    from sweep.clusters import Address, load_cluster
    from sweep.filesystem import is_remote
    from sweep.plan.plan import make_plan
    from sweep.spec.spec import load_spec

    sweep = load_spec(spec)
    folder = f"results/{sweep.spec.name}" if out is None else out
    if not is_remote(folder):
        folder = str(Path(folder).absolute())
    config = None if cluster is None else load_cluster(cluster)
    if on_cluster and not isinstance(config, Address):
        raise click.UsageError("--on-cluster needs a --cluster of kind 'address', which goes on")
    plan = make_plan(sweep)
    is_stored = _is_stored(folder, sweep)
    if is_stored and not _prepare(folder, sweep, plan):
        return ExitCode.DONE

    def prepare() -> bool:
        return is_stored or _prepare(folder, sweep, plan)

    if on_cluster and isinstance(config, Address):
        return _submit_there(sweep, folder, config, prepare)
    return _submit_here(sweep, folder, config, cluster, prepare)


def _submit_here(
    sweep: SweepFile,
    folder: str,
    config: Cluster | None,
    cluster: Path | None,
    prepare: Callable[[], bool],
) -> int:
    from pipelines.background.detached_driver import await_driver, log_for, start_driver
    from sweep.clusters import reach_cluster

    arguments = ["resume", folder]
    if config is not None:
        reach_cluster(config)
        arguments += ["--cluster", str(Path(cluster or "").absolute())]
    if not prepare():
        return ExitCode.DONE
    log = log_for(folder, sweep.spec.name)
    process = start_driver(arguments, log)
    if (code := await_driver(process, folder, log, _START_SECONDS)) is not None:
        return _say_it_ended(folder, code)
    click.echo(f"Process {process.pid} runs the sweep; it goes on when this terminal is closed.")
    _say_how_to_go_on(folder, str(log))
    return ExitCode.DONE


def _submit_there(
    sweep: SweepFile, folder: str, config: Address, prepare: Callable[[], bool]
) -> int:
    from pipelines.background.driver_on_worker import await_launched, find_starter, launch
    from sweep.clusters import open_cluster
    from sweep.clusters.worker_admission import check_workers

    references = [dataset.from_directory(sweep.base) for dataset in sweep.spec.datasets]
    files = [str(reference.path) for reference in references if reference.path is not None]
    with open_cluster(config) as client:
        check_workers(client)
        worker = find_starter(client, folder, files)
        if not prepare():
            return ExitCode.DONE
        found = launch(client, worker, folder, sweep.spec.name)
        if (code := await_launched(client, found, folder, _START_SECONDS)) is not None:
            return _say_it_ended(folder, code)
    click.echo(f"Process {found.pid} on {found.host} runs the sweep; this machine is free to go.")
    _say_how_to_go_on(folder, f"{found.log} on {found.host}")
    return ExitCode.DONE


def _is_stored(folder: str, sweep: SweepFile) -> bool:
    """Whether a folder holds this very sweep, so that to plan it anew changes nothing."""
    from solver.errors import InputError
    from sweep.store.store import stored_sweep

    try:
        held = stored_sweep(folder)
    except InputError:  # there is none, or what is wrong with it is said when it is opened
        return False
    return (held.text, str(held.base)) == (sweep.text, str(sweep.base))


def _prepare(folder: str, sweep: SweepFile, plan: Plan) -> bool:
    """Create the folder of a sweep with its plan. False if no task is left, which is said.

    Errors are shown here instead of in the log, before the folder is changed.
    """
    from pipelines.progress.display import describe_nothing_to_do
    from sweep.store import store
    from sweep.store.plan_file import survey

    with store.create(folder, sweep, lambda text: click.echo(text, err=True)) as made:
        remaining, answered = survey(plan, made)
    if not len(remaining):
        report = f"treesweep report {quote(str(folder))}"
        click.echo(f"{describe_nothing_to_do(answered)} Report: {report}")
    return bool(len(remaining))


def _say_it_ended(folder: str, code: int) -> int:
    click.echo(f"The sweep has ended already. Report: treesweep report {quote(str(folder))}")
    return code


def _say_how_to_go_on(folder: str, log: str) -> None:
    click.echo(
        f"Follow it: treesweep status {quote(str(folder))} --follow\n"
        f"Stop it:   treesweep stop {quote(str(folder))}\n"
        f"Its log:   {log}"
    )


@click.command()
@click.argument("folder", metavar="DIR")
def stop(folder: str) -> int:
    """Stop the sweep of a folder, as Ctrl-C does: running searches end and are saved."""
    from pipelines.background.detached_driver import await_end, stop_driver

    driver = stop_driver(folder)
    click.echo(f"Asked {driver.name} to stop; waiting for it.")
    if not await_end(driver, _STOP_SECONDS):
        click.echo(f"It is still at work; see 'treesweep status {quote(str(folder))}'.", err=True)
        return ExitCode.FAILED
    if _is_over(folder):
        click.echo("All its tasks had ended before it stopped. "
                   f"Report: treesweep report {quote(str(folder))}")  # fmt: skip
    else:
        click.echo(f"Stopped. Go on with: treesweep resume {quote(str(folder))}")
    return ExitCode.DONE


def _is_over(folder: str) -> bool:
    """Whether every task of a sweep has a row; False if its folder cannot be read."""
    from solver.errors import InputError
    from sweep.store.sweep_status import sweep_status

    try:
        found = sweep_status(folder)
    except InputError:  # resuming tells what is wrong with it
        return False
    return found.done + found.failed == found.total
