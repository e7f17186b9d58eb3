"""The command ``treesweep solve``: the best tree for one table and one λ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.cli.command_group import ExitCode, stop_on_interrupt
from pipelines.cli.json_and_tables import count, print_json, print_lines
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
    from pipelines.single_table.solve import Request
    from solver import Problem, Solution


@click.command()
@click.argument("data")
@click.option("--lam", required=True, metavar="λ", help="Price of a split, e.g. 0.01 or 1/958.")
@problem_options
@held_out_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option(
    "--save", type=click.Path(path_type=Path, dir_okay=False), metavar="TREE.json",
    help="Write the tree here, for 'treesweep predict'.",
)  # fmt: skip
@click.option(
    "--state", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Continue from this file if it exists; save the search to it if there is no proof yet.",
)  # fmt: skip
def solve(
    data: str,
    as_json: bool,
    save: Path | None,
    state: Path | None,
    holdout: float | None,
    cv: int | None,
    **given: Any,
) -> ExitCode:
    """Find the best tree for one table and one λ, and prove it.

    DATA is a file (CSV, Excel, Parquet, Arrow, Feather), the name of a built-in dataset (see
    'treesweep datasets') or openml:ID. The first Ctrl-C ends the search with the best tree so
    far and what is proven about it; the second one ends the command.
    """
    from pipelines.progress.display import follow_search
    from pipelines.single_table.held_out import check_validation, validate
    from pipelines.single_table.predict import check_writable, save_tree
    from pipelines.single_table.solve import settle, solve_request

    with remedies_as_options():
        request = settle(make_request(data, given["lam"], given, state=state))
    validation = check_validation(holdout, cv)
    for path in (save, state):
        if path is not None:
            check_writable(path)
    with stop_on_interrupt() as stopped, follow_search() as follow, remedies_as_options():
        problem, solution, complaint = solve_request(request, stopped, follow)
        tested = None
        if validation is not None and not stopped():
            tested = validate(request, validation, stopped, follow)
    if save is not None:
        save_tree(solution.tree, save)
    if as_json:
        found = {} if tested is None else {"held_out": tested.to_dict()}
        print_json(describe_problem(request.data, problem) | solution.to_dict() | found)
    else:
        _show(request, problem, solution, tested)
        if save is not None:
            click.echo(f"The tree is in {save}.")
        if state is not None and state.exists() and complaint is None:
            click.echo(f"The search is in {state}; the same command goes on with it.")
    if complaint is not None:
        click.echo(f"treesweep: the state of the search is not kept: {complaint}", err=True)
    return ExitCode.INTERRUPTED if stopped() else ExitCode.DONE


def _show(request: Request, problem: Problem, solution: Solution, tested: HeldOut | None) -> None:
    """Print a solution."""
    from solver.trees.export import export_text

    show_problem(request, problem)
    click.echo(f"\n{export_text(solution.tree)}\n")
    lines = _lines(solution, show_limits(request))
    if tested is not None:
        lines.insert(3, ("held out", _held_out(solution, tested)))
    print_lines(lines)


def _lines(solution: Solution, within: str) -> list[tuple[str, str]]:
    """The facts about a solution, with a label each."""
    leaves = count(solution.leaves, "leaf")
    shape = f"{count(solution.splits, 'split')}, {leaves}, depth {solution.depth}"
    return [
        ("objective", _objective(solution)),
        ("proof", _proof(solution, within)),
        _quality(solution),
        ("tree", shape),
        ("search", show_effort(solution)),
    ]


def _held_out(solution: Solution, tested: HeldOut) -> str:
    what = "RMSE" if solution.tree.outputs else "accuracy"
    whose = "the mean" if solution.tree.outputs else "the majority class"
    words, base = held_out_words(tested, solution.tree)
    folds = ""
    if tested.error is not None:
        folds = f" (± standard error) over {count(len(tested.quality), 'fold')}"
    return f"{what} {words}{folds} on unseen rows; {whose} has {base}"


def _objective(solution: Solution) -> str:
    """The objective and its parts. Exact fractions of regression are long; only JSON has them."""
    value, splits = float(solution.objective), count(solution.splits, "split")
    if solution.tree.outputs or solution.tolerance:
        unit = "squared error a row" if solution.tree.outputs else "of the weight wrong"
        loss = f"{float(solution.loss):.6g} {unit}"
        return f"{value:.6g} ({loss} + λ {solution.lam} × {splits})"
    loss = f"{solution.errors}/{solution.total_weight} wrong"
    return f"{value:.6g} = {solution.objective} ({loss} + λ {solution.lam} × {splits})"


def _quality(solution: Solution) -> tuple[str, str]:
    from solver.features.number_format import share, significant

    if solution.tree.outputs:
        r2 = "not defined" if solution.r2 is None else share(solution.r2)
        return "fit", f"R² {r2}, RMSE {significant(solution.rmse)} on these rows"
    return "accuracy", f"{share(solution.accuracy)} on these rows"


def _claim(solution: Solution, within: str) -> str:
    """What a solver of others says of its tree, for which trees, and what it did wrong."""
    claim = solution.extra.get("claim", {})
    said = []
    if claim.get("status") == "optimal":
        said.append("that it is optimal")
    if "lower_bound" in claim:
        said.append(f"a lower bound of {claim['lower_bound']:.6g}")
    which = f" among trees{within}" if within else ""
    claims = f"; {solution.solver} claims {' and '.join(said)}{which}" if said else ""
    return claims + (f"; {claim['note']}" if "note" in claim else "")


def _proof(solution: Solution, within: str) -> str:
    """The meaning of the status; ``within`` says which trees are compared."""
    from solver import Status
    from solver.features.number_format import at_least, at_most

    if solution.lower_bound is None or solution.gap is None:
        return f"{solution.status}: nothing is proven{_claim(solution, within)}"
    if solution.status is Status.OPTIMAL:
        if solution.tolerance:
            rounding = f"{at_least(solution.tolerance, 2)}, {rounding_of(solution.tree)}"
            return f"optimal: no tree{within} has an objective smaller by more than {rounding}"
        return f"optimal: no tree{within} has a smaller objective (gap 0)"
    bound, gap = at_most(solution.lower_bound, 6), at_least(solution.gap, 3)
    return f"{solution.status}: no tree{within} has an objective below {bound} (gap {gap})"
