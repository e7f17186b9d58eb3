"""The section of a dataset as data for its template: charts, tables and λ-paths."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from pipelines.report.analysis.ablations import execution_of, extra_of
from pipelines.report.analysis.lambda_paths import LambdaPath
from pipelines.report.analysis.rankings import encoding_facts
from pipelines.report.analysis.report_data import MOST_POINTS, ReportData
from pipelines.report.charts.ablations import trace_chart
from pipelines.report.charts.encoding_and_solver_panels import coinciding, overview_panels
from pipelines.report.charts.lambda_paths import exact_chart
from pipelines.report.charts.style import encoding_dashes, solver_colours
from pipelines.report.charts.svg_charts import (
    Panel,
    dash_attribute,
    legend_of,
    path_panels,
    small_chart,
)
from pipelines.report.data import formatting
from pipelines.report.data.group_statistics import lam_ranks
from pipelines.report.data.metrics import is_regression
from pipelines.report.pages.ablations import PAGE, pruned_table
from pipelines.report.pages.exact_path import exact_section
from pipelines.report.pages.good_trees import good_tree_sections
from pipelines.report.pages.rule_families import family_sections
from pipelines.report.pages.tree_cards import tree_card
from pipelines.report.save_figures import Figures
from solver.features.number_format import nouns
from solver.solution import Status

MOST_ROWS = 30
"""The largest number of λ of a path in the page's table; the files have all."""

MOST_TREES, MOST_TREES_EACH = 60, 12
"""The largest number of trees of a path in the page, and in a large report."""

_ABOUT = ["n_rows", "n_classes", "task", "n_features", "encoding_label"]


def dataset_section(
    name: str,
    recommendation: dict[str, Any],
    report: ReportData,
    figures: Figures,
) -> dict[str, Any]:
    """The section of a dataset, given the card of its recommendation."""
    results = report.results
    paths = [path for path in report.paths if path.dataset == name]
    rows = results.rows.loc[results.rows["dataset"] == name, _ABOUT]
    drawn = [path for path in paths if path.trees]
    several = any((path.table["runs"] > 0).sum() > 1 for path in drawn)
    overview = None
    if several and len(drawn) > 1:
        colours, dashes = solver_colours(results.solvers), encoding_dashes(results.encodings)
        label = f"{name}: all encodings and solvers"
        panels = overview_panels(drawn, colours, dashes)
        overview = _panels(panels, label, figures, name, "comparison")
    comparison = report.comparison
    if len(comparison):
        comparison = comparison[comparison["dataset"] == name]
    cut, of = _thin(comparison)
    return {
        "name": name,
        "recommendation": recommendation,
        "about": _about(rows),
        "numbers": is_regression(rows),
        "configurations": _configurations(report.ranking_by_dataset, paths, name),
        "overview": overview,
        "encoding_fact": encoding_facts(comparison).get(name),
        "comparison": cut.to_dict("records"),
        "families": family_sections(name, report, figures),
        "good_trees": good_tree_sections(name, report, figures),
        "comparison_lams": (cut["lam_key"].nunique() if len(cut) else 0, of),
        "paths": [_path_section(path, recommendation, report, figures) for path in paths],
    }


def _panels(panels: Sequence[Panel], label: str, figures: Figures, *words: str) -> dict[str, Any]:
    """Panels as pictures of their own, which a narrow page stacks, with their legend; and which
    curves coincide."""
    figures.small_chart(small_chart(panels, label), *words)
    return {
        "panels": [Markup(small_chart([p.unnamed()], f"{label}: {p.title}")) for p in panels],
        "legend": [
            (name, colour, Markup(dash_attribute(dash))) for name, colour, dash in legend_of(panels)
        ],
        "same": [text for panel in panels if (text := coinciding(panel))],
    }


def _about(rows: pd.DataFrame) -> str:
    if rows.empty:
        return "nothing has been run yet"
    first = rows.iloc[0]
    parts = [
        formatting.plural(int(first["n_rows"]), "row"),
        "regression"
        if is_regression(rows)
        else formatting.plural(int(first["n_classes"]), "class"),
    ]
    for encoding, group in rows.groupby("encoding_label", sort=False):
        features = group["n_features"].dropna()
        if len(features):
            low, high = int(features.min()), int(features.max())
            many = f"{low}" if low == high else f"{low} to {high}"
            parts.append(f"{encoding}: {many} {nouns(high, 'feature')}")
    return ", ".join(parts)


def _configurations(
    ranking: pd.DataFrame, paths: Sequence[LambdaPath], name: str
) -> list[dict[Hashable, Any]]:
    records = ranking[ranking["dataset"] == name].to_dict("records")
    by_cell = {(path.encoding, path.solver): path for path in paths}
    for record in records:
        path = by_cell[record["encoding"], record["solver"]]
        for label, key in (("minimum", path.minimum), ("one_se", path.one_se)):
            record[label] = None if key is None else path.point(key).to_dict()
    return records


def _thin(table: pd.DataFrame, most: int = MOST_ROWS) -> tuple[pd.DataFrame, int]:
    """The rows of at most ``most`` λ, evenly spread, and the number of all λ."""
    if table.empty:
        return table, 0
    table = table.iloc[np.argsort(-lam_ranks(table), kind="stable")]
    keys = list(dict.fromkeys(table["lam_key"]))
    if len(keys) > most:
        chosen = set(table.loc[table["chosen"] != "", "lam_key"]) if "chosen" in table else set()
        steps = {keys[round(i * (len(keys) - 1) / (most - 1))] for i in range(most)}
        table = table[table["lam_key"].isin(steps | chosen)]
    return table, len(keys)


def _is_long(path: LambdaPath) -> bool:
    return len(path.table) > MOST_POINTS


def _path_chart(
    path: LambdaPath, report: ReportData, figures: Figures
) -> dict[str, Any] | Markup | None:
    """Panels; of an exact path that is not too long, one chart with its breakpoints."""
    colours = solver_colours(report.results.solvers)
    label = f"λ-path of {path.dataset}, {path.encoding}, {path.solver}"
    words = ("path", path.dataset, path.encoding, path.solver)
    if (path.table["runs"] > 0).sum() < (1 if path.exact_paths else 2):
        return None
    if report.is_large or _is_long(path) or not path.exact_paths:
        return _panels(path_panels(path, colours[path.solver]), label, figures, *words)
    others = [
        other for other in report.paths
        if (other.dataset, other.encoding) == (path.dataset, path.encoding)
        and other is not path and other.trees
    ]  # fmt: skip
    return figures.chart(exact_chart(path, others, colours), label, *words, inline=False)


def _path_section(
    path: LambdaPath,
    recommendation: dict[str, Any],
    report: ReportData,
    figures: Figures,
) -> dict[str, Any]:
    taken = recommendation["encoding"] == path.encoding and recommendation["solver"] == path.solver
    most = MOST_TREES_EACH if report.is_large else MOST_TREES
    drawn = taken or not report.is_large
    table, of = _thin(path.table)
    folds = [
        {"lam": path.point(key)["lam_text"], "why": path.point(key)["chosen"],
         "trees": [tree_card(tree, path, figures, drawn) for tree in trees]}
        for key, trees in path.fold_trees.items()
        if trees[0].of[0] > 1 and drawn
    ]  # fmt: skip
    trees = () if path.exact_paths else path.trees[:most]
    return {
        "encoding": path.encoding,
        "solver": path.solver,
        "taken": taken,
        "exact": exact_section(path, figures, most, drawn) if path.exact_paths else None,
        "chart": _path_chart(path, report, figures),
        "execution": execution_section(path, report, figures),
        "thinned": len(path.table) if _is_long(path) else 0,
        "table": table.to_dict("records"),
        "lams": (len(table), of),
        "trees": [tree_card(tree, path, figures, drawn) for tree in trees],
        "more_trees": max(len(path.trees) - most, 0),
        "fold_trees": folds,
    }


def execution_section(
    path: LambdaPath, report: ReportData, figures: Figures
) -> dict[str, Any] | None:
    """The trace of a path's longest search that has one, or a link if the page of ablations shows
    it. None without a trace, and in a large report."""
    rows = report.results.by_lambda
    if report.is_large or not rows["extra"].notna().any():
        return None
    own = path.rows_in(rows[rows["extra"].notna()])
    for _, row in own.sort_values("seconds", ascending=False, kind="stable").iterrows():
        found = execution_of(extra_of(row["extra"]), row["status"] == Status.OPTIMAL.value)
        if found is None:
            continue
        at = f"λ = {row['lam_text']}"
        if row["fold"] == row["fold"] and row["fold"] is not None:
            at += f", fold {int(row['fold']) + 1}"
        if report.ablations.has(row):
            return {"at": at, "link": PAGE, "chart": None, "pruned": None}
        label = f"Execution of {path.solver} on {path.dataset}, {path.encoding}, {at}"
        words = ("execution", path.dataset, path.encoding, path.solver)
        return {
            "at": at,
            "link": None,
            "chart": figures.chart(trace_chart({path.solver: found}), label, *words, inline=False),
            "pruned": pruned_table({path.solver: found}),
        }
    return None
