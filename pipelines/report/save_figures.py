"""Charts and trees of a report as SVG and PNG files, and as elements of its pages."""

from __future__ import annotations

import io
import re
from html import escape

from markupsafe import Markup
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from pipelines.report.output_folder import ReportFolder
from solver.trees.export import export_svg, plot_tree
from solver.trees.tree import Tree
from solver.trees.tree_view import layout, tree_view


def to_png(figure: Figure, dpi: int = 144) -> bytes:
    """The figure as PNG, drawn once: ``savefig`` draws twice what has or had a layout engine."""
    buffer = io.BytesIO()
    before, figure.dpi = figure.dpi, dpi
    FigureCanvasAgg(figure).print_png(buffer)  # type: ignore[no-untyped-call]
    figure.dpi = before
    return buffer.getvalue()


def to_svg(figure: Figure) -> str:
    """The figure as an SVG file, laid out and drawn once as in :func:`to_png`."""
    buffer = io.StringIO()
    canvas = FigureCanvasSVG(figure)
    canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    return buffer.getvalue()


def inline_svg(svg: str, prefix: str, label: str) -> str:
    """An SVG file as an element of an HTML page. Used ids get a prefix, as they must be unique in
    the page; others are removed."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, count=1, flags=re.DOTALL)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', body))

    def rename(match: re.Match[str]) -> str:
        return f' id="{prefix}-{match[1]}"' if match[1] in used else ""

    body = re.sub(r' id="([^"]*)"', rename, body)
    body = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", body)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r">\s+<", "><", body)
    # The size follows from the viewBox and the width of the page.
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    return body.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).strip()


_PNG_ROWS = 45
"""Answers' trees with at most this many drawn leaves are also written as PNG."""


class Figures:
    """Writes charts and trees to the report's folder and returns their HTML elements. What answers
    is within the page; other pictures are files that a browser loads when they come into view.
    ``pngs`` says whether answers' trees are also written as PNG."""

    def __init__(self, folder: ReportFolder, pngs: bool = True) -> None:
        self.folder = folder
        self._pngs = pngs
        self._trees: dict[str, str] = {}
        self._base = ""

    def turn_page(self, base: str) -> None:
        """Begin a page; ``base`` leads from its folder to the report's."""
        self._base = base

    def chart(self, figure: Figure, label: str, *words: str, inline: bool = True) -> Markup:
        """Write a chart as SVG, and as PNG if it is within the page; the element to show."""
        name = self.folder.name_for(*words)
        svg = to_svg(figure)
        self.folder.write(f"charts/{name}.svg", svg)
        if not inline:
            return self._linked(f"charts/{name}.svg", label)
        figure.set_layout_engine("none")  # keeps the places that the SVG has
        self.folder.write(f"charts/{name}.png", to_png(figure))
        return Markup(inline_svg(svg, name, escape(label, quote=True)))

    def small_chart(self, svg: str, *words: str) -> Markup:
        """Write a small chart as SVG; the element to show."""
        self.folder.write(f"charts/{self.folder.name_for(*words)}.svg", svg)
        return Markup(svg)

    def tree(self, tree: Tree, label: str, *words: str, inline: bool = False) -> Markup:
        """Write a tree as SVG, but equal trees only once; the element to show, which opens the
        picture in full. One within the page is also written as PNG if it is small."""
        text = tree.to_json()
        if text not in self._trees:
            name = self.folder.name_for("tree", *words)
            self.folder.write(f"trees/{name}.svg", export_svg(tree, merge=True, title=label))
            self._trees[text] = f"trees/{name}.svg"
        place = self._trees[text]
        if not inline:
            return self._linked(place, label)
        if self._pngs and layout(tree_view(tree, merge=True)).rows <= _PNG_ROWS:
            png = to_png(plot_tree(tree, merge=True), 100)
            self.folder.write(f"{place.removesuffix('.svg')}.png", png)
        svg = export_svg(tree, merge=True, title=label)
        return Markup(f'<a class="full" href="{self._base}{place}">{svg}</a>')

    def _linked(self, place: str, label: str) -> Markup:
        """A picture in a file."""
        source, words = f"{self._base}{place}", escape(label, quote=True)
        return Markup(
            f'<a class="full" href="{source}"><img loading="lazy" src="{source}" alt="{words}"></a>'
        )
