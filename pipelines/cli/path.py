"""The command ``treesweep path``: every tree that is optimal for some λ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.cli.command_group import ExitCode, stop_on_interrupt
from pipelines.cli.json_and_tables import count, print_json, print_lines, print_table
from pipelines.cli.problem_options import (
    describe_problem,
    held_out_options,
    held_out_words,
    make_request,
    problem_options,
    remedies_as_options,
    rounding_of,
    show_effort,
    show_limits,
    show_problem,
)

if TYPE_CHECKING:
    from pipelines.single_table.held_out import HeldOut
    from solver import Path as LamPath
    from solver import Step


@click.command()
@click.argument("data")
@click.option(
    "--lam-min", required=True, metavar="λ", help="Where the path begins, e.g. 0.001 or 1/958."
)
@problem_options
@held_out_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option(
    "--save", type=click.Path(path_type=Path), metavar="FOLDER",
    help="Write path.json and each tree here, e.g. 3-splits.json, for 'treesweep predict'.",
)  # fmt: skip
def path(
    data: str,
    lam_min: str,
    as_json: bool,
    save: Path | None,
    holdout: float | None,
    cv: int | None,
    **given: Any,
) -> ExitCode:
    """Find the trees that are optimal for some λ, from λ_min up, and prove them.

    The optimal objective is concave and piecewise linear in λ. So finitely many trees suffice:
    for every λ one of them is optimal. The breakpoints, where one tree replaces another, are exact.
    A time limit holds for the whole path;
    limits of memory and nodes hold for the search at each λ.

    DATA is a file (CSV, Excel, Parquet, Arrow, Feather), the name of a built-in dataset (see
    'treesweep datasets') or openml:ID. The first Ctrl-C ends the search with the best trees so
    far and what is proven about them; the second one ends the command.
    """
    from pipelines.progress.display import follow_search
    from pipelines.single_table.held_out import check_validation, validate_path
    from pipelines.single_table.save_path_or_set import check_path_folder, save_path
    from pipelines.single_table.solve import find_path_request, settle

    with remedies_as_options():
        request = settle(make_request(data, lam_min, given))
    validation = check_validation(holdout, cv)
    if save is not None:
        check_path_folder(save)
    with stop_on_interrupt() as stopped, follow_search() as follow, remedies_as_options():
        problem, found = find_path_request(request, stopped, follow)
        tested = None
        if validation is not None and not stopped():
            tested = validate_path(request, validation, found, stopped, follow)
    about = describe_problem(data, problem)
    if save is not None:
        save_path(found, save, about)
    if as_json:
        unseen = {} if tested is None else {"held_out": [step.to_dict() for step in tested]}
        print_json(about | found.to_dict() | unseen)
    else:
        show_problem(request, problem)
        click.echo()
        _show_steps(found, tested)
        click.echo()
        print_lines(_lines(found, show_limits(request)) + _held_out(found, tested))
        if save is not None:
            click.echo(f"The path and its {count(len(found.steps), 'tree')} are in {save}.")
    return ExitCode.INTERRUPTED if stopped() else ExitCode.DONE


def _show_steps(found: LamPath, tested: Sequence[HeldOut] | None) -> None:
    size = "splits", "leaves", "depth"
    if found.steps[-1].tree.outputs:
        # Exact breakpoints of regression are fractions of a hundred digits.
        headers = ["λ from", "to", *size, "loss", "RMSE", "R²", "proven"]
        rows = [_numbers(found, step) for step in found.steps]
    else:
        headers = ["λ from", "exact", "to", "exact", *size, "errors", "loss", "proven"]
        rows = [_row(found, step) for step in found.steps]
    if tested is not None:
        headers.append("unseen RMSE" if found.steps[-1].tree.outputs else "unseen accuracy")
        words = [held_out_words(one, found.steps[-1].tree)[0] for one in tested]
        rows = [[*row, word] for row, word in zip(rows, words, strict=True)]
    print_table(headers, rows)


def _held_out(found: LamPath, tested: Sequence[HeldOut] | None) -> list[tuple[str, str]]:
    """What the column of unseen rows means."""
    if tested is None:
        return []
    whose = "the mean" if found.steps[-1].tree.outputs else "the majority class"
    folds = len(tested[0].quality)
    rows = "on the rows held out"
    if folds > 1:
        rows = f"mean ± standard error over {count(folds, 'fold')}"
    _, base = held_out_words(tested[0], found.steps[-1].tree)
    told = f"by the tree that the path of the other rows has at the middle of the step, {rows}"
    return [("unseen", f"{told}; {whose} has {base}")]


def _row(found: LamPath, step: Step) -> list[str]:
    start, end = _ends(step)
    return [
        start, str(step.start), end, str(step.end or ""), *_size(step), str(step.errors),
        _decimal(Fraction(step.errors) / found.total_weight), "yes" if step.proven else "no",
    ]  # fmt: skip


def _numbers(found: LamPath, step: Step) -> list[str]:
    """A step of regression."""
    from solver.features.number_format import share, significant
    from solver.solution import share_without

    loss = Fraction(step.errors) / found.total_weight
    rmse = math.sqrt(loss / len(step.tree.outputs))
    return [
        *_ends(step), *_size(step), _decimal(loss), significant(rmse),
        share(share_without(step.errors, found.leaf_errors)),
        "yes" if step.proven else "no",
    ]  # fmt: skip


def _ends(step: Step) -> tuple[str, str]:
    """The first and last λ of a step, rounded into its interval."""
    from solver.features.number_format import at_least, ends_within

    return (
        (at_least(step.start, 6), "∞") if step.end is None else ends_within(step.start, step.end, 6)
    )


def _size(step: Step) -> list[str]:
    return [str(step.splits), str(step.tree.leaves), str(step.tree.depth)]


def _decimal(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _lines(found: LamPath, within: str) -> list[tuple[str, str]]:
    return [
        ("proof", _proof(found, within)),
        ("search", f"{show_effort(found)}, {count(found.solves, 'solve')}"),
    ]


def _proof(found: LamPath, within: str) -> str:
    """The meaning of the status; ``within`` says which trees are compared."""
    from solver import Status
    from solver.features.number_format import at_least

    if found.status is Status.HEURISTIC:
        return f"{found.status}: nothing is proven"
    if found.status is Status.OPTIMAL:
        least = at_least(found.lam_min, 6)
        better = f"optimal: no tree{within} has a smaller objective at any λ from {least} up"
        if found.tolerance:
            return f"{better}, up to {rounding_of(found.steps[-1].tree)}"
        return f"{better} (gap 0)"
    proven = sum(step.proven for step in found.steps)
    # The gap is largest at a breakpoint: between them the path is linear, the bound concave.
    gaps = [(found.solution_at(lam).gap or Fraction(0), lam) for lam in found.lams]
    gap, lam = max(gaps)
    return (
        f"{found.status}: {proven} of {count(len(found.steps), 'step')} proven; elsewhere the "
        f"objective is at most {at_least(gap, 3)} too high (at λ = {_decimal(lam)})"
    )
