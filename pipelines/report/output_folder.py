"""The files of a report: charts, trees, tables and pages."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from markupsafe import Markup
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from solver.errors import InputError
from solver.trees.export import export_svg, plot_tree
from solver.trees.tree import Tree
from solver.trees.tree_view import layout, tree_view

MOST_LINES = 100_000
"""A table of more rows is written as Parquet only: no spreadsheet opens such a CSV."""

_LIST = ".files.json"


class ReportFolder:
    """The folder of a report.

    It has a list of its files, so that the next report removes those that it does not write again,
    and no others. All methods raise InputError if the folder cannot be made or written to.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._written: list[str] = []
        self._used: set[str] = set()
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder {root}: {error.strerror or error}") from None

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file; ``name`` may begin with a subfolder."""
        path = self.root / name
        data = content.encode() if isinstance(content, str) else content
        part = path.with_name(f"{path.name}.tmp")
        try:
            path.parent.mkdir(exist_ok=True)
            part.write_bytes(data)
            os.replace(part, path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise InputError(f"cannot write {path}: {error.strerror or error}") from None
        self._written.append(name)
        return path

    def write_table(self, name: str, parts: Iterable[pd.DataFrame]) -> None:
        """Write a table as Parquet, and as CSV if it has at most :data:`MOST_LINES` rows. There is
        at least one part; all of them need not fit into memory."""
        buffer, writer, rows = io.BytesIO(), None, 0
        for part in parts:
            table = pa.Table.from_pandas(part, preserve_index=False)
            if writer is None:
                first, writer = part, pq.ParquetWriter(buffer, table.schema)
            writer.write_table(table.cast(writer.schema))
            rows += len(part)
        assert writer is not None
        writer.close()
        self.write(f"tables/{name}.parquet", buffer.getvalue())
        if rows <= MOST_LINES and rows == len(first):
            self.write(f"tables/{name}.csv", first.to_csv(index=False))

    def name_for(self, *words: str) -> str:
        """An unused file name of letters, digits and ``-`` only."""
        plain = (re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-") for word in words)
        base = "-".join(word for word in plain if word)[:80] or "chart"
        name, number = base, 1
        while name in self._used:
            number += 1
            name = f"{base}-{number}"
        self._used.add(name)
        return name

    def finish(self) -> None:
        """Remove the files that only an earlier report wrote, and store the new list."""
        listing = self.root / _LIST
        try:
            old = json.loads(listing.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            old = []
        for name in old if isinstance(old, list) else []:
            path = self.root / str(name)
            if name not in self._written and path.resolve().is_relative_to(self.root.resolve()):
                path.unlink(missing_ok=True)
        self.write(_LIST, json.dumps(sorted(self._written), indent=1))


def to_png(figure: Figure, dpi: int = 144) -> bytes:
    """The figure as PNG."""
    buffer = io.BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()


def to_svg(figure: Figure) -> str:
    """The figure as an SVG file."""
    buffer = io.StringIO()
    FigureCanvasSVG(figure)
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
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
