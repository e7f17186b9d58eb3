"""The pictures of a report: each as files, and as an element of the page."""

from __future__ import annotations

from html import escape

from markupsafe import Markup
from matplotlib.figure import Figure

from pipelines.report.charts.axes import inline_svg, to_png, to_svg
from pipelines.report.charts.folder import ReportFolder
from solver.trees.export import export_svg, plot_tree
from solver.trees.tree import Tree
from solver.trees.tree_view import layout, tree_view

_PAGE_BYTES = 12_000_000
"""So much of drawn trees goes into the page; further ones are linked, so that it stays usable."""

_PNG_TREES, _PNG_ROWS = 150, 45
"""So many trees, of at most so many drawn leaves, are also written as PNG, which takes time."""


class Album:
    """Draws pictures, writes them to the report's folder and hands out what the page shows.

    Parameters
    ----------
    folder : ReportFolder
    pngs : bool
        Whether trees are written as PNG as well.
    """

    def __init__(self, folder: ReportFolder, pngs: bool = True) -> None:
        self.folder = folder
        self._trees: dict[str, tuple[str, str]] = {}
        self._pngs = 0 if pngs else _PNG_TREES
        self._bytes = 0
        self._base = ""

    def turn_page(self, base: str) -> None:
        """Begin a page; ``base`` leads from its folder to the report's."""
        self._bytes, self._base = 0, base

    def chart(self, figure: Figure, label: str, *words: str) -> Markup:
        """Write a chart as SVG and PNG; the element to show."""
        name = self.folder.name_for(*words)
        svg = to_svg(figure)
        self.folder.write(f"charts/{name}.svg", svg)
        self.folder.write(f"charts/{name}.png", to_png(figure))
        return Markup(inline_svg(svg, name, escape(label, quote=True)))

    def sketch(self, svg: str, *words: str) -> Markup:
        """Write a small chart that is drawn already, as SVG; the element to show."""
        self.folder.write(f"charts/{self.folder.name_for(*words)}.svg", svg)
        return Markup(svg)

    def tree(self, tree: Tree, label: str, *words: str) -> Markup:
        """Write a tree as SVG, and as PNG while it is small; the element to show.

        The same tree is written once.
        """
        text = tree.to_json()
        if text not in self._trees:
            name = self.folder.name_for("tree", *words)
            svg = export_svg(tree, merge=True, title=label)
            self.folder.write(f"trees/{name}.svg", svg)
            rows = layout(tree_view(tree, merge=True)).rows
            if rows <= _PNG_ROWS and self._pngs < _PNG_TREES:
                self._pngs += 1
                self.folder.write(f"trees/{name}.png", to_png(plot_tree(tree, merge=True), 100))
            self._trees[text] = name, svg
        name, svg = self._trees[text]
        self._bytes += len(svg)
        if self._bytes > _PAGE_BYTES:
            link = f'<a href="{self._base}trees/{name}.svg">{name}.svg</a>'
            return Markup(f'<p class="note">Drawn in {link}.</p>')
        return Markup(svg)
