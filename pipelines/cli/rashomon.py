"""The command ``treesweep rashomon``: all trees that are nearly as good as the best one."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pipelines.cli.command_group import ExitCode, stop_on_interrupt
from pipelines.cli.json_and_tables import count, print_json, print_lines, print_table
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
    import pandas as pd

    from solver import RashomonSet, Tree

_UNITS = ("relative", "objective", "lam")


class Wish(NamedTuple):
    """Which good tree the user asks for."""

    without: tuple[str, ...]
    root: str | None
    max_columns: int | None
    monotone: tuple[tuple[str, str], ...]

    def __bool__(self) -> bool:
        return self != Wish((), None, None, ())

    def grant(self, found: RashomonSet) -> Tree | None:
        """The best good tree of this kind; None if there is none."""
        labels = {str(label): label for label in found.problem.classes}
        return found.best(
            without=self.without,
            root=self.root,
            max_columns=self.max_columns,
            monotone={column: labels.get(name, name) for column, name in self.monotone},
        )

    def __str__(self) -> str:
        parts = [f"without {name}" for name in self.without]
        parts += [f"with {self.root} at the root"] if self.root is not None else []
        if self.max_columns is not None:
            parts.append(f"of at most {count(self.max_columns, 'column')}")
        for name, label in self.monotone:
            parts.append(f"that never stops predicting {label} as {name} grows")
        return " and ".join(parts)

    def show(self, found: RashomonSet, tree: Tree | None) -> str:
        """The tree as text, and what it costs."""
        from solver import export_text
        from solver.features.number_format import at_most

        if tree is None:
            most = at_most(found.most, 6)
            return f"There is no good tree {self}: the best one costs more than {most}."
        cost = found.objective_of(tree)
        more = float(cost - found.optimum)
        return (
            f"The best good tree {self} has the objective {float(cost):.6g}, {more:.6g} above the "
            f"optimum:\n\n{export_text(tree).rstrip()}"
        )

    def to_dict(self, found: RashomonSet, tree: Tree | None) -> dict[str, Any]:
        """The wish, and the tree if there is one."""
        if tree is None:
            return {**self._asdict(), "monotone": dict(self.monotone), "tree": None}
        cost = found.objective_of(tree)
        return {
            **self._asdict(),
            "monotone": dict(self.monotone),
            "objective": float(cost),
            "objective_exact": str(cost),
            "tree": tree.to_dict(),
        }


@click.command()
@click.argument("data")
@click.option("--lam", required=True, metavar="λ", help="The price of a split, e.g. 0.01 or 1/958.")
@click.option(
    "--within", default="0.05", show_default=True, metavar="NUMBER",
    help="How much worse than the best tree a good one may be.",
)  # fmt: skip
@click.option(
    "--unit", type=click.Choice(_UNITS), default=_UNITS[0], show_default=True,
    help="What --within is: a share of the optimum, a difference of objectives, or multiples of λ.",
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
@click.option(
    "--without", multiple=True, metavar="NAME",
    help="Show the best good tree without this column or feature (may be given several times).",
)  # fmt: skip
@click.option("--root", metavar="NAME", help="Show the best good tree whose root tests NAME.")
@click.option(
    "--max-columns", type=click.IntRange(min=0), metavar="N",
    help="Show the best good tree that reads at most N columns.",
)  # fmt: skip
@click.option(
    "--monotone", multiple=True, nargs=2, metavar="NAME CLASS",
    help="Show the best good tree that never stops predicting CLASS as NAME grows.",
)  # fmt: skip
def rashomon(
    data: str,
    lam: str,
    within: str,
    unit: str,
    as_json: bool,
    save: Path | None,
    trees: int,
    without: tuple[str, ...],
    root: str | None,
    max_columns: int | None,
    monotone: tuple[tuple[str, str], ...],
    **given: Any,
) -> ExitCode:
    """Count all trees that are nearly as good as the best one, and show which features they use.

    This is the Rashomon set. The command counts the trees exactly, for each number of errors and
    splits, without building each tree. If a limit ends the search, the set is complete for a
    smaller tolerance.

    DATA is as for 'treesweep solve'.
    """
    from pipelines.progress.display import follow_search
    from pipelines.single_table.save_path_or_set import check_set_folder, save_set
    from pipelines.single_table.solve import find_good_trees, settle
    from solver.errors import InputError

    if given["solver"] != AUTO or given["options"]:
        raise InputError(
            "good trees are counted by a search of their own; leave out --solver and --option"
        )
    names = [name for name, _ in monotone]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"--monotone: {name} is named twice")
    with remedies_as_options():
        request = settle(make_request(data, lam, given))
    if save is not None:
        check_set_folder(save)
    with stop_on_interrupt() as stopped, follow_search() as follow, remedies_as_options():
        try:
            problem, found = find_good_trees(request, within, unit, stopped, follow)
        except InputError:
            if stopped():
                click.echo("Stopped before all good trees were found.", err=True)
                return ExitCode.INTERRUPTED
            raise
    about = describe_problem(data, problem)
    wish = Wish(without, root, max_columns, monotone)
    granted = wish.grant(found) if wish else None
    written = 0 if save is None else save_set(found, save, trees, about)
    if as_json:
        wished = {"wish": wish.to_dict(found, granted)} if wish else {}
        print_json(about | found.to_dict() | wished)
        return ExitCode.DONE
    show_problem(request, problem)
    click.echo()
    _show(found, show_limits(request))
    if wish:
        click.echo()
        click.echo(wish.show(found, granted))
    if save is not None:
        click.echo(f"The set and its {count(written, 'best tree')} are in {save}.")
    return ExitCode.DONE


def _show(found: RashomonSet, limits: str) -> None:
    """Print the numbers of a set."""
    from solver.features.number_format import at_least

    trees = "1 good tree" if found.n_trees == 1 else f"{found.n_trees:,} good trees"
    if found.complete:
        click.echo(f"{trees}{limits} at λ = {found.lam}")
    else:
        limit = found.status.value.replace("_", " ")
        click.echo(
            f"at least {trees}{limits} at λ = {found.lam}: the {limit} ended the search. All trees "
            f"within {found.within} are counted, not within {found.asked} as asked."
        )
    print_lines(
        [
            ("optimum", f"{float(found.optimum):.6g} = {found.optimum} (proven)"),
            ("good", f"an objective of at most {at_least(found.most, 6)}"),
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
    columns = found.to_dict()["columns"]
    print_table(
        ["column", "trees with it", "share", "at the root", "best without"],
        [
            [
                row["column"],
                f"{row['trees']:,}",
                _percent(row["share"]),
                _percent(row["root_share"]),
                f"{row['best_without']:.6g}" if row["best_without_exact"] else "no good tree",
            ]
            for row in columns
            if row["trees"]
        ],
    )
    click.echo()
    features = found.feature_shares()
    rows = [
        [row.feature, f"{row.trees:,}", _percent(row.share), _percent(row.root_share)]
        for row in features[features["trees"] > 0].itertuples()
    ]
    if len(features) > len(columns):
        print_table(["feature", "trees with it", "share", "at the root"], rows)
        click.echo()
    print_lines(_needed(found, features))


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


def _needed(found: RashomonSet, shares: pd.DataFrame) -> list[tuple[str, str]]:
    """Which features every good tree has, how many no good tree has, and how far trees disagree."""
    always = shares.loc[shares["trees"] == found.n_trees, "feature"].tolist()
    unused = int((shares["trees"] == 0).sum())
    none = "1 feature is" if unused == 1 else f"{unused} features are"
    ambiguity, discrepancy = found.multiplicity
    return [
        ("in every good tree", ", ".join(always) or "no feature"),
        ("not needed", f"{none} in no good tree"),
        (
            "disagreement",
            f"for {_percent(ambiguity)} of the rows some good tree predicts another class than "
            f"the best one; the tree that differs most does so for {_percent(discrepancy)}",
        ),
    ]


def _percent(part: Any) -> str:
    """A share; one below 100 % is never rounded up to it, nor one above 0 % down."""
    from solver.features.number_format import share

    if 0 < part < Fraction(1, 2000):
        return "<0.1%"
    return f"{100 * float(share(part, 3)):.1f}%"
