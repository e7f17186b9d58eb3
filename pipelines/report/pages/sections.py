"""The section of a dataset: its answer, its charts, its λ-paths, as plain data for the template."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from pipelines.report.analysis.comparison import encoding_facts
from pipelines.report.analysis.path_trees import PathTree
from pipelines.report.analysis.paths import Path
from pipelines.report.analysis.recommendation_record import Answer
from pipelines.report.analysis.report_data import MOST_POINTS, Material
from pipelines.report.charts.charts import dataset_chart, path_chart
from pipelines.report.charts.exact_path import exact_chart
from pipelines.report.charts.figures import Album
from pipelines.report.charts.palette import encoding_dashes
from pipelines.report.charts.small_charts import sketch_dataset, sketch_path
from pipelines.report.data import formats
from pipelines.report.data.metrics import is_regression
from pipelines.report.data.results import Results
from pipelines.report.pages.exact_path import exact_section
from pipelines.report.pages.execution import execution_section
from pipelines.report.pages.facts import train_command
from pipelines.report.pages.rule_families import family_sections
from pipelines.report.pages.trees import tree_card
from solver.features.number_format import nouns

MOST_ROWS = 30
"""So many λ of a path are in the page's table; files have all."""

MOST_TREES, MOST_TREES_EACH = 60, 12
"""So many trees of a path are in the page; in a large report the second."""

_ABOUT = ["n_rows", "n_classes", "task", "n_features", "encoding_label"]


def answer_card(answer: Answer, material: Material, album: Album) -> dict[str, Any]:
    """The answer for a dataset, with its tree."""
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
        shown["menu"] = [tree_card(tree, path, album, False) for tree in path.trees]
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
    rows = results.by_lambda
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


def dataset_section(
    name: str,
    answer: dict[str, Any],
    material: Material,
    ranking: pd.DataFrame,
    album: Album,
    colours: dict[str, str],
) -> dict[str, Any]:
    """The section of a dataset.

    Parameters
    ----------
    answer : dict
        From :func:`answer_card`.
    ranking : DataFrame
        From :func:`pipelines.report.analysis.comparison.rank`, by dataset, encoding and solver.
    """
    results = material.results
    paths = [path for path in material.paths if path.dataset == name]
    rows = results.rows.loc[results.rows["dataset"] == name, _ABOUT]
    drawn = [path for path in paths if path.trees]
    several = any((path.table["runs"] > 0).sum() > 1 for path in drawn)
    chart = None
    if several and len(drawn) > 1:
        label = f"{name}: all encodings and solvers"
        if material.is_large or any(map(_is_long, drawn)):
            dashes = encoding_dashes(results.encodings)
            svg = sketch_dataset(drawn, colours, dashes, label)
            chart = album.sketch(svg, name, "comparison")
        else:
            figure = dataset_chart(drawn, colours, results.encodings)
            chart = album.chart(figure, label, name, "comparison")
    comparison = material.comparison
    if len(comparison):
        comparison = comparison[comparison["dataset"] == name]
    cut, of = _thin(comparison)
    return {
        "name": name,
        "answer": answer,
        "about": _about(rows),
        "numbers": is_regression(rows),
        "configurations": _configurations(ranking, paths, name),
        "chart": chart,
        "encoding_fact": encoding_facts(comparison).get(name),
        "comparison": cut.to_dict("records"),
        "families": family_sections(name, material, album),
        "comparison_lams": (cut["lam_key"].nunique() if len(cut) else 0, of),
        "paths": [_path(path, answer, material, album, colours) for path in paths],
    }


def _about(rows: pd.DataFrame) -> str:
    if rows.empty:
        return "nothing has been run yet"
    first = rows.iloc[0]
    parts = [
        formats.plural(int(first["n_rows"]), "row"),
        "regression" if is_regression(rows) else formats.plural(int(first["n_classes"]), "class"),
    ]
    for encoding, group in rows.groupby("encoding_label", sort=False):
        features = group["n_features"].dropna()
        if len(features):
            low, high = int(features.min()), int(features.max())
            many = f"{low}" if low == high else f"{low} to {high}"
            parts.append(f"{encoding}: {many} {nouns(high, 'feature')}")
    return ", ".join(parts)


def _configurations(
    ranking: pd.DataFrame, paths: Sequence[Path], name: str
) -> list[dict[str, Any]]:
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


def _is_long(path: Path) -> bool:
    return len(path.table) > MOST_POINTS


def _path_chart(
    path: Path, material: Material, album: Album, colours: dict[str, str]
) -> Markup | None:
    label = f"λ-path of {path.dataset}, {path.encoding}, {path.solver}"
    words = ("path", path.dataset, path.encoding, path.solver)
    if (path.table["runs"] > 0).sum() < (1 if path.stairs else 2):
        return None
    if material.is_large or _is_long(path):
        return album.sketch(sketch_path(path, colours[path.solver], label), *words)
    if path.stairs:
        others = [
            other for other in material.paths
            if (other.dataset, other.encoding) == (path.dataset, path.encoding)
            and other is not path and other.trees
        ]  # fmt: skip
        return album.chart(exact_chart(path, others, colours), label, *words)
    return album.chart(path_chart(path, colours[path.solver]), label, *words)


def _path(
    path: Path, answer: dict[str, Any], material: Material, album: Album, colours: dict[str, str]
) -> dict[str, Any]:
    taken = answer["encoding"] == path.encoding and answer["solver"] == path.solver
    most = MOST_TREES_EACH if material.is_large else MOST_TREES
    drawn = taken or not material.is_large
    table, of = _thin(path.table)
    folds = [
        {"lam": path.point(key)["lam_text"], "why": path.point(key)["chosen"],
         "trees": [tree_card(tree, path, album, drawn) for tree in trees]}
        for key, trees in path.fold_trees.items()
        if trees[0].of[0] > 1 and drawn
    ]  # fmt: skip
    cards = [] if path.stairs else [tree_card(t, path, album, drawn) for t in path.trees[:most]]
    return {
        "encoding": path.encoding,
        "solver": path.solver,
        "taken": taken,
        "exact": exact_section(path, album, most, drawn) if path.stairs else None,
        "chart": _path_chart(path, material, album, colours),
        "execution": execution_section(path, material, album),
        "thinned": len(path.table) if _is_long(path) else 0,
        "table": table.to_dict("records"),
        "lams": (len(table), of),
        "spread": bool(path.table["test_spread"].notna().any()),
        "trees": cards,
        "more_trees": max(len(path.trees) - most, 0),
        "drawn": drawn,
        "fold_trees": folds,
    }
