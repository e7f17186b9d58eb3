"""The rules that a report shows, read back as text, part rows as the trees do."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pipelines.report.analysis.lambda_paths import make_paths
from pipelines.report.analysis.path_trees import splits_of
from pipelines.report.data.results import label_results
from pipelines.report.output_folder import ReportFolder
from pipelines.report.pages.exported_tables import tree_table
from pipelines.report.pages.tree_cards import tree_card
from pipelines.report.save_figures import Figures
from solver import Tree
from tests.helpers import printed_trees
from tests.helpers.report_rows import as_frame, run_row
from tests.solver.trees.test_printed_rules import (
    CLASSES,
    TABLES,
    new_rows,
    predict,
    rows_of,
    solved,
)

CART = ("continuous", "cart", {})
PLANES = ("continuous", "proper", {"rules": "hyperplane"})
SHOWN = [(name, CART) for name in TABLES] + [("plane", PLANES), ("two columns", PLANES)]


def tree_of(name: str, how: tuple[str, str, dict[str, str]]) -> tuple[Tree, pd.DataFrame]:
    frame = pd.DataFrame(TABLES[name])
    return solved(frame, CLASSES, how), frame


@pytest.mark.parametrize(("name", "how"), SHOWN)
def test_rules_of_the_page_and_of_its_tables(
    name: str, how: tuple[str, str, dict[str, str]], tmp_path: Path
) -> None:
    tree, frame = tree_of(name, how)
    rows = rows_of(frame)
    rows += new_rows(tree, rows, 1000)
    expected = predict(tree, rows)
    run = {**run_row(), "tree": tree.to_json(), "splits": tree.splits, "errors": tree.errors}
    (path,) = make_paths(label_results(as_frame([run]), None))
    card = tree_card(path.trees[0], path, Figures(ReportFolder(tmp_path), pngs=False), inline=True)
    for rules in (*tree_table([path])["rules"], card["rules"]):
        read = printed_trees.read_text(rules)
        assert [printed_trees.predict(read, row) for row in rows] == expected
    by_tooltip, seen = printed_trees.read_svg(str(card["picture"]))
    for picture in (by_tooltip, seen):
        if picture is not None:
            assert [printed_trees.predict(picture, row) for row in rows] == expected


@pytest.mark.parametrize(("name", "how"), SHOWN)
def test_conditions_that_tell_what_changes(name: str, how: tuple[str, str, dict[str, str]]) -> None:
    tree, frame = tree_of(name, how)
    rows = [r for r in rows_of(frame) if None not in r.values()]
    rows += new_rows(tree, rows, 200)
    columns = {column: pd.array([row[column] for row in rows]).to_numpy() for column in rows[0]}
    for split in splits_of(tree):
        if split.test.kind == "category":
            continue
        above = split.test.branches(*(columns[c] for c in split.test.columns))  # type: ignore[arg-type]
        assert [printed_trees.holds(split.asks, row) for row in rows] == (above == 1).tolist()
