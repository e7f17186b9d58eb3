"""The command ``treesweep rashomon``: all trees that are nearly as good as the best one."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.cli.app import ExitCode, stop_on_interrupt
from pipelines.cli.output import count, print_json, print_lines, print_table
from pipelines.cli.problem_options import (
    AUTO,
    describe_problem,
    make_request,
    problem_options,
    remedies_as_options,
    show_limits,
    show_problem,
)

if TYPE_CHECKING:
    from solver import RashomonSet

_UNITS = ("relative", "objective", "lam")


@click.command()
@click.argument("data")
@click.option("--lam", required=True, metavar="λ", help="The price of a split, e.g. 0.01 or 1/958.")
@click.option(
    "--within", default="0.05", show_default=True, metavar="NUMBER",
    help="How much worse than the best tree a good one may be.",
)  # fmt: skip
@click.option(
    "--unit", type=click.Choice(_UNITS), default=_UNITS[0], show_default=True,
    help="What --within is: a share of the optimum, a difference of objectives, or so many λ.",
)  # fmt: skip
@problem_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option(
    "--save", type=click.Path(path_type=Path), metavar="FOLDER",
    help="Write rashomon.json and the best trees here, e.g. tree-1.json.",
)  # fmt: skip
@click.option(
    "--trees", type=click.IntRange(min=1), default=10, show_default=True, metavar="N",
    help="How many trees --save writes.",
)  # fmt: skip
def rashomon(
    data: str,
    lam: str,
    within: str,
    unit: str,
    as_json: bool,
    save: Path | None,
    trees: int,
    **given: Any,
) -> ExitCode:
    """Count all trees that are nearly as good as the best one, and the features that they use.

    This is the Rashomon set. All of it is found or none: a limit ends the command. Trees are
    counted exactly, without making them one by one, by their errors and splits.

    DATA is as for 'treesweep solve'.
    """
    from pipelines.tables.rashomon_files import check_set_folder, save_set
    from pipelines.tables.solve import find_good_trees, settle
    from solver.errors import InputError

    if given["solver"] != AUTO or given["options"]:
        raise InputError(
            "good trees are counted by a search of their own; leave out --solver and --option"
        )
    with remedies_as_options():
        request = settle(make_request(data, lam, given))
    if save is not None:
        check_set_folder(save)
    with stop_on_interrupt() as stopped, remedies_as_options():
        try:
            problem, found = find_good_trees(request, within, unit, stopped)
        except InputError:
            if stopped():
                click.echo("Stopped before all good trees were found.", err=True)
                return ExitCode.INTERRUPTED
            raise
    about = describe_problem(data, problem)
    written = 0 if save is None else save_set(found, save, trees, about)
    if as_json:
        print_json(about | found.to_dict())
        return ExitCode.DONE
    show_problem(request, problem)
    click.echo()
    _show(found, show_limits(request))
    if save is not None:
        click.echo(f"The set and its {count(written, 'best tree')} are in {save}.")
    return ExitCode.DONE


def _show(found: RashomonSet, limits: str) -> None:
    """Print the numbers of a set."""
    trees = "1 good tree" if found.n_trees == 1 else f"{found.n_trees:,} good trees"
    click.echo(f"{trees}{limits} at λ = {found.lam}")
    print_lines(
        [
            ("optimum", f"{float(found.optimum):.6g} = {found.optimum} (proven)"),
            ("good", f"an objective of at most {float(found.most):.6g}"),
            (
                "graph",
                f"{count(found.subproblems, 'subproblem')}, {count(found.splits, 'split')}, "
                f"{found.seconds:.3f} s",
            ),
        ]
    )
    click.echo()
    print_table(["splits", "errors", "trees"], _by_splits(found))
    click.echo()
    shares = found.feature_shares()
    used = shares[shares["trees"] > 0]
    rows = [
        [row.feature, f"{row.trees:,}", f"{row.share:.1%}", f"{row.root_share:.1%}"]
        for row in used.itertuples()
    ]
    print_table(["feature", "trees with it", "share", "at the root"], rows)
    click.echo()
    print_lines(_needed(found, len(shares) - len(used)))


def _by_splits(found: RashomonSet) -> list[list[str]]:
    """The good trees of each number of splits."""
    cells = defaultdict(list)
    for cell in found.histogram:
        cells[cell.splits].append(cell)
    rows = []
    for splits, some in sorted(cells.items()):
        fewest, most = min(c.errors for c in some), max(c.errors for c in some)
        errors = str(fewest) if fewest == most else f"{fewest} to {most}"
        rows.append([str(splits), errors, f"{sum(c.trees for c in some):,}"])
    return rows


def _needed(found: RashomonSet, unused: int) -> list[tuple[str, str]]:
    """Which features every good tree has, and how many no good tree has."""
    shares = found.feature_shares()
    always = shares.loc[shares["trees"] == found.n_trees, "feature"].tolist()
    none = "1 feature is" if unused == 1 else f"{unused} features are"
    return [
        ("in every good tree", ", ".join(always) or "no feature"),
        ("not needed", f"{none} in no good tree"),
    ]
