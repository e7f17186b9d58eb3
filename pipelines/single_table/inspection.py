"""What a table holds, how each column would be read, and all that stands in the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from solver.errors import InputError, columns_like
from solver.features.category_values import as_category, show_value
from solver.features.column_inference import check_overrides, infer_columns
from solver.features.columns import ColumnSpec, is_missing, text_names
from solver.features.number_format import count, share
from solver.features.text_parsing import TextFormat
from solver.problem.target import read_labels
from sweep.datasets import DatasetRef, load_table, parse_reference
from sweep.datasets.files import EXCEL_CHARSET, UTF8
from sweep.spec.hints_as_yaml import find_overrides, in_yaml

_EXAMPLES = 3
_MANY_CLASSES = 20


@dataclass(frozen=True)
class Column:
    """One column of an inspected table."""

    name: str
    reading: str  # e.g. "number; missing: '?'", or what it is used for
    distinct: int
    missing: int
    examples: str
    problem: str = ""  # what is refused, with its remedies
    why: str = ""  # what is refused, alone
    wish: Any = None  # the entry under ``columns`` that solves it
    choices: tuple[Any, ...] = ()  # entries between which only the user can decide
    may_be_id: bool = False  # a number of its own in every row


@dataclass(frozen=True)
class Inspection:
    """An inspected table."""

    reference: DatasetRef  # with all entries that are needed to read it
    rows: int
    columns: tuple[Column, ...]
    target: str  # what is known about the target, or which columns could be one
    notes: tuple[str, ...] = field(default=())

    @property
    def obstacle(self) -> str:
        """Why nothing can be learned from the table; empty if something can."""
        if self.target.startswith("refused: "):
            return self.target.removeprefix("refused: ")
        return self.lack_of_features

    @property
    def lack_of_features(self) -> str:
        """Why no column is left that a tree could split on; empty if one is."""
        features = [column for column in self.columns if column.reading != "target"]
        kept = [column for column in features if column.reading != "dropped"]
        if len(features) == len(self.columns) or any(column.wish != "drop" for column in kept):
            return ""
        if not kept:
            return "the table has no feature, only the target"
        why = f"{kept[0].name!r} {kept[0].why.removeprefix(f'column {kept[0].name!r} ')}"
        more = f" (and {len(kept) - 1} more)" if len(kept) > 1 else ""
        return f"no feature would be left but the target: column {why}, so it is dropped{more}"

    @property
    def problems(self) -> dict[str, Column]:
        """The columns that are refused as they are."""
        return {column.name: column for column in self.columns if column.problem}

    @property
    def wishes(self) -> dict[str, Any]:
        """The entries under ``columns`` that solve all problems, by column."""
        return {name: column.wish for name, column in self.problems.items()}


def inspect_table(data: str, target: str | None = None, **given: Any) -> Inspection:
    """Read a table and all its columns, and collect the problems instead of ending at the first.

    Parameters
    ----------
    data : str
        A file, the name of a built-in dataset, or openml:ID.
    target : str, optional
        The column to predict.
    **given
        Further fields of :class:`sweep.datasets.DatasetRef`.

    Raises InputError if there is no such table or target, or it cannot be read at all.
    """
    reference, notes = _find_charset(parse_reference(data, target=target, **given))
    frame, targets = load_table(reference)
    frame = text_names(frame)
    if targets and not len(frame):
        raise InputError(f"{data} has no rows below the names of its columns")
    for name in targets or ():
        if name not in frame.columns:
            known = columns_like(name, frame.columns)
            raise InputError(f"{data} has no column {name!r} for the target; it has {known}")
    check_overrides([*frame.columns], reference.overrides())
    columns = tuple(_inspect(frame[name], reference, targets or ()) for name in frame.columns)
    about = _about_target(frame, targets, reference) if targets else _propose_target(frame)
    return Inspection(reference, len(frame), columns, about, tuple(notes))


def _find_charset(reference: DatasetRef) -> tuple[DatasetRef, list[str]]:
    """The reference with the charset of its file, which is not UTF-8 if that cannot be read."""
    if reference.path is None or reference.charset != UTF8:
        return reference, []
    try:
        load_table(reference)
    except InputError as error:
        if "is not UTF-8 text" not in str(error):
            raise
        note = f"The file is no UTF-8 text; it is read with charset {EXCEL_CHARSET}."
        return reference.model_copy(update={"charset": EXCEL_CHARSET}), [note]
    return reference, []


def _inspect(column: pd.Series[Any], reference: DatasetRef, targets: tuple[str, ...]) -> Column:
    name = str(column.name)
    present = column[~is_missing(column)]
    distinct = present.astype(str).unique()
    examples = _examples(present) + (", …" if len(distinct) > _EXAMPLES else "")
    facts = len(distinct), len(column) - len(present), examples
    if name in targets:
        return Column(name, "target", *facts)
    given = reference.overrides().get(name)
    wish = {} if given is None else {name: given}
    if given in ("drop", {"kind": "drop"}):
        return Column(name, "dropped", *facts)
    if name.startswith("Unnamed: ") and given is None:
        problem = f"column {name!r} has no name in the file, perhaps it holds row numbers"
        return Column(name, "refused", *facts, problem, problem, "drop")
    try:
        spec = infer_columns(column.to_frame(), wish)[name]
        spec.read(column)
    except InputError as error:
        offered = [found.wish for found in find_overrides(str(error)) if found.name == name]
        problem, why = (in_yaml(text) for text in (str(error), error.what))
        first = offered[0] if offered else "drop"
        return Column(name, "refused", *facts, problem, why, first, _choices(offered, given))
    # A tree can tell missing values from the others, so together they are one more value.
    is_constant = len(distinct) + (len(present) < len(column)) <= 1
    words = _reading(spec, is_constant=is_constant)
    if not is_constant and infer_columns(column.to_frame(), wish, few_values=0)[name] != spec:
        words += "; number if the encoding takes numbers"
    is_whole = pd.api.types.is_integer_dtype(column.dtype)
    may_be_id = is_whole and given is None and len(distinct) == len(column) > _EXAMPLES
    if may_be_id:
        words += "; all differ, so drop it if it is an id"
    return Column(name, words, *facts, may_be_id=may_be_id)


def _choices(offered: Sequence[Any], given: Any) -> tuple[Any, ...]:
    """The remedies that read text in one of several ways, if the user has named none of them."""

    def form(wish: Any) -> TextFormat:
        return TextFormat.from_mapping(wish if isinstance(wish, Mapping) else {}, "")

    return tuple(wish for wish in offered if form(wish) and not form(given))


def _examples(present: pd.Series[Any]) -> str:
    try:
        values = present.unique()[:_EXAMPLES]
        return ", ".join(show_value(as_category(value, present.name)) for value in values)
    except (InputError, TypeError):
        return ", ".join(map(str, present[:_EXAMPLES]))


def _reading(spec: ColumnSpec, *, is_constant: bool) -> str:
    words = spec.kind
    if spec.form:
        words += f", {spec.form.describe()}"
    if spec.missing:
        words += f"; missing: {', '.join(show_value(value) for value in spec.missing)}"
    return f"{words}; constant, never used" if is_constant and not spec.missing else words


def _about_target(frame: pd.DataFrame, targets: tuple[str, ...], reference: DatasetRef) -> str:
    """The classes and the majority; InputError if the target cannot be used."""
    if reference.task == "regression":
        return f"regression of {', '.join(targets)}"
    try:
        labels, codes = read_labels(frame[targets[0]])
    except InputError as error:
        return f"refused: {error}"
    sizes = pd.Series(codes).value_counts()
    most, size = labels[sizes.index[0]], int(sizes.iloc[0])
    words = f"{count(len(labels), 'class')}; the majority, {most}, is {share(size / len(frame))}"
    if len(labels) > _MANY_CLASSES and pd.api.types.is_numeric_dtype(frame[targets[0]]):
        words += "; so many numbers are rather a target of regression (task: regression)"
    return words


def _propose_target(frame: pd.DataFrame) -> str:
    names = [str(name) for name in frame.columns if 2 <= frame[name].nunique() <= _MANY_CLASSES]
    return f"not given; columns of few values: {', '.join(names) or 'none'}"


def sources_of(inspection: Inspection) -> Iterator[tuple[str, Any]]:
    """The fields of a dataset in YAML that read this table."""
    ref = inspection.reference
    if ref.path is None:
        yield "name", ref.name
    else:
        yield "path", str(Path(ref.path))
    if ref.targets:
        yield "target", ref.targets[0] if len(ref.targets) == 1 else [*ref.targets]
    if ref.task == "regression":
        yield "task", ref.task
    if ref.separator is not None:
        yield "separator", ref.separator
    if ref.charset != UTF8:
        yield "charset", ref.charset
    if ref.sheet is not None:
        yield "sheet", ref.sheet
    wishes = {**ref.overrides(), **inspection.wishes}
    if wishes:
        yield "columns", wishes
