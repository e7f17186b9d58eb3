"""The commands ``treesweep inspect`` and ``init``: from a table to what can be run on it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from pipelines.cli.json_and_tables import count, print_json, print_table
from pipelines.cli.problem_options import (
    column_option,
    reading_options,
    reference_fields,
    remedies_as_options,
)

if TYPE_CHECKING:
    from pipelines.single_table.inspection import Inspection


@click.command()
@click.argument("data")
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def inspect(data: str, as_json: bool, **given: Any) -> None:
    """Show how each column of a table is read, and all problems at once.

    The output ends with remedies for the problems: entries of a sweep's file, and options of the
    command line. DATA is as for 'treesweep solve'.
    """
    from pipelines.single_table.inspection import inspect_table

    with remedies_as_options():
        found = inspect_table(data, **reference_fields(given))
    if as_json:
        columns = [vars(column) for column in found.columns]
        print_json({"data": data, "rows": found.rows, "target": found.target, "columns": columns})
        return
    width = count(len(found.columns), "column")
    click.secho(f"{data}: {count(found.rows, 'row')}, {width}", bold=True)
    for note in found.notes:
        click.echo(note)
    click.echo()
    headers = "column", "read as", "distinct", "missing", "examples"
    print_table(
        headers, ([c.name, c.reading, c.distinct, c.missing, c.examples] for c in found.columns)
    )
    click.echo(f"\nTarget: {found.target}")
    _show_problems(found)
    if found.lack_of_features:
        click.echo(f"\nNothing to solve: {found.lack_of_features}.")
    if not found.obstacle:
        click.echo(f"\nOn the command line:\n  {_command(data, found)}")


def _show_problems(found: Inspection) -> None:
    from solver.features.category_values import as_yaml

    if not found.problems:
        if not found.obstacle:
            click.echo("No problems.")
        return
    click.echo(f"\n{count(len(found.problems), 'problem')}:")
    for column in found.problems.values():
        said = column.problem.removeprefix(f"column {column.name!r} ")
        click.echo(f"  {column.name}: {said}")
    click.echo("\nIn a sweep's YAML, or to be changed where another remedy is meant:\n  columns:")
    for name, wish in found.wishes.items():
        click.echo(f"    {as_yaml(name)}: {as_yaml(wish)}")


def _command(data: str, found: Inspection) -> str:
    """The command that solves the table."""
    from pipelines.single_table.inspection import sources_of

    fields = dict(sources_of(found))
    targets = fields.get("target", "COLUMN")
    words = ["treesweep solve", shlex.quote(data)]
    if found.reference.path is not None or "target" in fields:
        named = [targets] if isinstance(targets, str) else targets
        words += [f"--target {shlex.quote(name)}" for name in named]
    for name in ("task", "separator", "charset", "sheet"):
        words += [f"--{name} {shlex.quote(fields[name])}"] if name in fields else []
    words += [column_option(name, wish) for name, wish in fields.get("columns", {}).items()]
    return " ".join([*words, "--lam 0.01"])


@click.command()
@click.argument("data")
@reading_options
def init(data: str, **given: Any) -> None:
    """Print a complete sweep of one table, with comments, to be saved as sweep.yaml.

    If a column cannot be read as it is, the sweep contains the entry that 'treesweep inspect'
    suggests for this column, and says why. If only you can know what its values mean, the sweep
    contains all readings as comments, and is refused until you have chosen one. Both are said on
    stderr, too.
    """
    from pipelines.single_table.inspection import inspect_table
    from pipelines.single_table.sweep_template import write_sweep
    from solver.features.category_values import as_yaml

    with remedies_as_options():
        found = inspect_table(data, **reference_fields(given))
        text = write_sweep(found)
    click.echo(text, nl=False)
    for note in found.notes:
        click.echo(note, err=True)
    for name, column in found.problems.items():
        why = column.why.removeprefix(f"column {name!r} ")
        entry = f"the sweep has {as_yaml(name)}: {as_yaml(column.wish)}"
        told = "CHOOSE in the sweep how to read it" if column.choices else entry
        click.echo(f"Column {name!r} {why}; {told}.", err=True)
