"""The panels of a dataset: each point against the paths, and which curves coincide."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from pipelines.report.analysis.lambda_paths import LambdaPath, make_paths
from pipelines.report.charts.encoding_and_solver_panels import coinciding, overview_panels
from pipelines.report.charts.svg_charts import Line, Panel, path_panels, small_chart
from pipelines.report.data.results import label_results
from tests.helpers.report_rows import as_frame, as_plan, sweep_rows

COLOURS = {"branches": "#00f", "osdt": "#0f0", "cart": "#f00"}


@pytest.fixture(scope="module")
def paths() -> list[LambdaPath]:
    rows = sweep_rows(encodings=("onehot",), solvers=("branches", "osdt", "cart"), n_folds=3)
    return make_paths(label_results(as_frame(rows), as_plan(rows)))


def panel_of(panels: list[Panel], title: str) -> dict[str, Line]:
    (panel,) = [panel for panel in panels if panel.title == title]
    return {line.name.removeprefix("onehot, "): line for line in panel.lines}


@pytest.mark.parametrize(
    ("title", "column"),
    [
        ("Objective (training)", "objective"),
        ("Held-out accuracy (mean)", "test_accuracy"),
        ("Leaves (mean)", "leaves"),
        ("Search time in s (mean)", "seconds"),
        ("Iterations (mean)", "iterations"),
    ],
)
def test_points_are_those_of_the_paths(paths: list[LambdaPath], title: str, column: str) -> None:
    lines = panel_of(overview_panels(paths, COLOURS, {"onehot": "solid"}), title)
    for path in paths:
        known = path.table[path.table[column] > 0]
        if known.empty:
            assert path.solver not in lines
            continue
        line = lines[path.solver]
        assert line.lams.tolist() == known["lam"].tolist()
        assert line.values.tolist() == known[column].tolist()


def test_accuracy_by_leaves_has_the_best_of_each_size(paths: list[LambdaPath]) -> None:
    lines = panel_of(
        overview_panels(paths, COLOURS, {"onehot": "solid"}), "Held-out accuracy by leaves"
    )
    for path in paths:
        best: dict[float, float] = {}
        for point in path.table.to_dict("records"):
            best[point["leaves"]] = max(best.get(point["leaves"], 0.0), point["test_accuracy"])
        line = lines[path.solver]
        assert dict(zip(line.lams.tolist(), line.values.tolist(), strict=True)) == best


def test_exact_solvers_have_one_objective_and_this_is_said(paths: list[LambdaPath]) -> None:
    (first, *_) = overview_panels(paths, COLOURS, {"onehot": "solid"})
    assert coinciding(first) == (
        "Objective (training): one curve for onehot, branches; onehot, osdt."
    )
    one, other = (Line(np.array([0.1, 0.2]), np.array(v), "#000", "x") for v in ([1, 2], [1, 3.0]))
    assert coinciding(Panel("p", [one, other])) == ""
    held_out = one._replace(name="held-out")
    assert coinciding(Panel("p", [one._replace(name=""), held_out])) == (
        "p: one curve for training; held-out."
    )


def test_errors_lie_within_the_panel(paths: list[LambdaPath]) -> None:
    _, quality, _ = path_panels(paths[0], "#00f")
    (test,) = [line for line in quality.lines if line.error is not None]
    assert test.error is not None
    assert test.error.tolist() == paths[0].table["test_error"].tolist()
    root = ElementTree.fromstring(small_chart([quality], "quality"))
    (bars,) = [e for e in root.iter() if e.get("opacity") == "0.5"]
    for bar in bars.attrib["d"].removeprefix("M").split("M"):
        low, high = (float(y) for y in bar.split(" ")[1].split("V"))
        assert 22 <= high <= low <= 120


def test_a_logarithmic_panel_names_its_heights() -> None:
    line = Line(np.array([0.1, 0.2]), np.array([1.0, 1000.0]), "#000")
    svg = small_chart([Panel("work", [line], log=True, over="leaves")], "work")
    words = [element.text for element in ElementTree.fromstring(svg).iter() if element.text]
    assert "leaves" in words
    assert {"1", "1000"} & set(words)
    assert "nan" not in svg
