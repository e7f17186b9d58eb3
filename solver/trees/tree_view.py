"""A tree as people read it: questions, answers and outcomes, laid out from left to right.

Text, DOT, SVG and matplotlib all draw this, so that they cannot differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from solver.errors import InputError
from solver.features.category_values import OUTCOME, show_column, show_value
from solver.features.node_tests import CategoryTest, NodeTest
from solver.features.number_format import measured, nouns, significant, telling, within
from solver.features.oblique_tests import SurfaceTest
from solver.trees.tree import Node, Tree


class HasTree(Protocol):
    """A solution, or a step of a λ-path."""

    @property
    def tree(self) -> Tree: ...


class FittedEstimator(Protocol):
    """A fitted scikit-learn estimator."""

    @property
    def tree_(self) -> Tree: ...


TreeSource: TypeAlias = Tree | HasTree | FittedEstimator
"""What a tree is shown of: the tree itself, or what holds one."""


@dataclass(frozen=True)
class TreeView:
    """A node of a tree in words.

    Parameters
    ----------
    condition : str
        What leads here from the parent, in full (``odor = almond``); empty at the root.
    answer : str
        The same without the column's name (``= almond``).
    question : str
        The column of the test, or the sum of several; empty at a leaf.
    label : str
        The predicted class, or the predicted numbers.
    label_index : int
        Its position among the tree's classes; in regression the rank of the leaf's prediction.
    weight : int
        Training weight that reaches the node.
    wrong : int or Fraction
        Misclassified part of it; in regression the squared error.
    leaves : int
        Leaves of the tree behind this outcome: more than 1 if merged, 0 at a split.
    children : tuple of TreeView
    outputs : int
        How many numbers regression predicts; 0 in classification.
    shade : float
        Regression with one output: position between the smallest leaf's number, 0, and the largest
        leaf's, 1.
    terms : tuple of str
        The terms of the question if it is a sum; a long one is broken between them.
    scale : Fraction or None
        Factor that made the given weights whole; None if rows are counted.
    error : Fraction
        By how much the given weight of these rows, or of the wrong ones, may differ for rounding.
    """

    condition: str
    answer: str
    question: str
    label: str
    label_index: int
    weight: int
    wrong: int | Fraction
    leaves: int
    children: tuple[TreeView, ...] = ()
    outputs: int = 0
    shade: float = 0.0
    terms: tuple[str, ...] = ()
    scale: Fraction | None = None
    error: Fraction = Fraction(0)

    @property
    def outcome(self) -> str:
        """The rows of a leaf, e.g. ``120 rows, 3 wrong``; with weights, in the given unit,
        ``weight 2.5, 0.5 wrong``. Rounded weights show no doubtful digit and no spread.

        In regression the standard deviation, ``120 rows, ± 3.2``; with several outputs the root of
        the mean squared error of all, ``RMSE 3.2``.
        """
        if not self.weight:
            return "no rows"
        rows = f"{self.weight:,} {nouns(self.weight, 'row')}"
        if self.scale is not None:
            rows = f"weight {self._measured(self.weight)}"
        if not self.wrong or (self.outputs and self.error):
            return rows
        if self.outputs:
            spread = math.sqrt(self.wrong / (self.weight * self.outputs))
            return f"{rows}, {'±' if self.outputs == 1 else 'RMSE'} {significant(spread, 3)}"
        if self.scale is not None:
            return f"{rows}, {self._measured(self.wrong)} wrong"
        return f"{rows}, {self.wrong:,} wrong"

    def _measured(self, weight: int | Fraction) -> str:
        """A sum of weights in the unit in which they were given."""
        assert self.scale is not None
        given = Fraction(weight) / self.scale
        return within(given, self.error) if self.error else measured(given)


def tree_of(source: TreeSource) -> Tree:
    """The tree of a fitted estimator, a solution or a step of a path; a tree is its own.

    Raises
    ------
    InputError
        If there is no tree in it, e.g. in an estimator before ``fit``.
    """
    found: Any = source
    if not isinstance(source, Tree):
        found = getattr(source, "tree_", None) or getattr(source, "tree", None)
    if not isinstance(found, Tree):
        raise InputError(
            f"there is no tree in {type(source).__name__}",
            "give a tree, a solution or a fitted estimator",
        )
    return found


def tree_view(source: TreeSource, *, merge: bool = False) -> TreeView:
    """Put a tree in words.

    With ``merge``, leaves of one multiway split with the same class become one outcome.
    """
    tree = tree_of(source)
    foretell = _numbers(tree) if tree.outputs else _label(tree)
    scale = tree.weight_scale
    error = tree.weight_error * sum(tree.nodes[0].counts) / (scale or 1)

    def build(position: int, condition: str, answer: str) -> TreeView:
        node = tree.nodes[position]
        label, index, shade = foretell(node)
        parts = label, index, sum(node.counts), node.errors
        if node.feature is None:
            leaf = TreeView(condition, answer, "", *parts, 1, (), len(tree.outputs), shade)
            return replace(leaf, scale=scale, error=error)
        test = tree.tests[node.feature]
        children = tuple(
            build(child, *_branch(test, (branch,))) for branch, child in enumerate(node.children)
        )
        if merge and len(children) > 2:
            children = _merged(test, children)
        terms = _terms(test)
        question = " ".join(terms) or show_column(test.column)
        split = TreeView(
            condition, answer, question, *parts, 0, children, len(tree.outputs), shade, terms
        )
        return replace(split, scale=scale, error=error)

    return build(0, "", "")


_Foretell: TypeAlias = Callable[[Node], tuple[str, int, float]]
"""What a node predicts: in words, its place among all predictions, and its shade."""


def _label(tree: Tree) -> _Foretell:
    return lambda node: (show_value(tree.classes[node.prediction]), node.prediction, 0.0)


def _numbers(tree: Tree) -> _Foretell:
    """Predictions of regression, with enough digits to tell the leaves apart."""
    values = [node.value for node in tree.nodes if node.is_leaf]
    shows = [telling(column) for column in zip(*values, strict=True)]
    names = [show_column(name, (OUTCOME, ", ")) for name in tree.outputs]
    places = {value: place for place, value in enumerate(sorted(set(values)))}
    low, high = min(values)[0], max(values)[0]

    def foretell(node: Node) -> tuple[str, int, float]:
        texts = [show(number) for show, number in zip(shows, node.value, strict=True)]
        named = (f"{name} {text}" for name, text in zip(names, texts, strict=True))
        label = texts[0] if len(texts) == 1 else ", ".join(named)
        shade = (node.value[0] - low) / (high - low) if len(texts) == 1 and high > low else 0.0
        return label, places.get(node.value, -1), shade

    return foretell


_SIGNS = "≤", ">"


def _terms(test: NodeTest) -> tuple[str, ...]:
    return test.terms if isinstance(test, SurfaceTest) else ()


def in_short(test: NodeTest, branch: int, longest: int = 60) -> str:
    """The condition of a branch on one line: a sum is cut, with an ellipsis, where it is long."""
    if not isinstance(test, SurfaceTest):
        return test.describe(branch)
    return f"{shorten(' '.join(test.terms), longest)} {_branch(test, (branch,))[1]}"


def _branch(test: NodeTest, branches: tuple[int, ...]) -> tuple[str, str]:
    """The condition of some branches of a test: in full, and without the column."""
    if isinstance(test, CategoryTest) and len(branches) > 1:
        values = tuple(value for branch in branches for value in test.groups[branch])
        test, branches = replace(test, groups=(values,), rest=None), (0,)
    words = test.describe(branches[0])
    if isinstance(test, SurfaceTest):
        return words, words[words.rindex(_SIGNS[branches[0]]) :]
    return words, words.removeprefix(show_column(test.column)).strip()


def _merged(test: NodeTest, children: tuple[TreeView, ...]) -> tuple[TreeView, ...]:
    """Put leaves of the same class together, where the first of them stands."""
    alike: dict[int, list[int]] = {}
    for branch, child in enumerate(children):
        if not child.children:
            alike.setdefault(child.label_index, []).append(branch)
    result = []
    for branch, child in enumerate(children):
        group = [branch] if child.children else alike[child.label_index]
        if group[0] != branch:
            continue
        if len(group) > 1:
            condition, answer = _branch(test, tuple(group))
            child = replace(
                child,
                condition=condition,
                answer=answer,
                weight=sum(children[b].weight for b in group),
                wrong=sum(children[b].wrong for b in group),
                leaves=len(group),
            )
        result.append(child)
    return tuple(result)


def shorten(text: str, width: int) -> str:
    """The text, cut with an ellipsis where it is longer than ``width`` characters."""
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def fold_terms(terms: Sequence[str], width: int) -> list[str]:
    """A sum in lines of at most ``width`` characters: broken before a term, and within one that is
    longer before a factor; a name that is longer still has a longer line."""
    lines: list[str] = []
    for term in terms:
        if lines and len(lines[-1]) + 1 + len(term) <= width:
            lines[-1] += f" {term}"
            continue
        first, *factors = term.split("·")
        lines.append(first)
        for factor in factors:
            lines[-1] += "·"
            if len(lines[-1]) + len(factor) < width:
                lines[-1] += factor
            else:
                lines.append(factor)
    return lines


@dataclass(frozen=True)
class Box:
    """A node with its place on the page; lengths are pixels of a 12 px font, y grows downwards.

    ``title`` is written in the box, perhaps in several lines, ``note`` behind it and ``answer`` on
    the line from the parent. ``x`` is the left end, ``y`` the middle; ``line_from`` the right end
    of the parent's box, None at the root.
    """

    node: TreeView
    title: str
    note: str
    answer: str
    x: float
    y: float
    width: float
    height: float
    line_from: tuple[float, float] | None


@dataclass(frozen=True)
class Layout:
    """All boxes of a tree, the size of the picture, and how many rows of leaves it has."""

    boxes: tuple[Box, ...]
    width: float
    height: float
    rows: int


ROW, BOX, BEND, MARGIN, LETTER, BOLD = 30.0, 22.0, 26.0, 6.0, 6.9, 7.6
"""Height of a row and of a box, length of a line's bend, border, mean widths of letters."""

LINE_HEIGHT = 14.0
"""How much higher a box is for each further line of a sum."""

_WIDER = 8
"""Characters that a line of a sum may have more than a name."""

_MOST_LINES = 7
"""Lines of a sum in a box; the tooltips have the whole."""

_CENTRED = 14
"""Up to so many rows a split stands at the middle of its children; in larger trees at the first
of them, so that the root is at the top, where people begin to read."""


def _text_width(text: str, letter: float = LETTER) -> float:
    # Letters of East Asian scripts are about twice as wide.
    return sum(letter * (1.8 if ord(sign) > 0x2E80 else 1.0) for sign in text)


def layout(root: TreeView, *, longest: int = 32) -> Layout:
    """Give every node its place: depth from left to right, leaves from top to bottom.

    Names and answers are cut to ``longest`` characters.
    """
    levels: list[list[TreeView]] = []
    for depth, node in _walk(root):
        if depth == len(levels):
            levels.append([])
        levels[depth].append(node)
    lefts, x = [], MARGIN
    for level in levels:
        # A line takes: the bend, the answer written on it, and a little air.
        answers = max(_text_width(shorten(n.answer, longest)) for n in level)
        lefts.append(x + (BEND + answers + 12 if level[0] is not root else 0))
        x = lefts[-1] + max(_title_width(_title(n, longest)) for n in level)
    boxes: list[Box] = []
    most_lines = max(len(_title(node, longest)) for level in levels for node in level)
    # At the middle of its children a box has a row above and a row below for itself.
    leaves = sum(not node.children for level in levels for node in level)
    centred = leaves <= _CENTRED or most_lines > 1
    height = max(ROW, (BOX + LINE_HEIGHT * (most_lines - 1)) / 2 + 8)
    row = 0

    def place(node: TreeView, depth: int) -> int:
        nonlocal row
        position = len(boxes)
        boxes.append(Box(node, "", "", "", 0, 0, 0, 0, None))
        title = _title(node, longest)
        width = _title_width(title)
        if node.children:
            below = [place(child, depth + 1) for child in node.children]
            y = boxes[below[0]].y
            if centred:
                y = (y + boxes[below[-1]].y) / 2
        else:
            below, y = [], MARGIN + (row + 0.5) * height
            row += 1
        x = lefts[depth]
        boxes[position] = Box(
            node=node,
            title="\n".join(title),
            note="" if node.children else node.outcome,
            answer=shorten(node.answer, longest),
            x=x,
            y=y,
            width=width,
            height=BOX + LINE_HEIGHT * (len(title) - 1),
            line_from=None,
        )
        for child in below:
            boxes[child] = replace(boxes[child], line_from=(x + width, y))
        return position

    place(root, 0)
    right = max(b.x + b.width + (_text_width(b.note) + 10 if b.note else 0) for b in boxes)
    return Layout(tuple(boxes), right + MARGIN, row * height + 2 * MARGIN, row)


def _title(node: TreeView, longest: int) -> list[str]:
    """The lines of a box."""
    if not node.terms:
        return [shorten(node.question or node.label, longest)]
    width = longest + _WIDER
    lines = [shorten(line, width) for line in fold_terms(node.terms, width)]
    return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], "…"]


def _title_width(lines: Sequence[str]) -> float:
    return max(_text_width(line, BOLD) for line in lines) + 18


def _walk(node: TreeView, depth: int = 0) -> Iterator[tuple[int, TreeView]]:
    yield depth, node
    for child in node.children:
        yield from _walk(child, depth + 1)
