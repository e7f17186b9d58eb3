"""Trees as text, DOT, SVG and matplotlib figures, in the user's own column names and labels."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any

from solver.features.number_format import count
from solver.trees.tree_view import (
    BEND,
    BOX,
    LINE_HEIGHT,
    Box,
    TreeSource,
    TreeView,
    fold_terms,
    layout,
    tree_view,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind people can tell apart: for lines, and as pale fills.
CLASS_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#8A6D00", "#3B8EC2", "#444444")
CLASS_FILLS = ("#DCEBF5", "#FBE4D5", "#D8F0E7", "#F3DEF0", "#F5EDC8", "#E3F1FA", "#E6E6E6")
# Of numbers: from the smallest leaf's to the largest leaf's; black is readable on both.
LEAST_FILL, MOST_FILL = (0xF4, 0xF8, 0xFC), (0x9F, 0xC8, 0xE4)
_TEXT_WIDTH, _DOT_WIDTH = 88, 40
"""Characters in a line of a sum, in text and in DOT; longer sums are broken."""

QUESTION_FILL, QUESTION_LINE, LINE, INK, FAINT = (
    "#FFFFFF",
    "#5A6472",
    "#A9B1BC",
    "#1F2733",
    "#5A6472",
)


def export_text(tree: TreeSource, *, merge: bool = False) -> str:
    """The tree as nested rules, one line for each leaf.

    Parameters
    ----------
    tree : Tree, Solution, Step or fitted estimator
    merge : bool
        Show leaves of one multiway split with the same class as one line.

    Returns
    -------
    str
        Without a newline at the end.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> print(export_text(problem.grow((0, (-1, (1, (-1, -1)))))))
    x0 = 0: 0 (2 rows)
    x0 = 1
    |   x1 = 0: 0 (1 row)
    |   x1 = 1: 1 (1 row)
    """
    lines: list[str] = []

    def write(node: TreeView, depth: int) -> None:
        for child in node.children:
            start = "|   " * depth + child.condition
            if node.terms:
                start = _wrapped(start, depth)
            if child.children:
                lines.append(start)
                write(child, depth + 1)
            else:
                lines.append(f"{start}: {child.label} ({child.outcome})")

    root = tree_view(tree, merge=merge)
    if not root.children:
        return f"{root.label} ({root.outcome})"
    write(root, 0)
    return "\n".join(lines)


def _wrapped(line: str, depth: int) -> str:
    """A sum in lines that a terminal holds, broken before terms; what follows is indented."""
    first, *rest = re.split(r" (?=[+−] )", line)
    lines = [first]
    for part in rest:
        if len(lines[-1]) + 1 + len(part) <= _TEXT_WIDTH:
            lines[-1] += f" {part}"
        else:
            lines.append("|   " * depth + f"    {part}")
    return "\n".join(lines)


def export_dot(tree: TreeSource, *, merge: bool = False) -> str:
    r"""The tree in the DOT language of Graphviz; parameters as in :func:`export_text`.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> print(treesweep.export_dot(treesweep.solve(problem, lam="0.05")).split("\n")[0])
    digraph tree {
    """
    lines = [
        "digraph tree {",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif"];',
        '  edge [fontname="sans-serif"];',
    ]

    def write(node: TreeView, position: int) -> int:
        if node.children:
            asked = fold_terms(node.terms, _DOT_WIDTH) or [node.question]
            text, fill = "\n".join(asked), QUESTION_FILL
        else:
            text, fill = f"{node.label}\n{node.outcome}", _fill(node)
        lines.append(f"  n{position} [label={_quoted(text)}, fillcolor={_quoted(fill)}];")
        following = position + 1
        for child in node.children:
            lines.append(f"  n{position} -> n{following} [label={_quoted(child.answer)}];")
            following = write(child, following)
        return following

    write(tree_view(tree, merge=merge), 0)
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    # Graphviz reads HTML entities in labels, too: &lt; would look like <.
    escaped = (
        text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    )
    return f'"{escaped}"'


def _fill(node: TreeView) -> str:
    """The colour of a leaf: its class's, or the darker the larger its number."""
    if not node.outputs:
        return CLASS_FILLS[node.label_index % len(CLASS_FILLS)]
    ends = zip(LEAST_FILL, MOST_FILL, strict=True)
    return "#" + "".join(f"{round(low + node.shade * (high - low)):02X}" for low, high in ends)


def _border(node: TreeView) -> str:
    place = 0 if node.outputs else node.label_index
    return CLASS_COLOURS[place % len(CLASS_COLOURS)]


def export_svg(tree: TreeSource, *, merge: bool = False, title: str = "Decision tree") -> str:
    """The tree as an SVG picture that stands alone or goes into an HTML page.

    It holds no ids, scripts, styles or links, so a page may hold several. Long names are cut; the
    full text is in the tooltip. ``title`` is for screen readers; other parameters as in
    :func:`export_text`.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> picture = treesweep.export_svg(treesweep.solve(problem, lam="0.05"))
    >>> picture.startswith("<svg")
    True
    """
    plan = layout(tree_view(tree, merge=merge))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" width="{plan.width:.0f}" '
        f'height="{plan.height:.0f}" viewBox="0 0 {plan.width:.0f} {plan.height:.0f}" role="img" '
        'font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
    ]
    # Lines first, so that boxes and answers lie above them.
    parts += [_svg_line(box) for box in plan.boxes if box.line_from]
    parts += [_svg_box(box) for box in plan.boxes]
    return "".join([*parts, "</svg>"])


def _svg_line(box: Box) -> str:
    x, y = box.line_from or (0.0, 0.0)
    bend = x + BEND
    return (
        f'<path d="M{x:.1f} {y:.1f} C{x + BEND / 2:.1f} {y:.1f} {x + BEND / 2:.1f} {box.y:.1f} '
        f'{bend:.1f} {box.y:.1f} H{box.x:.1f}" fill="none" stroke="{LINE}"/>'
    )


def _svg_box(box: Box) -> str:
    node = box.node
    fill, line = (QUESTION_FILL, QUESTION_LINE) if node.children else (_fill(node), _border(node))
    base = box.y + 4
    text = [f"<g><title>{escape(_tooltip(node))}</title>"]
    if box.answer:
        # A white outline keeps the answer readable on its line. It is so wide that it covers the
        # line between two words, too: in ≤ 1.4 that would be a minus.
        text.append(
            f'<text x="{box.x - 6:.1f}" y="{base:.1f}" text-anchor="end" fill="{INK}" '
            'stroke="#fff" stroke-width="9" stroke-linejoin="round" paint-order="stroke">'
            f"{escape(box.answer)}</text>"
        )
    text.append(
        f'<rect x="{box.x:.1f}" y="{box.y - box.height / 2:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.0f}" rx="{4 if node.children else 11}" fill="{fill}" '
        f'stroke="{line}"/>'
    )
    lines = box.title.split("\n")
    top = base - LINE_HEIGHT * (len(lines) - 1) / 2
    text += [
        f'<text x="{box.x + box.width / 2:.1f}" y="{top + LINE_HEIGHT * i:.1f}" '
        f'text-anchor="middle" font-weight="600" fill="{INK}">{escape(words)}</text>'
        for i, words in enumerate(lines)
    ]
    if box.note:
        text.append(
            f'<text x="{box.x + box.width + 8:.1f}" y="{base:.1f}" fill="{FAINT}">'
            f"{escape(box.note)}</text>"
        )
    return "".join([*text, "</g>"])


def _tooltip(node: TreeView) -> str:
    says = f"asks {node.question}" if node.children else f"predicts {node.label}"
    merged = f", {count(node.leaves, 'leaf')}" if node.leaves > 1 else ""
    return f"{node.condition}: {says} ({node.outcome}{merged})".removeprefix(": ")


def plot_tree(tree: TreeSource, *, ax: Axes | None = None, merge: bool = False) -> Figure:
    """Draw the tree with matplotlib.

    Parameters
    ----------
    tree, merge : as in :func:`export_text`
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default it is a new figure of fitting size, which ``pyplot`` does not
        manage.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> figure = treesweep.plot_tree(treesweep.solve(problem, lam="0.05"))
    >>> figure.savefig("tree.png")
    """
    from matplotlib.figure import Figure, SubFigure

    plan = layout(tree_view(tree, merge=merge))
    if ax is None:
        size = (plan.width / 72, plan.height / 72)
        ax = Figure(figsize=size, facecolor="white").add_axes((0, 0, 1, 1))
    ax.set_xlim(0, plan.width)
    ax.set_ylim(plan.height, 0)
    ax.set_axis_off()
    for box in plan.boxes:
        _plot_line(ax, box)
    for box in plan.boxes:
        _plot_box(ax, box)
    figure = ax.get_figure()
    while isinstance(figure, SubFigure):
        figure = figure.figure
    assert isinstance(figure, Figure)
    return figure


def _plot_line(ax: Axes, box: Box) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if box.line_from is None:
        return
    x, y = box.line_from
    middle, bend = x + BEND / 2, x + BEND
    points = [(x, y), (middle, y), (middle, box.y), (bend, box.y), (box.x, box.y)]
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
    ax.add_artist(PathPatch(Path(points, codes), fill=False, edgecolor=LINE, linewidth=1))


def _plot_box(ax: Axes, box: Box) -> None:
    from matplotlib.patches import FancyBboxPatch

    node = box.node
    round_by = 4 if node.children else BOX / 2 - 0.5
    ax.add_artist(
        FancyBboxPatch(
            (box.x, box.y - box.height / 2),
            box.width,
            box.height,
            boxstyle=f"round,pad=0,rounding_size={round_by}",
            facecolor=QUESTION_FILL if node.children else _fill(node),
            edgecolor=QUESTION_LINE if node.children else _border(node),
            linewidth=1,
        )
    )
    # Column names may hold a dollar sign: they are no formulas.
    style: dict[str, Any] = {"va": "center", "fontsize": 10, "color": INK, "parse_math": False}
    middle = box.x + box.width / 2
    ax.text(middle, box.y, box.title, ha="center", fontweight="bold", **style)
    if box.answer:
        white = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        ax.text(box.x - 6, box.y, box.answer, ha="right", bbox=white, **style)
    if box.note:
        ax.text(box.x + box.width + 8, box.y, box.note, ha="left", **{**style, "color": FAINT})
