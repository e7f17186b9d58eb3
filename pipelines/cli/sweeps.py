"""The commands ``treesweep run``, ``resume``, ``status``, ``verify`` and ``report``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from pipelines.cli.command_group import ExitCode
from pipelines.cli.json_and_tables import count, make_console, print_json, print_lines, print_table

if TYPE_CHECKING:
    from sweep.events import Outcome
    from sweep.plan.plan import Block, Plan
    from sweep.spec.spec import Choice
    from sweep.store.sweep_status import SweepStatus
    from sweep.verify.verify import Verification

_FOLDER = click.Path(path_type=Path)
_cluster = click.option(
    "--cluster", type=_FOLDER, metavar="cluster.yaml",
    help="Where to run; by default one worker for each core here.",
)  # fmt: skip


@click.command()
@click.argument("spec", type=_FOLDER, metavar="SPEC.yaml")
@click.option(
    "--out", metavar="DIR", help="Folder of the results, or s3://BUCKET/PREFIX [results/NAME]."
)
@_cluster
@click.option(
    "--dry-run", is_flag=True, help="Show the plan and the cluster, and run and write nothing."
)
def run(spec: Path, out: str | None, cluster: Path | None, dry_run: bool) -> int:
    """Run a sweep: all its tasks that have no result in the folder yet.

    After a change of SPEC.yaml, run it again: only what is new is run. The first Ctrl-C ends the
    running searches and saves them; the second one exits at once. After either, 'treesweep resume'
    continues the sweep.
    """
    from pipelines.progress.display import make_display
    from sweep.clusters import load_cluster
    from sweep.graph.engine import run_sweep
    from sweep.plan.plan import make_plan
    from sweep.spec.spec import load_spec

    sweep = load_spec(spec)
    config = None if cluster is None else load_cluster(cluster)
    folder = f"results/{sweep.spec.name}" if out is None else out
    if dry_run:
        _show_plan(make_plan(sweep), folder)
        if config is not None:
            click.echo(f"\nCluster of {cluster}:\n\n{config.dry_run()}")
        return ExitCode.DONE
    with make_display(sweep.spec.name) as display:
        outcome = run_sweep(sweep, folder, config, listener=display)
    return _conclude(outcome, folder)


@click.command()
@click.argument("folder", metavar="DIR")
@_cluster
def resume(folder: str, cluster: Path | None) -> int:
    """Go on with the sweep of a folder, after an interruption of any kind."""
    from pipelines.progress.display import make_display
    from sweep.clusters import load_cluster
    from sweep.graph.engine import resume_sweep
    from sweep.store.store import read_manifest

    name = read_manifest(folder)["sweep"]
    config = None if cluster is None else load_cluster(cluster)
    with make_display(name) as display:
        outcome = resume_sweep(folder, config, listener=display)
    return _conclude(outcome, folder)


@click.command()
@click.argument("folder", metavar="DIR")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--follow", is_flag=True, help="Show the progress until the sweep no longer runs.")
def status(folder: str, as_json: bool, follow: bool) -> None:
    """Show the progress of a sweep, running or not."""
    from sweep.store.sweep_status import sweep_status

    if follow:
        from pipelines.progress.follow import follow_sweep

        follow_sweep(folder)
    found = sweep_status(folder)
    if as_json:
        print_json(found.to_dict())
    else:
        print_lines(_status_lines(found))


def _status_lines(found: SweepStatus) -> list[tuple[str, str]]:
    from pipelines.progress.display import show_seconds
    from solver.features.number_format import at_least, show_bytes

    driver = found.driver or "nobody yet"
    lines = [
        ("sweep", f"{found.sweep} in {found.folder}"),
        ("driver", f"{driver} is at work" if found.live else f"none is at work (last: {driver})"),
        ("tasks", f"{found.done}/{found.total} done, {found.failed} failed, "
                  f"{found.running} running, {found.missing} missing"),
    ]  # fmt: skip
    if found.statuses:
        lines.append(("rows", ", ".join(f"{n} {s}" for s, n in found.statuses.items())))
    if found.impossible:
        lines.append(("impossible", f"{count(found.impossible, 'cell')} cannot be run"))
    if found.unfinished:
        lines.append(("unfinished", f"{count(found.unfinished, 'search')} kept to go on from"))
    if found.states:
        where = "it" if found.states == 1 else "each"
        kept = f"{count(found.states, 'search')} can go on where {where} stood"
        lines.append(("states", f"{kept}, {show_bytes(found.state_bytes)}"))
    if found.uncertified:
        lacking = f"{count(found.uncertified, 'answer')} without the one asked for"
        lines.append(("certificates", f"{lacking}; treesweep verify says why"))
    if found.cut_short:
        sets = count(found.cut_short, "set")
        lines.append(("good trees", f"{sets} of a smaller tolerance: a limit ended the search"))
    if found.worst_gap is not None:
        lines.append(("worst gap", at_least(found.worst_gap, 4)))
    lines.append(("search", show_seconds(found.seconds)))
    if found.live:
        eta = "" if found.eta is None else f", {show_seconds(found.eta)} left"
        rate = "" if found.rate is None else f", {found.rate:.3g} tasks/s"
        workers = f"{count(found.workers, 'worker')}, {show_bytes(found.memory)}"
        lines.append(("speed", f"{workers}{rate}{eta}"))
        if found.dashboard is not None:
            lines.append(("dashboard", found.dashboard))
    elif found.missing or found.failed:
        lines.append(("go on with", f"treesweep resume {quote(found.folder)}"))
    return lines


@click.command()
@click.argument("folder", metavar="DIR")
@click.option(
    "--proof",
    is_flag=True,
    help="Check certificates and sets of good trees too; that may take long.",
)
@click.option(
    "--sample", type=click.IntRange(1), metavar="N",
    help="Check about N rows only, the same ones each time.",
)  # fmt: skip
def verify(folder: str, proof: bool, sample: int | None) -> ExitCode:
    """Check a sweep's folder: score every tree anew, check keys, bounds and columns.

    It also lists claims of external solvers that contradict proven results. These do not count as
    errors. The last line says what was not checked.

    Exit code 1 says that something is wrong, or that planned tasks have failed or have no row.
    """
    from sweep.verify.external_claims import refuted_claims
    from sweep.verify.verify import verify_sweep

    found = verify_sweep(folder, proof, lambda text: click.echo(text, err=True), sample)
    checked = f"{count(found.rows, 'row')} checked, {count(found.trees, 'tree')} scored anew"
    if found.unscored:
        checked += f", {count(found.unscored, 'tree')} could not be"
    if proof:
        checked += f", {count(found.proofs, 'proof')} checked"
    if found.sets:
        checked += f", {count(found.sets, 'Rashomon set')} counted anew"
    if found.former:
        rows = count(found.former, "row")
        checked += f"; {rows} of earlier plans, whose data the sweep's file does not name any more"
    for claim in refuted_claims(folder):
        click.echo(f"not true: {claim}")
    trust = f"Taken on trust: {', and '.join(_unchecked(found, sample))}."
    if not found.rows and not found.findings:
        click.echo(f"Nothing is checked: {folder} has no rows.")
        return ExitCode.FAILED
    if not found.findings and not found.missing and not found.failed:
        click.echo(f"{checked}: all is well. {trust}")
        return ExitCode.DONE
    planned = count(found.planned, "planned task")
    for number, what in ((found.failed, "failed"), (found.missing, "no row")):
        if number:
            checked += f"; {number} of {planned} {'has' if number == 1 else 'have'} {what}"
    if found.failed or found.missing:
        checked += f" (treesweep resume {quote(folder)})"
    for finding in found.findings:
        click.echo(f"{finding.key[:12]} {finding.task}: {finding.problem}".lstrip())
    click.echo(f"{checked}: {count(len(found.findings), 'finding')}. {trust}")
    return ExitCode.FAILED


def _unchecked(found: Verification, sample: int | None) -> list[str]:
    """What a check of a store takes on trust."""
    trusted = ["how, when and where searches ran"]
    if found.trusted:
        trusted.insert(
            0, f"{count(found.trusted, 'lower bound')} that no checked certificate proves"
        )
    if sample is not None:
        trusted.insert(0, "the rows outside the sample")
    return trusted


@click.command()
@click.argument("folder", metavar="DIR")
@click.option("--out", type=_FOLDER, metavar="DIR", help="Where to write [DIR/report].")
@click.option(
    "--published", type=_FOLDER, metavar="FILE.csv",
    help="Published results to compare with, e.g. those of the BRANCHES paper.",
)  # fmt: skip
@click.option(
    "--watch",
    is_flag=True,
    help="Update the report while the sweep runs; live.html shows the running tasks.",
)
@click.option(
    "--every", type=click.FloatRange(1), default=30.0, show_default=True, metavar="SECONDS",
    help="Shortest time between two reports of --watch.",
)  # fmt: skip
@click.option(
    "--single-file", is_flag=True,
    help="Write also report.html, one page with all pictures, which can be mailed.",
)  # fmt: skip
def report(
    folder: str,
    out: Path | None,
    published: Path | None,
    watch: bool,
    every: float,
    single_file: bool,
) -> None:
    """Write the report of a sweep, finished or not: its λ-paths and a comparison of its solvers."""
    from pipelines.report.terminal_summary import print_summary
    from pipelines.report.write import gather_report, report_folder, write_report_data

    place = report_folder(folder, out)
    if watch:
        from pipelines.report.live_report import watch_report

        if published is not None:
            raise click.UsageError("--published is for a finished sweep; leave out --watch")
        if single_file:
            raise click.UsageError("--single-file is for a report that stays; leave out --watch")
        found, paths = watch_report(folder, place, every, lambda text: click.echo(text, err=True))
    else:
        found = gather_report(folder, published)
        paths = write_report_data(found, place, single_file=single_file)
    print_summary(found, make_console())
    click.echo(f"Report: {paths.page}")
    if paths.single is not None:
        click.echo(f"In one file: {paths.single}")


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR DIR...")
@click.option(
    "--out", type=_FOLDER, default="comparison", show_default=True, metavar="DIR",
    help="Where to write.",
)  # fmt: skip
def compare(folders: tuple[str, ...], out: Path) -> None:
    """Write one report of two or more sweeps, with the tasks of all of them."""
    from pipelines.report.pooled_sweeps import gather_comparison
    from pipelines.report.terminal_summary import print_summary
    from pipelines.report.write import write_report_data
    from sweep.store.sweep_status import sweep_status

    if len(folders) < 2:
        raise click.UsageError(f"one sweep has nothing to be compared with; 'treesweep report "
                               f"{quote(folders[0])}' writes its report")  # fmt: skip
    found = gather_comparison(folders)
    paths = write_report_data(found, out)
    print_summary(found, make_console())
    click.echo(f"Report: {paths.page}")
    for now in map(sweep_status, folders):
        if left := now.missing + now.running:
            then = "a driver is at work" if now.live else f"treesweep resume {quote(now.folder)}"
            click.echo(f"{now.sweep}: {left} of {count(now.total, 'task')} not run yet: {then}")


def _conclude(outcome: Outcome, folder: str) -> int:
    from pipelines.progress.display import describe_outcome

    click.echo(describe_outcome(outcome))
    if outcome.interrupted:
        click.echo(f"Go on with: treesweep resume {quote(folder)}")
    else:
        click.echo(f"Results: {folder}. Report: treesweep report {quote(folder)}")
    return outcome.exit_code


def _show_plan(plan: Plan, folder: str) -> None:
    """Print the plan of a sweep."""
    from solver.features.number_format import show_bytes
    from sweep.spec.requested_outputs import asks_division

    encodings = [node.encoding for node in plan.nodes]
    solvers = plan.spec.solver_choices()
    cells: dict[tuple[str, ...], int] = {}
    for block in plan.blocks:
        encoding, solver = _told_apart(block.node.encoding, encodings), block.solver
        name = _told_apart(solver, solvers)
        if solver.shards > 1 and "shard" not in name:
            name += f" in {solver.shards} shards"
        if asks_division(solver.options):
            name = name if "shard" in name else f"{name} shards auto"
            if not any(solver.divides(lam.exact, block.node.info.task) for lam in block.lams):
                name += " (undivided)"
        names = (block.node.info.dataset, encoding, name)
        cell = (*names, _shown_lams(block))
        cells[cell] = cells.get(cell, 0) + len(block.lams)
    click.echo(f"{plan.spec.name}: {count(plan.n_tasks, 'task')}, results in {folder}\n")
    columns = ("dataset", "encoding", "solver", "λ", "tasks")
    print_table(columns, [(*c, n) for c, n in cells.items()])
    if plan.readings:
        click.echo()
    for line in plan.readings:
        click.echo(line)
    if plan.impossible:
        click.echo(f"\n{count(plan.n_impossible, 'cell')} cannot be run:\n")
        rows = []
        for e in plan.impossible:
            reason = e.reason.removeprefix(f"dataset {e.dataset!r}: ")
            rows.append((e.dataset, e.encoding, e.solver, e.tasks, reason))
        print_table(("dataset", "encoding", "solver", "cells", "why"), rows)
    click.echo(f"\nEstimate: {show_bytes(plan.estimated_bytes)} of results; {_most_time(plan)}.")


def _most_time(plan: Plan) -> str:
    """The longest possible search time, rounded up."""
    from pipelines.progress.display import show_seconds

    if plan.untimed == plan.n_tasks:
        return "no limit of time is set"
    most = math.ceil(plan.most_seconds)
    # Round up to minutes from an hour on, and to days from a hundred hours on.
    for shown_from, unit in ((3600, 60), (100 * 3600, 86400)):
        if most >= shown_from:
            most = -(-most // unit) * unit
    time = f"at most {show_seconds(most)} of search"
    if plan.untimed:
        time += f", without {count(plan.untimed, 'task')} that no limit of time is set for"
    return time


def _shown_lams(block: Block) -> str:
    """The λ of a block in short: ``0.01``, ``0.1 … 0.001``, ``path from 0.001``."""
    from sweep.spec.requested_outputs import shown_lam

    first, last = block.lams[0].label, block.lams[-1].label
    if len(block.lams) == 1:
        return shown_lam(first, block.solver.options)
    return f"{first}{', ' if len(block.lams) == 2 else ' … '}{last}"


def _told_apart(choice: Choice, choices: Sequence[Choice]) -> str:
    """The name of a choice, with the options that distinguish it from others of that name."""
    from pipelines.variant_labels import telling_options

    namesakes = [{**c.options, **c.limits} for c in choices if c.name == choice.name]
    own = {**choice.options, **choice.limits}
    return " ".join([choice.name, *telling_options(choice.name, own, namesakes)])
