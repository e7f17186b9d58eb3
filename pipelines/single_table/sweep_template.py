"""The sweep that ``treesweep init`` writes for a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pipelines.single_table.inspection import Column, Inspection, sources_of
from solver.errors import InputError
from solver.features.category_values import as_yaml

_TEMPLATE = """\
# A sweep of {data}. Check it with `treesweep run FILE --dry-run`, run it with
# `treesweep run FILE`, and then `treesweep report results/{name}`.
name: {name}

# How columns are read: category, number, date or drop. `treesweep inspect` shows all of them.
datasets:
{dataset}

# Features that a solver can split on. `treesweep encodings` lists more.
encodings: {encodings}

# The prices of a split. A split pays if it improves the loss by more than λ.
lambdas: {{from: 0.1, to: 0.005, count: 8, scale: log}}

# `treesweep solvers` lists all of them. cart is scikit-learn's greedy tree, to compare with.
solvers: {solvers}

# Every tree is tested on rows that it was not grown on.
validation: {validation}

# What each search may spend. At the limit it returns its best tree and a proven bound.
limits: {limits}
"""


def write_sweep(inspection: Inspection) -> str:
    """A sweep of one table as YAML with comments.

    A column that only the user can read has a comment in place of its entry, with its readings: the
    sweep is refused until one of them is chosen.

    Raises InputError if the table has no target, the target cannot be used, or no feature is left.
    """
    fields = dict(sources_of(inspection))
    if "target" not in fields and inspection.reference.path is not None:
        raise InputError(f"{inspection.reference.path} needs a target", "name it with --target")
    if inspection.lack_of_features:
        raise InputError(inspection.lack_of_features, "say with --column how to read one")
    if inspection.obstacle:
        raise InputError(inspection.obstacle)
    regression = inspection.reference.task == "regression"
    numbers = any(_kind(column) in ("number", "date") for column in inspection.columns)
    folds = "{kind: kfold, folds: 5}" if regression else "{kind: kfold, folds: 5, stratify: true}"
    return _TEMPLATE.format(
        data=inspection.reference.path or inspection.reference.name,
        name=re.sub(r"[^A-Za-z0-9._-]+", "-", inspection.reference.name).strip("-.") or "sweep",
        dataset=_dataset(fields, inspection),
        encodings="[continuous]" if regression
        else "[{encoding: quantiles, k: 4}, mdlp]" if numbers else "[onehot]",
        solvers="[quantbnb, cart]" if regression else "[branches, cart]",
        validation=folds,
        limits="{seconds: 60, depth: 2}" if regression else "{seconds: 60}",
    )  # fmt: skip


def _kind(column: Column) -> str:
    """What the column is read as, with the entry that solves its problem."""
    if column.wish is None:
        return re.split("[ ,;]", column.reading)[0]
    return str(column.wish["kind"] if isinstance(column.wish, dict) else column.wish)


def _entries(column: Column) -> Iterator[str]:
    """The lines of a column that is refused as it is: why, and how it is read or may be."""
    if not column.choices:
        yield f"# {column.problem}"
        yield f"{as_yaml(column.name)}: {as_yaml(column.wish)}"
        return
    until = "one of these lines" if len(column.choices) > 1 else "this line"
    yield f"# CHOOSE: {column.why}."
    yield f"# The sweep is refused until {until} has no # in front, or the table is corrected:"
    for wish in column.choices:
        yield f"#{as_yaml(column.name)}: {as_yaml(wish)}"  # in line without its #


def _dataset(fields: dict[str, Any], inspection: Inspection) -> str:
    lines: list[str] = []
    for name, value in fields.items():
        if name != "columns":
            lines.append(f"{name}: {as_yaml(value)}")
            continue
        lines.append("columns:")
        for column, wish in value.items():
            entry = f"{as_yaml(column)}: {as_yaml(wish)}"
            refused = inspection.problems.get(column)
            lines += [f"  {line}" for line in ([entry] if refused is None else _entries(refused))]
    lines += _possible_ids(inspection, has_entries="columns" in fields)
    return "\n".join(f"  {'- ' if not i else '  '}{line}" for i, line in enumerate(lines))


def _possible_ids(inspection: Inspection, *, has_entries: bool) -> list[str]:
    """Comments that drop columns which only the user knows to be ids."""
    names = [column.name for column in inspection.columns if column.may_be_id]
    if not names:
        return []
    whose = "The values of this column" if len(names) == 1 else "The values of each column here"
    why = f"# {whose} all differ. If they are ids, take the # away:"
    entries = [f"{as_yaml(name)}: drop" for name in names]
    if has_entries:
        return [f"  {line}" for line in (why, *(f"#{entry}" for entry in entries))]
    return [why, "#columns:", *(f"#  {entry}" for entry in entries)]
