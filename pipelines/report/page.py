"""What the page shows, part by part, as plain data for its template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from typing import Any

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup

from pipelines.report import formats
from pipelines.report.album import Album
from pipelines.report.answer import Answer
from pipelines.report.charts import dataset_chart, path_chart, profile_chart
from pipelines.report.checks import failure_groups
from pipelines.report.comparison import encoding_facts, proof_times, rank
from pipelines.report.exactchart import exact_chart
from pipelines.report.exactpage import exact_section
from pipelines.report.facts import describe_sweep, train_command
from pipelines.report.palette import solver_colours
from pipelines.report.paths import Path
from pipelines.report.results import Results
from pipelines.report.treeruns import PathTree
from pipelines.report.trees import tree_card
from sweep.datasets.reference import DatasetRef

MOST_ROWS = 30
"""So many λ of a path are in the page's table; files have all."""


@dataclass(frozen=True)
class Material:
    """All that was worked out, ready to be shown."""

    results: Results
    paths: list[Path]
    answers: list[Answer]
    excess: pd.DataFrame
    comparison: pd.DataFrame
    disagreements: pd.DataFrame
    published: pd.DataFrame | None
    references: dict[str, DatasetRef]


def render(material: Material, album: Album, generated: str) -> str:
    """The page as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pipelines.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    for name in ("objective", "short", "percent", "points", "seconds", "size",
                 "whole", "mean_count", "exact", "factor", "is_number"):  # fmt: skip
        environment.filters[name] = getattr(formats, name)
    environment.globals["plural"] = formats.plural
    environment.globals["status_words"] = status_words
    style = files("pipelines.report").joinpath("style.css").read_text(encoding="utf-8")
    page = _page(material, album) | {"generated": generated, "style": Markup(style)}
    return environment.get_template("page.html.j2").render(page)


def _page(material: Material, album: Album) -> dict[str, Any]:
    results = material.results
    colours = solver_colours(results.solvers)
    # Drawn first, so that the trees of the answers are in the page whatever its size.
    answers = [_answer(answer, material, album) for answer in material.answers]
    ranking = rank(results, material.excess, ["encoding_label", "solver_label"])
    return {
        "title": results.name,
        "facts": describe_sweep(results),
        "counts": _counts(results),
        "planned": results.planned,
        "unplanned": results.unplanned,
        "validated": results.validated,
        "has_paths": any(path.stairs for path in material.paths),
        "answers": answers,
        "ranking": ranking.to_dict("records"),
        "profile": _profile(material, album, colours),
        "disagreements": material.disagreements.to_dict("records"),
        "failures": failure_groups(results.rows),
        "missing": _missing(results),
        "impossible": _impossible(results),
        "datasets": [
            _dataset(name, answer, material, album, colours)
            for name, answer in zip(results.datasets, answers, strict=True)
        ],
        "published": None if material.published is None else material.published.to_dict("records"),
        "verdicts": _verdicts(material.published),
        "colours": colours,
    }


def status_words(point: dict[str, Any]) -> str:
    """How the runs at a λ ended."""
    runs, failed = int(point["runs"]), int(point["failed"])
    if not failed:
        for name in ("optimal", "heuristic"):
            if runs and point[name] == runs:
                return name
    parts = str(point["status"]).split(", ")
    if len(parts) == 1:
        return parts[0].rsplit(" ", 1)[0].replace("_", " ")
    return ", ".join(
        f"{count} {name}".replace("_", " ") for name, count in (p.rsplit(" ", 1) for p in parts)
    )


def _counts(results: Results) -> list[dict[str, Any]]:
    parts = [
        ("done", "done", results.n_ok),
        ("failed", "failed", results.n_failed),
        ("missing", "not run yet", len(results.missing)),
        ("impossible", "impossible", results.n_impossible),
    ]
    total = max(sum(number for _, _, number in parts), 1)
    return [
        {"kind": kind, "label": label, "number": number, "share": 100 * number / total}
        for kind, label, number in parts
    ]


def _answer(answer: Answer, material: Material, album: Album) -> dict[str, Any]:
    path, point, tree = answer.path, answer.point, answer.tree
    shown: dict[str, Any] = {
        "dataset": answer.dataset,
        "headline": answer.headline,
        "reasons": answer.reasons,
        "warnings": answer.warnings,
        "encoding": None if path is None else path.encoding,
        "solver": None if path is None else path.solver,
        "point": None if point is None else point.to_dict(),
        "tree": None,
        "command": None,
        # Without a λ to take: the trees to choose from.
        "menu": [],
    }
    if path is not None and (point is None or answer.menu):
        shown["menu"] = [tree_card(tree, path, album) for tree in path.trees]
    if path is not None and point is not None and tree is not None:
        shown["tree"] = tree_card(tree, path, album)
        shown["tree_words"] = _agreement(tree)
        row = _row_of(material.results, path, answer.key)
        reference = material.references.get(answer.dataset)
        if tree.fold is not None:
            shown["command"] = train_command(row, reference, _lam_to_train_at(point))
    return shown


def _lam_to_train_at(point: pd.Series[Any]) -> str:
    """The λ that was chosen, or a plain one of the interval that was."""
    start, end = point["lam_start_exact"], point["lam_end_exact"]
    if start is None:
        return str(point["lam_text"])
    return formats.plain_between(Fraction(start), None if end is None else Fraction(end))


def _row_of(results: Results, path: Path, key: str | None) -> dict[str, Any]:
    if path.stairs:
        return path.stairs[0].row
    rows = results.rows
    same = (
        rows["ok"]
        & (rows["dataset"] == path.dataset)
        & (rows["encoding_label"] == path.encoding)
        & (rows["solver_label"] == path.solver)
        & (rows["lam_key"] == key)
    )
    return {str(name): value for name, value in rows.iloc[int(np.argmax(same))].items()}


def _agreement(tree: PathTree) -> str:
    if tree.fold is None:
        return "Trained on the whole table."
    runs, of = tree.runs[0], tree.of[0]
    if of == 1:
        return "Trained without the held-out rows."
    if runs == of:
        return f"All {of} folds grow this tree; the counts are those of fold {tree.fold + 1}."
    if runs == 1:
        return f"The {of} folds grow {of} different trees; this is that of fold {tree.fold + 1}."
    return f"{runs} of {of} folds grow this tree; the counts are those of fold {tree.fold + 1}."


def _verdicts(published: pd.DataFrame | None) -> str:
    """``22 same, 10 no worse``, with the best first."""
    if published is None:
        return ""
    counts = published["verdict"].value_counts().to_dict()
    order = ("same", "better", "no worse", "worse", "not run")
    return ", ".join(f"{counts[name]} {name}" for name in order if name in counts)


def _profile(material: Material, album: Album, colours: dict[str, str]) -> Markup | None:
    times = proof_times(material.results)
    if material.excess.empty:
        return None
    figure = profile_chart(times, material.excess, colours, material.results.encodings)
    return album.chart(figure, "Performance profile: time to proof, and distance to the best",
                       "performance profile")  # fmt: skip


def _missing(results: Results) -> list[dict[str, Any]]:
    by = ["dataset", "encoding_label", "solver_label"]
    return [
        dict(zip(("dataset", "encoding", "solver"), cell, strict=True))
        | {"tasks": len(group), "lams": list(dict.fromkeys(group["lam_text"]))}
        for cell, group in results.sort(results.missing).groupby(by, sort=False)
    ]


def _impossible(results: Results) -> list[dict[str, Any]]:
    """One entry a reason: it is the same for many datasets."""
    groups: dict[str, dict[str, Any]] = {}
    for row in results.impossible.to_dict("records"):
        reason = str(row["reason"]).removeprefix(f"dataset '{row['dataset']}': ")
        entry = groups.setdefault(reason, {"reason": reason, "tasks": 0, "datasets": {}})
        entry["tasks"] += int(row["tasks"])
        entry["datasets"][row["dataset"]] = None
    return [entry | {"datasets": list(entry["datasets"])} for entry in groups.values()]


def _dataset(
    name: str, answer: dict[str, Any], material: Material, album: Album, colours: dict[str, str]
) -> dict[str, Any]:
    results = material.results
    paths = [path for path in material.paths if path.dataset == name]
    rows = results.rows[results.rows["dataset"] == name]
    drawn = [path for path in paths if path.trees]
    several = any((path.table["runs"] > 0).sum() > 1 for path in drawn)
    chart = None
    if several and len(drawn) > 1:
        figure = dataset_chart(drawn, colours, results.encodings)
        chart = album.chart(figure, f"{name}: all encodings and solvers", name, "comparison")
    comparison = material.comparison
    if len(comparison):
        comparison = comparison[comparison["dataset"] == name]
    cut, of = _thin(comparison)
    return {
        "name": name,
        "answer": answer,
        "about": _about(rows),
        "configurations": _configurations(results, material.excess, paths, name),
        "chart": chart,
        "encoding_fact": encoding_facts(comparison).get(name),
        "comparison": cut.to_dict("records"),
        "comparison_lams": (cut["lam_key"].nunique() if len(cut) else 0, of),
        "paths": [_path(path, answer, material, album, colours) for path in paths],
    }


def _about(rows: pd.DataFrame) -> str:
    if rows.empty:
        return "nothing has been run yet"
    first = rows.iloc[0]
    parts = [
        formats.plural(int(first["n_rows"]), "row"),
        formats.plural(int(first["n_classes"]), "class"),
    ]
    for encoding, group in rows.groupby("encoding_label", sort=False):
        features = group["n_features"].dropna()
        if len(features):
            low, high = int(features.min()), int(features.max())
            many = f"{low}" if low == high else f"{low} to {high}"
            parts.append(f"{encoding}: {many} feature{'' if high == 1 else 's'}")
    return ", ".join(parts)


def _configurations(
    results: Results, excess: pd.DataFrame, paths: Sequence[Path], name: str
) -> list[dict[str, Any]]:
    ranking = rank(results, excess, ["dataset", "encoding_label", "solver_label"])
    own = ranking[ranking["dataset"] == name]
    by_cell = {(path.encoding, path.solver): path for path in paths}
    records = []
    for row in own.to_dict("records"):
        path = by_cell[row["encoding"], row["solver"]]
        record = {str(key): value for key, value in row.items()}
        for label, key in (("minimum", path.minimum), ("one_se", path.one_se)):
            record[label] = None if key is None else path.point(key).to_dict()
        records.append(record)
    return records


def _thin(table: pd.DataFrame, most: int = MOST_ROWS) -> tuple[pd.DataFrame, int]:
    """The rows of at most so many λ, evenly spread, and of how many λ these are."""
    if table.empty:
        return table, 0
    keys = list(dict.fromkeys(table.sort_values("lam", ascending=False)["lam_key"]))
    if len(keys) > most:
        chosen = set(table.loc[table["chosen"] != "", "lam_key"]) if "chosen" in table else set()
        steps = {keys[round(i * (len(keys) - 1) / (most - 1))] for i in range(most)}
        kept = table["lam_key"].isin(steps | chosen)
        return table[kept].sort_values("lam", ascending=False, kind="stable"), len(keys)
    return table.sort_values("lam", ascending=False, kind="stable"), len(keys)


def _path(
    path: Path, answer: dict[str, Any], material: Material, album: Album, colours: dict[str, str]
) -> dict[str, Any]:
    chart = None
    label = f"λ-path of {path.dataset}, {path.encoding}, {path.solver}"
    words = ("path", path.dataset, path.encoding, path.solver)
    if path.stairs:
        others = [
            other for other in material.paths
            if (other.dataset, other.encoding) == (path.dataset, path.encoding)
            and other is not path and other.trees
        ]  # fmt: skip
        chart = album.chart(exact_chart(path, others, colours), label, *words)
    elif (path.table["runs"] > 0).sum() > 1:
        chart = album.chart(path_chart(path, colours[path.solver]), label, *words)
    table, of = _thin(path.table)
    folds = [
        {"lam": path.point(key)["lam_text"], "why": path.point(key)["chosen"],
         "trees": [tree_card(tree, path, album) for tree in trees]}
        for key, trees in path.fold_trees.items()
        if trees[0].of[0] > 1
    ]  # fmt: skip
    taken = answer["encoding"] == path.encoding and answer["solver"] == path.solver
    return {
        "encoding": path.encoding,
        "solver": path.solver,
        "taken": taken,
        "exact": exact_section(path, album) if path.stairs else None,
        "chart": chart,
        "table": table.to_dict("records"),
        "lams": (len(table), of),
        "spread": bool(path.table["test_spread"].notna().any()),
        "trees": [] if path.stairs else [tree_card(tree, path, album) for tree in path.trees],
        "fold_trees": folds,
    }
