"""The command ``treesweep reproduce``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.cli.command_group import ExitCode
from pipelines.cli.json_and_tables import count, make_console, print_table

if TYPE_CHECKING:
    import pandas as pd

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path)


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listed", is_flag=True, help="List the experiments.")
@click.option(
    "--show", is_flag=True, help="Print the experiment's file: what it runs, and on what."
)
@click.option(
    "--data", type=_FOLDER, metavar="DIR",
    help="Folder with the experiment's tables and the printed figures; see --show.",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True), metavar="N",
    help="Time limit of each run [as in the file].",
)  # fmt: skip
@click.option("--out", metavar="DIR", help="Folder of the results [results/NAME].")
@click.option(
    "--markdown", type=_FILE, metavar="FILE",
    help="Write the report's tables into this file, between its lines '<!-- NAME: … -->'.",
)  # fmt: skip
@click.option(
    "--cluster", type=_FOLDER, metavar="cluster.yaml",
    help="Where to run; by default one worker for each core here.",
)  # fmt: skip
def reproduce(
    name: str | None,
    listed: bool,
    show: bool,
    data: Path | None,
    seconds: float | None,
    out: str | None,
    markdown: Path | None,
    cluster: Path | None,
) -> int:
    """Run an experiment of a paper, and compare what is found with what was printed.

    Run the command again to continue: it runs only tasks without a result.
    """
    from pipelines.progress.display import describe_outcome, make_display
    from pipelines.report.charts.style import style
    from pipelines.report.output_folder import ReportFolder
    from pipelines.report.pages.solver_comparison_markdown import (
        comparison_markdown,
        write_between_marks,
    )
    from pipelines.report.save_figures import to_svg
    from pipelines.report.terminal_summary import print_summary
    from pipelines.report.write import gather_report, report_folder, write_report_data
    from pipelines.reproduce.experiments import COMPUTED, EXPERIMENTS
    from pipelines.reproduce.relative_loss_chart import PAPER_FIGURES
    from sweep.clusters import load_cluster
    from sweep.graph.engine import run_sweep
    from sweep.store.read_results import read_results

    if listed or name is None:
        summaries = {own.name: own.summary for own in EXPERIMENTS.values()}
        summaries |= {own.name: own.summary for own in COMPUTED.values()}
        for known, summary in summaries.items():
            click.echo(f"{known:18} {summary}")
        return ExitCode.DONE
    if name in COMPUTED:
        if show or any(x is not None for x in (data, seconds, out, markdown, cluster)):
            raise click.UsageError(f"{name} is computed at once, and takes no options")
        _print_frame(COMPUTED[name].table())
        return ExitCode.DONE
    if name not in EXPERIMENTS:
        raise click.UsageError(f"there is no experiment {name!r}; there are: "
                               f"{', '.join([*EXPERIMENTS, *COMPUTED])}")  # fmt: skip
    experiment = EXPERIMENTS[name]
    if show:
        click.echo(experiment.text, nl=False)
        return ExitCode.DONE
    if data is None and experiment.needs_data:
        raise click.UsageError(f"give --data DIR, the folder of the tables: the head of 'treesweep "
                               f"reproduce {name} --show' says what it must hold")  # fmt: skip
    folder = f"results/{name}" if out is None else out
    tables = data or Path()
    sweep = experiment.sweep(tables, seconds)
    config = None if cluster is None else load_cluster(cluster)
    with make_display(name) as display:
        outcome = run_sweep(sweep, folder, config, listener=display)
    click.echo(describe_outcome(outcome))
    if outcome.interrupted:
        given = {"--data": data, "--seconds": seconds, "--out": out, "--cluster": cluster}
        words = [w for flag, value in given.items() if value is not None for w in (flag, value)]
        again = shlex.join(["treesweep", "reproduce", name, *map(str, words)])
        click.echo(f"Go on with: {again}")
        return ExitCode.INTERRUPTED
    printed = None if experiment.published is None else tables / experiment.published
    found = gather_report(folder, printed)
    paths = write_report_data(found, report_folder(folder, None))
    print_summary(found, make_console())
    _print_verdicts(found.published)
    if experiment.compare is not None:
        _print_frame(experiment.compare(read_results(folder)))
    if markdown is not None:
        write_between_marks(markdown, name, comparison_markdown(found))
    if name in PAPER_FIGURES:
        with style():
            drawn = to_svg(PAPER_FIGURES[name](read_results(folder)))
        click.echo(f"Figure: {ReportFolder(paths.folder).write(f'{name}.svg', drawn)}")
    click.echo(f"Report: {paths.page}")
    return outcome.exit_code


def _print_verdicts(published: pd.DataFrame | None) -> None:
    """How many printed figures are met."""
    if published is not None:
        numbers = published["verdict"].value_counts()
        shown = ", ".join(f"{number} {verdict}" for verdict, number in numbers.items())
        click.echo(f"Of {count(len(published), 'printed figure')}, ours is: {shown}")


def _print_frame(table: pd.DataFrame) -> None:
    print_table([*table.columns], table.itertuples(index=False))
