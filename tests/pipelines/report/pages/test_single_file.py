"""A page that needs no other file."""

from __future__ import annotations

import base64
from pathlib import Path

from markupsafe import Markup

from pipelines.report.output_folder import ReportFolder
from pipelines.report.pages.single_file import embed_files
from pipelines.report.save_figures import Figures
from solver.trees.tree import Node, Tree

LEAF = Tree((Node((2, 1), 0),), {}, ("n", "y"))


def test_pictures_and_trees_become_data(tmp_path: Path) -> None:
    figures = Figures(ReportFolder(tmp_path), pngs=False)
    figures.turn_page("../")
    linked = figures.tree(LEAF, 'a "leaf"', "one")
    drawn = figures.tree(LEAF, "the same", "one", inline=True)
    figures.folder.write("final-trees/one.json", "{}")
    link = Markup('<a href="../final-trees/one.json">one</a>, <a href="#top">top</a>')
    html = embed_files(linked + drawn + link, tmp_path)
    svg = base64.b64encode((tmp_path / "trees" / "tree-one.svg").read_bytes()).decode()
    assert f'<img src="data:image/svg+xml;base64,{svg}" alt="a &quot;leaf&quot;">' in html
    assert '<a class="full"><svg' in html
    saved = base64.b64encode(b"{}").decode()
    assert f'<a download="one.json" href="data:application/json;base64,{saved}">one</a>' in html
    assert html.endswith('<a href="#top">top</a>')
    assert "../" not in html
