"""Options of the commands on one table: how to read, encode, search and show it."""

from __future__ import annotations

import math
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import yaml

from pipelines.cli.json_and_tables import count

if TYPE_CHECKING:
    from pipelines.single_table.held_out import HeldOut
    from pipelines.single_table.solve import Request
    from solver import Path, Problem, Solution, Tree

AUTO = "auto"
TIME_LIMIT = 60.0
"""The seconds that a search gets by default."""
_PAIR = "KEY=VALUE"
_REGRESSION = "say --task regression"

_SHEET = re.compile(r"(?<=e\.g\. )sheet: ")
_ANY_REMEDY = re.compile("write columns=.*", re.DOTALL)


def _check_separator(
    context: click.Context, option: click.Parameter, value: str | None
) -> str | None:
    if value is None or (len(value) == 1 and value not in '\n\r"'):
        return value
    raise click.BadParameter(
        f"{value!r} is not one character that can part fields; write e.g. ';', or $'\\t' for a tab"
    )


separator_option = click.option(
    "--separator", metavar="CHAR", callback=_check_separator,
    help="The delimiter of a text file; by default the one that its first lines have.",
)  # fmt: skip

charset_option = click.option(
    "--charset", metavar="NAME",
    help="The character encoding of a text file, e.g. latin-1; by default UTF-8.",
)  # fmt: skip

sheet_option = click.option(
    "--sheet", metavar="NAME", help="The sheet of an Excel file; needed if it has several.",
)  # fmt: skip

_READING = (
    click.option(
        "--target", "targets", multiple=True, metavar="COLUMN",
        help="Column to predict; not needed for built-in datasets. Regression may have several.",
    ),
    click.option(
        "--task", type=click.Choice(["classification", "regression"]),
        help="classification (by default) predicts labels; regression predicts numbers.",
    ),
    click.option(
        "--column", "columns", multiple=True, metavar="NAME=KIND",
        help="How to read a column: category, number, date or drop; or e.g. "
        "NAME={kind: number, decimal: \",\", missing: [\"?\"]}.",
    ),
    separator_option,
    charset_option,
    sheet_option,
)  # fmt: skip

_OPTIONS = (
    *_READING,
    click.option(
        "--encoding", default=AUTO, show_default=True, metavar="NAME",
        help="How columns become features; auto chooses what the solver can take.",
    ),
    click.option(
        "--solver", default=AUTO, show_default=True, metavar="NAME",
        help="auto: quantbnb for regression or the encoding continuous, otherwise branches.",
    ),
    click.option(
        "--time-limit", type=float, metavar="SECONDS", default=TIME_LIMIT, show_default=True,
        help="Search time; inf for no limit.",
    ),
    click.option("--memory-limit", metavar="SIZE", help="Memory of the search, e.g. 4GiB."),
    click.option("--node-limit", type=int, metavar="N", help="Most branches held in memory."),
    click.option("--max-depth", type=int, metavar="N", help="Splits on the longest path."),
    click.option("--max-splits", type=int, metavar="N", help="Splits of the tree."),
    click.option("--min-leaf-size", type=float, metavar="N", help="Smallest weight of a leaf."),
    click.option("--option", "options", multiple=True, metavar=_PAIR, help="Option of the solver."),
    click.option(
        "--encoding-option", "encoding_options", multiple=True, metavar=_PAIR,
        help="Option of the encoding, e.g. k=8.",
    ),
    click.option("--weights", metavar="COLUMN", help="Column of row weights."),
)  # fmt: skip


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that :func:`reference_fields` reads."""
    for option in reversed(_READING):
        command = option(command)
    return command


def reference_fields(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a dataset that are given as options."""
    fields = {name: given[name] for name in ("task", "separator", "charset", "sheet")}
    targets = given["targets"]
    fields["target"] = None if not targets else targets[0] if len(targets) == 1 else [*targets]
    fields["columns"] = read_kinds(given["columns"], "--column")
    return {name: value for name, value in fields.items() if value is not None}


def problem_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that :func:`make_request` reads."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def held_out_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of :func:`pipelines.single_table.held_out.check_validation`."""
    command = click.option(
        "--cv", type=int, metavar="FOLDS", help="Test trees by cross-validation with FOLDS folds."
    )(command)
    return click.option(
        "--holdout", type=float, metavar="SHARE",
        help="Hold out this share of the rows to test trees, e.g. 0.25.",
    )(command)  # fmt: skip


def held_out_words(tested: HeldOut, tree: Tree) -> tuple[str, str]:
    """The quality of such trees on unseen rows, ± its standard error, and the baseline's."""
    from solver.features.number_format import share, significant

    show = significant if tree.outputs else share
    error = "" if tested.error is None else f" ± {significant(tested.error)}"
    return f"{show(tested.mean)}{error}", show(tested.to_dict()["baseline"])


def make_request(data: str, lam: str, given: dict[str, Any], **more: Any) -> Request:
    """The request of a command's arguments."""
    from pipelines.single_table.solve import Request

    return Request(
        data=data,
        lam=lam,
        **reference_fields(given),
        encoding=given["encoding"],
        encoding_options=read_options(given["encoding_options"], "--encoding-option"),
        solver=given["solver"],
        solver_options=read_options(given["options"], "--option"),
        weights=given["weights"],
        limits={
            "seconds": None if given["time_limit"] == math.inf else given["time_limit"],
            "bytes": read_size(given["memory_limit"], "--memory-limit"),
            "nodes": given["node_limit"],
            "depth": given["max_depth"],
            "splits": given["max_splits"],
            "min_leaf_size": given["min_leaf_size"],
        },
        **more,
    )


def column_option(name: str, wish: Any) -> str:
    """A column's entry as an option of the command line."""
    from solver.features.category_values import as_yaml

    return f"--column {shlex.quote(f'{name}={as_yaml(wish)}')}"


@contextmanager
def remedies_as_options() -> Iterator[None]:
    """Replace remedies for a sweep's YAML in messages by options of the command."""
    from solver import InputError
    from sweep.spec.hints_as_yaml import LIMIT, with_overrides

    try:
        yield
    except InputError as error:
        message = with_overrides(str(error), column_option)
        message = LIMIT.sub(r"--max-\1 \2", message)
        message = re.sub(r"say that this is regression|task: regression", _REGRESSION, message)
        message = re.sub(r"charset: (\S+)", r"--charset \1", message)
        message = _SHEET.sub("--sheet ", message)
        raise InputError(message) from None


@contextmanager
def remedies_of_predict() -> Iterator[None]:
    """Replace remedies about reading a column: a tree reads it as in training."""
    from solver import InputError

    try:
        yield
    except InputError as error:
        message = _ANY_REMEDY.sub("write it as in the training rows", str(error))
        message = _SHEET.sub("--sheet ", message)
        raise InputError(message) from None


def show_limits(request: Request) -> str:
    """The trees that a proof holds for, in words that follow "tree": their limits, and the rules of
    their splits if the solver has a choice of them."""
    from solver import SOLVERS, Limits

    words = {"depth": "depth ≤ {}", "splits": "splits ≤ {}", "min_leaf_size": "leaf weight ≥ {}"}
    given = Limits(**request.limits).to_dict()
    said = [text.format(given[name]) for name, text in words.items() if name in given]
    kind = SOLVERS.get(request.solver)
    if kind is not None and "rules" in kind.options:
        options = {name: option.default for name, option in kind.options.items()}
        options |= request.solver_options
        more = ""
        if options["rules"] in ("polynomial", "mixed"):
            more = f" of degree {options['degree']}"
        elif options["rules"] == "hyperplane" and "margin" in options:
            more = f" of margin ≥ {options['margin']:g}"
        said.insert(0, f"{options['rules']} rules{more}")
    return f" with {', '.join(said)}" if said else ""


def describe_problem(name: str, problem: Problem) -> dict[str, Any]:
    """The problem of a search as plain data."""
    scale = problem.weight_scale
    return {
        "dataset": name,
        "target": problem.target,
        "encoding": problem.encoding,
        "n_rows": problem.n_rows,
        "n_features": problem.n_features,
        "n_classes": problem.n_classes,
        "task": problem.task,
        "weight_scale": int(scale) if scale.denominator == 1 else float(scale),
        "weight_error": float(problem.weight_error),
    }


def show_problem(request: Request, problem: Problem) -> None:
    """Print the problem of a search."""
    from solver.features.column_inference import describe_guesses

    click.secho(_about(request.data, problem), bold=sys.stdout.isatty())
    for line in describe_guesses(problem.columns, request.columns):
        click.echo(line)
    if request.weights is not None:
        times = f" × {problem.weight_scale}" if problem.weight_scale != 1 else ""
        unit = f" The tree shows them as {request.weights!r} has them." if times else ""
        if problem.weight_error:
            times, unit = f", rounded to {problem.total_weight:.2g} parts of their sum", ""
        what = "errors" if problem.task == "classification" else "squared errors"
        click.echo(
            f"Rows and {what} are counted by their weight, {request.weights!r}{times}.{unit}"
        )


def rounding_of(tree: Tree) -> str:
    """The cause of a proof's tolerance."""
    return "the rounding of floats" if tree.outputs else "the rounding of weights"


def _about(name: str, problem: Problem) -> str:
    dropped = len(problem.preparation.constant) + len(problem.preparation.duplicate)
    merged = problem.preparation.collapsed
    parts = [
        f"{name}, {problem.encoding}: {count(problem.n_rows, 'row')}",
        count(problem.n_features, "feature"),
        count(problem.n_classes, "class") if problem.classes else f"regression of {problem.target}",
    ]
    if dropped:
        parts.append(f"{count(dropped, 'constant or duplicate feature')} dropped")
    if merged:
        parts.append(f"{count(merged, 'row')} merged with equal ones")
    return ", ".join(parts)


def show_effort(found: Solution | Path) -> str:
    """The solver and its effort."""
    took = f"{found.seconds:.3f} s"
    if found.iterations:
        took += f", {count(found.iterations, 'iteration')}"
    if found.compile_seconds:
        took += f", and {found.compile_seconds:.1f} s of compiling"
    return f"{found.solver} {found.version}: {took}"


def read_scalar(text: str) -> Any:
    """The value of a text as in a sweep's YAML: a number, true, false, null or text."""
    words = {"true": True, "false": False, "null": None}
    if text in words:
        return words[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def read_kinds(texts: Sequence[str], option: str) -> dict[str, Any]:
    """Parse ``NAME=KIND``, or ``NAME={...}`` with what YAML has under a column.

    The name may contain ``=``. Errors as :func:`read_pairs`.
    """
    pairs = _read(texts, option, _part_kind, "NAME=KIND")
    return {name: _read_kind(text, option) for name, text in pairs.items()}


def _part_kind(text: str, sign: str) -> tuple[str, str, str]:
    name, found, rest = text.partition("={")
    if found and text.endswith("}"):
        return name, sign, "{" + rest
    return text.rpartition(sign)


def _read_kind(text: str, option: str) -> Any:
    if not text.startswith("{"):
        return text
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise click.BadParameter(
            f'{text!r} is no mapping of YAML; write e.g. {{kind: number, missing: ["?"]}}',
            param_hint=f"'{option}'",
        ) from None


def read_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Parse ``KEY=VALUE``. The value may contain ``=``.

    Raises click.BadParameter for a text without ``=``, or a duplicate key.
    """
    return _read(texts, option, str.partition, "KEY=VALUE")


def _read(
    texts: Sequence[str], option: str, part: Callable[[str, str], tuple[str, str, str]], form: str
) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = part(text, "=")
        if not equals or not key:
            raise click.BadParameter(f"{text!r} is not {form}", param_hint=f"'{option}'")
        if key in pairs:
            raise click.BadParameter(f"{key!r} is given twice", param_hint=f"'{option}'")
        pairs[key] = value
    return pairs


def read_options(texts: Sequence[str], option: str) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` as options. Raises as :func:`read_pairs`."""
    return {key: read_scalar(value) for key, value in read_pairs(texts, option).items()}


def read_size(text: str | None, option: str) -> int | None:
    """Bytes from a number or a text such as ``4GiB``. Raises click.BadParameter."""
    if text is None:
        return None
    from dask.utils import parse_bytes

    try:
        return int(parse_bytes(text))
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no amount of memory; write e.g. 512MiB or 4GiB",
            param_hint=f"'{option}'",
        ) from None
