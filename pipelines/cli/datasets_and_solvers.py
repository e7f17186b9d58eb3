"""The commands ``treesweep datasets``, ``solvers`` and ``encodings``: lists of what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pipelines.cli.json_and_tables import print_table

if TYPE_CHECKING:
    from solver.base import Capabilities


@click.command()
def datasets() -> None:
    """List the built-in datasets."""
    from sweep.datasets import dataset_names

    rows = [(d.name, d.rows, d.features, d.classes, d.source) for d in dataset_names()]
    print_table(("dataset", "rows", "features", "classes", "what it is"), rows)
    click.echo(
        "\nAlso: openml:ID or openml:NAME (kept on disk once it was downloaded), and files that "
        "end in\n.csv, .tsv, .csv.gz, .xlsx, .parquet, .arrow or .feather."
    )


@click.command()
def solvers() -> None:
    """List the solvers, what they accept and their options."""
    from solver import SOLVERS

    rows = []
    for name, solver in SOLVERS.items():
        capabilities = solver.capabilities
        rows.append(
            (
                name,
                solver.version,
                ", ".join(sorted(capabilities.features)),
                ", ".join(sorted(capabilities.tasks)),
                "any" if capabilities.max_classes is None else f"up to {capabilities.max_classes}",
                ", ".join(_limits(capabilities)) or "none",
                "yes" if capabilities.proves else "no",
                "yes" if capabilities.shards else "no",
                solver.summary,
            )
        )
    print_table(
        (
            "solver",
            "version",
            "features",
            "tasks",
            "classes",
            "tree limits",
            "proves",
            "shards",
            "what it is",
        ),
        rows,
    )
    options = [
        (f"{name} {key}", option.default, _allowed(option.allowed), option.doc)
        for name, solver in SOLVERS.items()
        for key, option in solver.options.items()
    ]
    if options:
        click.echo()
        print_table(("option", "default", "allowed", "meaning"), options)


def _limits(capabilities: Capabilities) -> list[str]:
    return [f"{n} (needed)" if n in capabilities.needs else n for n in sorted(capabilities.limits)]


def _allowed(values: tuple[object, ...] | None) -> str:
    return "" if values is None else ", ".join(map(str, values))


@click.command()
def encodings() -> None:
    """List the encodings and their options."""
    from solver import ENCODINGS

    rows = []
    for name, encoding in ENCODINGS.items():
        numbers = "as categories" if encoding.fit_cuts is None else "cut"
        if encoding.keeps_numbers:
            numbers = "kept, cut by the solver"
        tasks = "classification" if encoding.uses_classes else "classification, regression"
        rows.append((name, encoding.feature_kind, numbers, tasks, encoding.summary))
    print_table(("encoding", "features", "numbers", "tasks", "what it is"), rows)
    options = [
        (f"{name} {key}", option.default, f"{option.minimum} or more", option.doc)
        for name, encoding in ENCODINGS.items()
        for key, option in encoding.options.items()
    ]
    click.echo()
    print_table(("option", "default", "allowed", "meaning"), options)
