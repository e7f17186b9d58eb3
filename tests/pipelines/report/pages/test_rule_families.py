"""Rule families on the page: regions, table, chart, and what is said where something lacks."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from pipelines.report import write_report
from pipelines.report.analysis import report_data
from pipelines.report.analysis.decision_regions import Plane, Span, chosen_trees, find_planes
from pipelines.report.analysis.rule_families import RawRows, find_families
from pipelines.report.charts.rule_families import (
    family_chart,
    proof_words,
    region_chart,
    spread_out,
)
from pipelines.report.charts.style import style
from pipelines.report.data.results import label_results
from pipelines.report.save_figures import to_svg
from pipelines.report.write import gather, write_report_data
from sweep.spec.spec import parse_spec
from sweep.verify.verify import verify_sweep
from tests.helpers import without_dask
from tests.helpers.report_rows import as_frame
from tests.helpers.rule_rows import PETALS, reference, rule_row, rule_rows


def page(out: Path, rows: list[dict[str, Any]], known: bool = True, features: Any = PETALS) -> str:
    references = {"petals": reference(features=features)} if known else {}
    gathered = gather(label_results(as_frame(rows), None), references)
    return write_report_data(gathered, out).page.read_text(encoding="utf-8")


def few(fold: int | None = None) -> list[dict[str, Any]]:
    chosen = {"polynomial": 2, "hyperplane": 2, "axis": 3}
    return [rule_row(rules, splits, fold) for rules, splits in chosen.items()]


def regions(rows: list[dict[str, Any]], known: bool = True) -> Figure:
    references = {"petals": reference()} if known else {}
    (found,) = find_families(label_results(as_frame(rows), None), references)
    lines = chosen_trees(found.trees)
    (plane,) = find_planes(found, [shown for line in lines for shown in line])
    with style():
        return region_chart(found, lines, plane)


def test_a_panel_a_tree_with_its_size_its_accuracy_and_its_proof() -> None:
    figure = regions(rule_rows())
    panels = [axes for axes in figure.axes if axes.get_title(loc="left")]
    titles = [axes.get_title(loc="left") for axes in panels]
    assert len(titles) == 13
    assert titles[1] == "hyperplane, 1 split"
    assert titles[-1] == "axis, cart, 3 splits"
    row = rule_row("hyperplane", 1, 0)
    (words,) = [text.get_text() for text in panels[1].texts]
    train, test = (f"{100 * row[part]:.1f} %" for part in ("train_accuracy", "test_accuracy"))
    assert words == f"{train} right, {test} held-out; proven"
    assert panels[-1].texts[0].get_text().endswith("heuristic")
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["setosa", "versicolor", "virginica", "hollow: held out", "wrong"]
    # Crosses are the rows that the tree gets wrong.
    crosses = [line for line in panels[1].lines if line.get_marker() == "x"]
    wrong = row["errors"] + row["test_errors"]
    assert sum(len(line.get_xdata()) for line in crosses) == wrong  # type: ignore[arg-type]


def test_regions_without_rows_have_no_points() -> None:
    figure = regions(rule_rows(None), known=False)
    assert not any(len(axes.lines) for axes in figure.axes)
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["setosa", "versicolor", "virginica"]
    assert proof_words("time_limit") == "not proven"


def test_short_lines_share_one_and_long_ones_are_broken() -> None:
    (found,) = find_families(label_results(as_frame(few()), None), {})
    a, b, c = found.trees
    (plane,) = find_planes(found, found.trees)
    with style():
        figure = region_chart(found, [[a], [b, c], [a, b, c, a, b]], plane)
    grid = figure.axes[0].get_gridspec()
    assert grid is not None
    assert (grid.nrows, grid.ncols) == (3, 4)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert [bool(title) for title in titles] == [*3 * [True], False, *5 * [True], *3 * [False]]


def test_rows_at_one_place_are_spread_around_it() -> None:
    plane = Plane(("a", "b"), (Span(0.0, 4.0), Span(0.0, 4.0)), {}, 1.0)
    x, y = np.array([1.0] * 50 + [2.0, np.nan]), np.array([3.0] * 50 + [3.0, 1.0])
    target = np.arange(52) % 2
    across, up = spread_out(x, y, target, plane)
    far = np.hypot(across - x, up - y)
    assert len(set(zip(across[:50], up[:50], strict=True))) == 50
    assert far[:51].max() <= 0.4
    assert far[50] == 0
    # The first class is inside.
    assert far[:50][target[:50] == 0].max() < far[:50][target[:50] == 1].min()
    assert spread_out(x[50:], y[50:], target[50:], plane)[0][0] == 2.0


def test_a_line_a_family_against_splits() -> None:
    (found,) = find_families(label_results(as_frame(rule_rows()), None), {})
    with style():
        figure = family_chart(found)
        svg = to_svg(figure)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Training accuracy against splits", "Held-out accuracy against splits"
    ]  # fmt: skip
    assert "polynomial (degree 2)" in svg


def test_the_page_has_regions_table_and_files(tmp_path: Path) -> None:
    html = page(tmp_path, few(0) + few(1))
    assert 'id="dataset-1-families"' in html
    assert 'href="#dataset-1-families"' in html
    assert "trained without the rows that fold 1 of 3 holds out" in html
    assert "polynomial (degree 2), 2 splits" in html
    assert re.search(r"<td>2</td><td[^>]*>hyperplane</td><td[^>]*>2 splits</td>", html)
    assert (tmp_path / "tables" / "families.csv").exists()
    assert len(list((tmp_path / "charts").glob("regions-*.png"))) == 1
    # Families are no rivals on the same problem.
    assert "contradiction" not in html.split("Contradictions between solvers")[0].lower()


def test_the_page_says_why_there_are_no_points(tmp_path: Path) -> None:
    html = page(tmp_path / "a", few(), known=False)
    assert "Without points, for the sweep&#39;s file does not say where the data are." in html
    changed = [row | {"data_hash": "x"} for row in few()]
    assert "the data have changed since" in page(tmp_path / "b", changed)


def test_other_columns_are_held_and_the_page_says_so(tmp_path: Path) -> None:
    row = rule_row("hyperplane", 2, features=None)
    row |= {"tree": row["tree"].replace(PETALS[1], "sepal width (cm)")}
    html = page(tmp_path, [row, rule_row("axis", 3, features=None)], features=None)
    assert "held at their medians (" in html
    assert len(list((tmp_path / "charts").glob("regions-*.svg"))) == 2


def test_a_large_report_has_them_on_the_pages_of_datasets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_data, "MOST_CHARTS", 0)
    html = page(tmp_path, few())
    own = (tmp_path / "datasets" / "dataset-petals.html").read_text(encoding="utf-8")
    assert 'href="datasets/dataset-petals.html"' in html
    assert 'id="dataset-1-families"' in own
    assert "hyperplane, 2 splits" in own


def test_of_many_rows_some_are_drawn_and_of_the_wrong_ones_more() -> None:
    (found,) = find_families(label_results(as_frame(few()), None), {"petals": reference()})
    assert found.rows is not None
    many = found.rows.features.index.repeat(20)
    rows = RawRows(
        found.rows.features.loc[many].reset_index(drop=True), found.rows.labels,
        np.repeat(found.rows.target, 20), np.repeat(found.rows.held_out, 20),
    )  # fmt: skip
    (plane,) = find_planes(found, found.trees)
    with style():
        figure = region_chart(replace(found, rows=rows), [found.trees[:1]], plane)
    *points, crosses = figure.axes[0].lines
    drawn = sum(len(line.get_xdata()) for line in points)  # type: ignore[arg-type]
    wrong = 20 * found.trees[0].tree.errors
    assert wrong // 2 <= len(crosses.get_xdata()) <= 600  # type: ignore[arg-type]
    assert 600 <= drawn <= 1200


def test_a_real_sweep_is_reported_and_verified(tmp_path: Path) -> None:
    spec = parse_spec(
        "name: real\ndatasets: [{name: two, source: monks-1, features: [a1, a2]}]\n"
        "encodings: [continuous]\nlambdas: [0]\nsolvers: [cart, {solver: proper, options: "
        "{rules: [hyperplane, polynomial, mixed], splits: 1, min_leaf_size: 5}}]\n"
    )
    without_dask.finish(tmp_path / "store", spec)
    html = write_report(tmp_path / "store").page.read_text(encoding="utf-8")
    assert "polynomial (degree 2), 1 split" in html
    assert "hyperplane, 1 split" in html
    assert "No proofs were compared" in html
    assert "wrong</text>" in html  # the rows are drawn
    checked = verify_sweep(tmp_path / "store")
    assert (checked.trees, checked.findings) == (4, [])


def test_one_column_has_no_plane(tmp_path: Path) -> None:
    html = page(tmp_path, [rule_row("axis", 1)], known=False)
    assert "There is no plane of two numbers to draw regions in" in html
