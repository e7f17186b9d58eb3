"""The section of the rule families of a dataset."""

from __future__ import annotations

from typing import Any

from pipelines.report.analysis.decision_regions import Plane, chosen_trees, find_planes
from pipelines.report.analysis.report_data import ReportData
from pipelines.report.analysis.rule_families import FamilySet
from pipelines.report.charts.rule_families import family_chart, region_chart
from pipelines.report.data import formatting
from pipelines.report.save_figures import Figures
from solver.features.number_format import in_full
from solver.trees.tree_view import shorten

MOST_LINES = 40
"""The largest number of sizes in the page's table; the file has all."""

MOST_DRAWN = 12
"""The largest number of datasets with drawn regions in a large report."""

_MOST_HELD = 6


def family_sections(name: str, report: ReportData, figures: Figures) -> list[dict[str, Any]]:
    """The rule families of a dataset, an encoding each."""
    few = report.families[:MOST_DRAWN] if report.is_large else report.families
    return [
        _section(found, figures, found in few) for found in report.families
        if found.dataset == name
    ]  # fmt: skip


def _section(found: FamilySet, figures: Figures, drawn: bool) -> dict[str, Any]:
    words = (found.dataset, found.encoding)
    lines = chosen_trees(found.trees)
    trees = [shown for line in lines for shown in line]
    planes = find_planes(found, trees) if drawn else []
    points = found.points.to_dict("records")
    chart = None
    if found.points["splits"].nunique() > 1:
        label = f"{found.dataset}: accuracy against splits by rule family"
        chart = figures.chart(family_chart(found), label, "families", *words)
    return {
        "several_lams": found.points["lam_text"].nunique() > 1,
        "folds": found.fold is not None and found.fold[1] > 1,
        "tested": bool(found.points["test_accuracy"].notna().any()),
        "points": points[:MOST_LINES],
        "more": max(len(points) - MOST_LINES, 0),
        "chart": chart,
        "about": _about(found) + (" Rows at one place are drawn around it." if found.rows else ""),
        "planes": [
            {
                "chart": figures.chart(
                    region_chart(found, lines, plane),
                    f"{found.dataset}: decision regions by {' and '.join(plane.columns)}",
                    "regions", *words, *plane.columns,
                ),
                "held": _held(plane),
            }
            for plane in planes
        ],
        "missing": _missing(found, planes, drawn),
    }  # fmt: skip


def _about(found: FamilySet) -> str:
    """Which trees are drawn."""
    trees = "Of each family and size the tree of fewest errors"
    if found.fold is None:
        return f"{trees}, trained on the whole table."
    number, of = found.fold
    if of == 1:
        return f"{trees}, trained without the rows that were held out."
    return f"{trees}, trained without the rows that fold {number + 1} of {of} holds out."


def _held(plane: Plane) -> str:
    """The fixed values of the other columns; empty without others."""
    if not plane.held:
        return ""
    shown = [*plane.held.items()][:_MOST_HELD]
    words = [f"{shorten(name, 40)} = {in_full(value)}" for name, value in shown]
    more = len(plane.held) - len(shown)
    words += [f"{more} more"] if more else []
    return (
        f"The other columns are held at their medians ({', '.join(words)}): in this plane the "
        f"trees answer as they do for {formatting.percent(plane.faithful)} of the rows. Crosses "
        "are the rows that a tree gets wrong by all of their columns, wherever they stand here."
    )


def _missing(found: FamilySet, planes: list[Plane], drawn: bool) -> str:
    """Why there are no regions, or no rows in them."""
    if not drawn:
        return f"The regions of the first {MOST_DRAWN} tables are drawn."
    if not planes:
        why = f": {found.why}" if found.why else ""
        return f"There is no plane of two numbers to draw regions in{why}."
    return f"Without points, for {found.why}." if found.rows is None else ""
