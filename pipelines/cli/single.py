"""The commands on a single problem: solve it, and predict with its tree."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.cli.app import ExitCode
from pipelines.cli.interrupts import stop_on_interrupt
from pipelines.cli.output import count, print_json, print_lines
from pipelines.cli.values import read_options, read_pairs, read_size

if TYPE_CHECKING:
    from pipelines.single import Request
    from solver import Problem, Solution

_PAIR = "KEY=VALUE"


def _check_separator(
    context: click.Context, option: click.Parameter, value: str | None
) -> str | None:
    if value is None or (len(value) == 1 and value not in '\n\r"'):
        return value
    raise click.BadParameter(
        f"{value!r} is not one character that can part fields; write e.g. ';', or $'\\t' for a tab"
    )


_separator = click.option(
    "--separator", metavar="CHAR", callback=_check_separator,
    help="What parts the fields of a text file; by default a comma, a tab in .tsv.",
)  # fmt: skip


@click.command()
@click.argument("data")
@click.option("--target", metavar="COLUMN", help="Column to predict, where DATA does not know it.")
@click.option("--lam", required=True, metavar="λ", help="Price of a split, e.g. 0.01 or 1/958.")
@click.option("--encoding", default="onehot", show_default=True, metavar="NAME")
@click.option("--solver", default="branches", show_default=True, metavar="NAME")
@click.option("--time-limit", type=float, metavar="SECONDS", help="Search time.")
@click.option("--memory-limit", metavar="SIZE", help="Memory of the search, e.g. 4GiB.")
@click.option("--node-limit", type=int, metavar="N", help="Branches held in memory.")
@click.option("--max-depth", type=int, metavar="N", help="Splits on the longest path.")
@click.option("--max-splits", type=int, metavar="N", help="Splits of the tree.")
@click.option("--min-leaf-size", type=int, metavar="N", help="Smallest weight of a leaf.")
@click.option("--option", "options", multiple=True, metavar=_PAIR, help="Option of the solver.")
@click.option(
    "--encoding-option", "encoding_options", multiple=True, metavar=_PAIR,
    help="Option of the encoding, e.g. k=8.",
)  # fmt: skip
@click.option(
    "--column", "columns", multiple=True, metavar="NAME=KIND",
    help="How to read a column: category, number, date or drop.",
)  # fmt: skip
@_separator
@click.option("--weights", metavar="COLUMN", help="Column of row weights.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option(
    "--save", type=click.Path(path_type=Path, dir_okay=False), metavar="TREE.json",
    help="Write the tree here, for 'treesweep predict'.",
)  # fmt: skip
@click.option(
    "--state", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Go on from this file if it is there; write the search to it if it ends without a proof.",
)  # fmt: skip
def solve(
    data: str, as_json: bool, save: Path | None, state: Path | None, **given: Any
) -> ExitCode:
    """Find the best tree for one table and one λ, and prove it.

    DATA is a file (CSV, Parquet, Arrow, Feather), the name of a built-in dataset (see
    'treesweep datasets') or openml:ID. The first Ctrl-C ends the search with the best tree so
    far and what is proven about it; the second one ends the command.
    """
    from pipelines.predict import check_writable, save_tree
    from pipelines.progress import follow_search
    from pipelines.single import Request, solve_request
    from solver import InputError

    request = Request(
        data=data,
        target=given["target"],
        lam=given["lam"],
        encoding=given["encoding"],
        encoding_options=read_options(given["encoding_options"], "--encoding-option"),
        solver=given["solver"],
        solver_options=read_options(given["options"], "--option"),
        columns=read_pairs(given["columns"], "--column"),
        separator=given["separator"],
        weights=given["weights"],
        limits={
            "seconds": given["time_limit"],
            "bytes": read_size(given["memory_limit"], "--memory-limit"),
            "nodes": given["node_limit"],
            "depth": given["max_depth"],
            "splits": given["max_splits"],
            "min_leaf_size": given["min_leaf_size"],
        },
        state=state,
    )
    for path in (save, state):
        if path is not None:
            check_writable(path)
    with stop_on_interrupt() as stopped, follow_search() as follow:
        try:
            problem, solution, complaint = solve_request(request, stopped, follow)
        except InputError as error:
            raise InputError(_as_options(str(error))) from None
    if save is not None:
        save_tree(solution.tree, save)
    if as_json:
        print_json(_as_object(request.data, problem, solution))
    else:
        _show(request, problem, solution)
        if save is not None:
            click.echo(f"The tree is in {save}.")
        if state is not None and state.exists() and complaint is None:
            click.echo(f"The search is in {state}; the same command goes on with it.")
    if complaint is not None:
        click.echo(f"treesweep: the state of the search is not kept: {complaint}", err=True)
    return ExitCode.INTERRUPTED if stopped() else ExitCode.DONE


def _as_options(message: str) -> str:
    """A remedy that names a key of a sweep's YAML, as options of this command."""
    return re.sub(r"columns: \{([^{}:]+): (\w+)\}", r"--column \1=\2", message)


def _as_object(name: str, problem: Problem, solution: Solution) -> dict[str, Any]:
    """The Solution's fields and what they are about."""
    about = {
        "dataset": name,
        "target": problem.target,
        "encoding": problem.encoding,
        "n_rows": problem.n_rows,
        "n_features": problem.n_features,
        "n_classes": problem.n_classes,
        "weight_scale": problem.weight_scale,
    }
    return about | solution.to_dict()


def _show(request: Request, problem: Problem, solution: Solution) -> None:
    """A solution for a person."""
    from solver.export import export_text

    click.secho(_about(request.data, problem), bold=sys.stdout.isatty())
    if request.weights is not None:
        times = f" × {problem.weight_scale}" if problem.weight_scale > 1 else ""
        click.echo(f"Rows and errors are counted by their weight, {request.weights!r}{times}.")
    click.echo(f"\n{export_text(solution.tree)}\n")
    print_lines(_lines(solution))


def _about(name: str, problem: Problem) -> str:
    dropped = len(problem.preparation.constant) + len(problem.preparation.duplicate)
    merged = problem.preparation.collapsed
    parts = [
        f"{name}, {problem.encoding}: {count(problem.n_rows, 'row')}",
        count(problem.n_features, "feature"),
        count(problem.n_classes, "class"),
    ]
    if dropped:
        parts.append(f"{count(dropped, 'constant or duplicate feature')} dropped")
    if merged:
        parts.append(f"{count(merged, 'row')} merged with equal ones")
    return ", ".join(parts)


def _lines(solution: Solution) -> list[tuple[str, str]]:
    """What is known about a solution, one labelled line each."""
    loss = f"{solution.errors}/{solution.total_weight}"
    cost = f"{loss} wrong + λ {solution.lam} × {count(solution.splits, 'split')}"
    objective = f"{float(solution.objective):.6g} = {solution.objective} ({cost})"
    took = f"{solution.seconds:.3f} s"
    if solution.iterations:
        took += f", {count(solution.iterations, 'iteration')}"
    if solution.compile_seconds:
        took += f", and {solution.compile_seconds:.1f} s of compiling"
    leaves = "1 leaf" if solution.leaves == 1 else f"{solution.leaves} leaves"
    shape = f"{count(solution.splits, 'split')}, {leaves}, depth {solution.depth}"
    return [
        ("objective", objective),
        ("proof", _proof(solution)),
        ("accuracy", f"{float(solution.accuracy):.4f} on these rows"),
        ("tree", shape),
        ("search", f"{solution.solver} {solution.version}: {took}"),
    ]


def _proof(solution: Solution) -> str:
    """What the status means for the tree."""
    from solver import Status

    if solution.lower_bound is None or solution.gap is None:
        return f"{solution.status}: nothing is proven"
    if solution.status is Status.OPTIMAL:
        return "optimal: no tree has a smaller objective (gap 0)"
    bound, gap = float(solution.lower_bound), float(solution.gap)
    return f"{solution.status}: no tree has an objective below {bound:.6g} (gap {gap:.3g})"


@click.command()
@click.argument("tree", type=click.Path(path_type=Path, dir_okay=False), metavar="TREE.json")
@click.argument("data")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write here (CSV, or Parquet if it ends in .parquet) instead of to stdout.",
)  # fmt: skip
@click.option("--proba", is_flag=True, help="Add the frequency of each class.")
@_separator
def predict(tree: Path, data: str, out: Path | None, proba: bool, separator: str | None) -> None:
    """Predict the rows of a table with a stored tree, as CSV.

    TREE.json is what 'treesweep solve --save' or '--json' wrote. DATA is a table as for 'solve';
    if it has the target, the accuracy goes to stderr.
    """
    from pipelines.predict import (
        check_writable,
        load_tree,
        measure_accuracy,
        predict_table,
        write_table,
    )
    from pipelines.single import read_frame

    model = load_tree(tree)
    if out is not None:
        check_writable(out)
    frame = read_frame(data, separator)
    table = predict_table(model, frame, proba=proba)
    if out is not None:
        write_table(table, out)
    else:
        table.to_csv(sys.stdout, index=False)
    accuracy = measure_accuracy(model, frame, table)
    if accuracy is not None and accuracy.known:
        share = accuracy.right / accuracy.known
        click.echo(
            f"accuracy {share:.4f}: {accuracy.right} of {accuracy.known} rows as in column "
            f"{model.target!r}",
            err=True,
        )
