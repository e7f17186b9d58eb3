"""What a sweep is, in words: data, λ, validation, limits, and the command that trains a tree."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pandas as pd

from pipelines.report.data import formats
from pipelines.report.data.metrics import REGRESSION
from pipelines.report.data.results import Results
from solver.catalogue import SOLVERS
from sweep.datasets.reference import DatasetRef
from sweep.spec.task_options import own_options


def describe_sweep(results: Results) -> list[tuple[str, str]]:
    """Name and text of each fact for the head of the report."""
    rows = results.rows
    if rows.empty:
        return [("Datasets", ", ".join(results.datasets) or formats.NONE)]
    facts = [
        ("Datasets", _datasets(results)),
        ("Encodings", ", ".join(results.encodings)),
        ("λ", _lambdas(results)),
        ("Solvers", _solvers(rows)),
        ("Validation", "; ".join(dict.fromkeys(map(_validation, rows["validation"].unique())))),
        ("Limits of a run", "; ".join(dict.fromkeys(map(_limits, rows["limits"].unique())))),
        ("Run", _run(rows)),
        ("Versions", _versions(rows)),
    ]
    return facts


def _datasets(results: Results) -> str:
    first = results.rows.drop_duplicates("dataset").set_index("dataset")
    if len(results.datasets) > 6:
        n = first["n_rows"]
        return (
            f"{len(results.datasets)} tables of {formats.whole(n.min())} to "
            f"{formats.whole(n.max())} rows"
        )
    parts = []
    for name in results.datasets:
        if name not in first.index:
            parts.append(name)
            continue
        n_rows, n_classes = (int(first[column].loc[name]) for column in ("n_rows", "n_classes"))
        numbers = first["task"].loc[name] == REGRESSION
        what = "regression" if numbers else formats.plural(n_classes, "class")
        parts.append(f"{name} ({formats.plural(n_rows, 'row')}, {what})")
    return ", ".join(parts)


def _lambdas(results: Results) -> str:
    both = pd.concat([results.by_lambda, results.missing_by_lambda], ignore_index=True)
    exact = both["exact"].astype(bool)
    words = []
    if exact.any():
        ends = list(dict.fromkeys(both[exact].sort_values("lam")["lam_text"]))
        start = ends[0].removeprefix("path from ")
        words.append(f"every λ from {start}{' or more' if len(ends) > 1 else ''} up")
        both = both[~exact]
    if both.empty:
        return words[0]
    lams = both.groupby("lam_key").agg(lam=("lam", "mean"), text=("lam_text", "first"))
    texts = lams.sort_values("lam", ascending=False)["text"].tolist()
    single = ", ".join(texts)
    if len(texts) > 8:
        single = f"{len(texts)} values from {texts[0]} down to {texts[-1]}"
    return "; ".join([*words, f"single λ {single}" if words else single])


def _solvers(rows: pd.DataFrame) -> str:
    pairs = rows[["solver_label", "solver_version"]].drop_duplicates()
    return ", ".join(
        f"{name} (version {version})" if str(version)[:1].isdigit() else f"{name} ({version})"
        for name, version in pairs.itertuples(index=False)
    )


def _validation(text: str) -> str:
    data = json.loads(text)
    if not data:
        return "none: trees are trained and scored on the same rows"
    if data["kind"] == "given":
        return "the rows that each table calls its test rows are held out"
    extra = (", stratified" if data.get("stratify") else "") + f", seed {data.get('seed')}"
    if data["kind"] == "kfold":
        return f"{data['folds']}-fold cross-validation{extra}"
    return f"{formats.percent(data['test'], 0)} of the rows held out once{extra}"


def _limits(text: str) -> str:
    data = json.loads(text)
    if not data:
        return "none"
    words: dict[str, Callable[[Any], str]] = {
        "seconds": lambda value: f"{value:g} s",
        "bytes": formats.size,
        "nodes": lambda value: formats.plural(value, "branch"),
        "depth": lambda value: f"depth {value}",
        "splits": lambda value: formats.plural(value, "split"),
        "min_leaf_size": lambda value: f"leaves of at least {value}",
    }
    return ", ".join(words[name](value) if name in words else f"{name} {value}"
                     for name, value in data.items() if value is not None) or "none"  # fmt: skip


def _run(rows: pd.DataFrame) -> str:
    started, finished = rows["started"].min(), rows["finished"].max()
    hosts = sorted(rows["host"].dropna().unique())
    total = formats.seconds(rows["seconds"].sum())
    when = (
        "" if pd.isna(started) else
        f"{started:%Y-%m-%d %H:%M} to {finished:%Y-%m-%d %H:%M} UTC, "
    )  # fmt: skip
    where = ""
    if hosts:
        where = f" on {hosts[0] if len(hosts) == 1 else f'{len(hosts)} machines'}"
    return f"{when}{total} of search{where}"


def _versions(rows: pd.DataFrame) -> str:
    combinations = rows[["versions", "git_revision"]].astype(object).value_counts(dropna=False)
    versions, revision = combinations.index[0]
    data = json.loads(versions) if isinstance(versions, str) else {}
    text = ", ".join(f"{name} {version}" for name, version in data.items())
    if isinstance(revision, str):
        text += f", revision {revision[:10]}{'+ (changed)' if revision.endswith('+') else ''}"
    others = len(combinations) - 1
    more = formats.plural(others, "other combination")
    return text + (f" (most of the runs; {more})" if others else "")


def train_command(
    row: Mapping[str, Any], reference: DatasetRef | None, lam_text: str
) -> str | None:
    """The command that trains a tree on the whole table as a run did on a fold.

    Parameters
    ----------
    row : mapping
        A row of the store.
    reference : DatasetRef or None
        The dataset as the sweep's file names it.
    lam_text : str
        λ as the file has it; ``2/n`` becomes 2 by the rows of the whole table.

    Returns
    -------
    str or None
        None where the command line has no words for how the table is read.
    """
    if reference is None or reference.is_part:
        return None
    kinds = {}
    for column, wish in reference.overrides().items():
        if isinstance(wish, dict):
            if wish.get("missing") or not wish.get("kind"):
                return None
            wish = wish["kind"]
        kinds[column] = wish
    if reference.separator is not None:
        return None
    lam = lam_text
    if lam_text.endswith("/n"):
        lam = str(Fraction(lam_text.removesuffix("/n")) / int(row["n_rows"]))
    parts = ["treesweep", "solve", str(reference.path or reference.origin)]
    for target in reference.targets:
        parts += ["--target", target]
    if reference.task == REGRESSION:
        parts += ["--task", REGRESSION]
    if reference.test is not None:
        parts += ["--column", f"{next(iter(reference.test))}=drop"]
    for column, kind in kinds.items():
        parts += ["--column", f"{column}={kind}"]
    parts += ["--encoding", row["encoding"]]
    for name, value in json.loads(row["encoding_options"]).items():
        parts += ["--encoding-option", f"{name}={_plain(value)}"]
    parts += ["--solver", row["solver"]]
    usual = SOLVERS[row["solver"]].options if row["solver"] in SOLVERS else {}
    for name, value in own_options(json.loads(row["solver_options"])).items():
        if name not in usual or usual[name].default != value:
            parts += ["--option", f"{name}={_plain(value)}"]
    names = {"depth": "--max-depth", "splits": "--max-splits", "min_leaf_size": "--min-leaf-size"}
    for name, value in json.loads(row["limits"]).items():
        if name in names and value is not None:
            parts += [names[name], str(value)]
    parts += ["--lam", lam, "--save", "tree.json"]
    return shlex.join(parts)


def _plain(value: Any) -> str:
    """An option's value as the command line reads it: text as it is, the rest as in JSON."""
    return value if isinstance(value, str) else json.dumps(value)
