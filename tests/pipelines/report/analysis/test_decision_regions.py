"""Decision regions: which trees and planes are drawn, and what a tree says in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pipelines.report.analysis.decision_regions import (
    Plane,
    Span,
    chosen_trees,
    find_mistakes,
    find_planes,
    find_regions,
)
from pipelines.report.analysis.rule_families import FamilySet, RawRows, find_families
from pipelines.report.data.results import label_results
from tests.helpers.report_rows import as_frame
from tests.helpers.rule_rows import PETALS, dataset, reference, rule_row, rule_rows


def petals(features: tuple[str, ...] | None = PETALS, known: bool = True) -> FamilySet:
    results = label_results(as_frame(rule_rows(None, features)), None)
    references = {"petals": reference(features=features)} if known else {}
    return find_families(results, references)[0]


def test_a_line_a_size_and_what_to_compare_with_last() -> None:
    lines = chosen_trees(petals().trees)
    assert [[(t.family, t.size) for t in line] for line in lines[2:]] == [
        [("axis", 3), ("hyperplane", 3), ("polynomial (degree 2)", 3), ("mixed (degree 2)", 3)],
        [("axis, cart", 3)],
    ]


def test_of_many_sizes_those_of_most_families_and_a_larger_axis_parallel_tree() -> None:
    trees = petals().trees
    axis, plane = (next(t for t in trees if t.rules == r) for r in ("axis", "hyperplane"))
    deep = next(t for t in trees if t.rules == "axis" and t.given and t.size == 3)
    lines = chosen_trees([axis, plane, deep])
    assert lines == [[axis, plane], [deep]]
    assert chosen_trees([]) == []


def test_regions_are_what_the_tree_predicts() -> None:
    plane = Plane(PETALS, (Span(1.0, 7.0), Span(0.0, 2.5)), {}, 1.0)
    for shown in petals().trees:
        regions = find_regions(shown.tree, plane, pixels=20)
        x, y = np.meshgrid(regions.across, regions.up)
        frame = pd.DataFrame({PETALS[0]: x.ravel(), PETALS[1]: y.ravel()})
        said = np.array(shown.tree.classes)[regions.classes].ravel()
        assert said.tolist() == shown.tree.predict(frame).tolist()
        assert len(regions.heights) == shown.size
        # All rows ask the root, and half of its plane is on the other side.
        assert np.isfinite(regions.heights[0]).all()
        assert regions.heights[0].min() < 0 < regions.heights[0].max()
        assert all(np.isnan(height).any() for height in regions.heights[1:])


def test_two_columns_need_nothing_held() -> None:
    (plane,) = find_planes(found := petals(), found.trees)
    assert (plane.columns, plane.held, plane.faithful) == (PETALS, {}, 1.0)
    assert plane.spans[0].low < 1.0 < 6.9 < plane.spans[0].high


def test_of_more_columns_the_pairs_that_show_most() -> None:
    found = petals(features=None)
    first, *more = find_planes(found, found.trees)
    assert first.columns == PETALS
    assert more == []  # no tree reads another column
    sepal = rule_row("hyperplane", 2, features=None)
    text = sepal["tree"].replace(PETALS[1], "sepal width (cm)")
    results = label_results(
        as_frame([sepal | {"tree": text}, rule_row("axis", 3, features=None)]), None
    )
    found = find_families(results, {"petals": reference(features=None)})[0]
    planes = find_planes(found, found.trees)
    # The hyperplane is asked of what the axis-parallel tree's cuts leave.
    assert planes[0].columns == PETALS
    assert len(planes) == 2
    assert planes[0].faithful >= planes[1].faithful
    for plane in planes:
        assert {*plane.columns, *plane.held} == {*PETALS, "sepal width (cm)"}
    median = float(dataset(None).frame["sepal width (cm)"].median())
    assert all(plane.held.get("sepal width (cm)", median) == median for plane in planes)


def test_without_rows_the_cuts_tell_what_is_covered() -> None:
    found = petals(known=False)
    (plane,) = find_planes(found, found.trees)
    assert plane.columns == tuple(sorted(PETALS))
    assert plane.spans[0].low < 2.5 < 4.9 < plane.spans[0].high
    lines = [shown for shown in found.trees if shown.rules == "polynomial" and shown.size == 1]
    assert find_planes(found, lines) == []  # where a curve is, nobody knows


def test_mistakes_are_told_by_all_columns_and_by_name() -> None:
    found = petals()
    assert found.rows is not None
    for shown in found.trees:
        assert int(find_mistakes(shown.tree, found.rows).sum()) == shown.tree.errors
    other = RawRows(found.rows.features, ("a", "b", "c"), found.rows.target, found.rows.held_out)
    assert find_mistakes(found.trees[0].tree, other).all()


def test_missing_numbers_are_no_obstacle() -> None:
    found = petals()
    assert found.rows is not None
    features = found.rows.features.copy()
    features.iloc[:5, 0] = np.nan
    found = replace(found, rows=replace(found.rows, features=features))
    (plane,) = find_planes(found, found.trees)
    assert plane.spans[0].high == pytest.approx(6.9 + 0.12 * 5.9, abs=0.1)
