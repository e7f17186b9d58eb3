"""What notebooks show of trees, solutions and λ-paths: HTML without scripts, styles or links."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from html import escape

from solver.features.number_format import at_least, count, ends_within, share, significant
from solver.notebook_display import to_html
from solver.path.path import Path, Step
from solver.solution import Solution, Status
from solver.trees.export import export_svg
from solver.trees.tree import Tree

_MOST_BOXES = 200
"""Larger trees are told, not drawn."""

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 520, 190, 60, 40
_LINE, _FAINT, _OPEN = "#0072B2", "#8A93A0", "#D55E00"


@to_html.register
def _show_tree(tree: Tree) -> str:
    if len(tree.nodes) > _MOST_BOXES:
        return f"<p>{_size(tree)}. treesweep.export_text shows all of it.</p>"
    return f'<div style="overflow-x:auto;background:#fff">{export_svg(tree)}</div>'


def _size(tree: Tree) -> str:
    return f"A tree of {count(tree.splits, 'split')}, depth {tree.depth}"


@to_html.register
def _show_solution(solution: Solution) -> str:
    return _table([], _figures(solution)) + _show_tree(solution.tree)


def _figures(solution: Solution) -> list[list[str]]:
    objective = significant(float(solution.objective), 6)
    rows = [
        ["objective", f"{objective} = {_exact(solution.objective)}"],
        ["proof", _proof(solution)],
    ]
    if solution.tree.outputs:
        r2 = solution.r2
        rows.append(["R²", "not defined" if r2 is None else share(r2)])
        rows.append(["RMSE", significant(solution.rmse)])
    else:
        rows.append(["training accuracy", share(solution.accuracy)])
    rows.append(["tree", f"{count(solution.splits, 'split')}, depth {solution.depth}"])
    rows.append(["search", f"{solution.solver}, {solution.seconds:.3g} s"])
    return rows


def _exact(number: Fraction) -> str:
    text = str(number)
    return text if len(text) <= 30 else "a fraction of many digits"


def _proof(solution: Solution) -> str:
    if solution.status is Status.OPTIMAL:
        off = f" by more than {at_least(solution.tolerance, 2)}" if solution.tolerance else ""
        return f"optimal: no tree within the limits has a smaller objective{off}"
    ended = solution.status.replace("_", " ")
    if solution.gap is None:
        return f"{ended}: nothing is proven"
    return f"open ({ended}): the objective is at most {at_least(solution.gap, 4)} above the optimum"


@to_html.register
def _show_path(path: Path) -> str:
    names = ["λ from", "to", "splits", "training loss", "proven"]
    rows = [
        [
            *_ends(step),
            str(step.splits),
            significant(float(Fraction(step.errors) / path.total_weight)),
            "yes" if step.proven else "no",
        ]
        for step in path.steps
    ]
    return _staircase(path) + _table(names, rows)


def _ends(step: Step) -> tuple[str, str]:
    """The first and last λ of a step, rounded into its interval."""
    if step.end is None:
        return at_least(step.start, 4), "∞"
    return ends_within(step.start, step.end, 4)


def _staircase(path: Path) -> str:
    """The loss of the best tree at each λ: a line that rises where trees get smaller."""
    if len(path.steps) < 2:
        return ""
    starts = [float(step.start) for step in path.steps]
    least = starts[0] if starts[0] > 0 else starts[1] / 10
    most = starts[-1] * 1.6
    losses = [float(loss) for loss in path.losses]
    highest = max(losses) or 1.0

    def x(lam: float) -> float:
        part = math.log(max(lam, least) / least) / math.log(most / least)
        return _LEFT + part * (_WIDTH - _LEFT - 10)

    def y(loss: float) -> float:
        return 10 + (1 - loss / highest) * (_HEIGHT - _BOTTOM - 10)

    parts = [_step_line(step, x(starts[i]), x(_end(step, most)), y(losses[i]))
             for i, step in enumerate(path.steps)]  # fmt: skip
    for i in range(1, len(starts)):
        parts.append(_line(x(starts[i]), y(losses[i - 1]), x(starts[i]), y(losses[i]), _FAINT))
    base = _HEIGHT - _BOTTOM
    parts.append(_line(_LEFT, base, _WIDTH - 10, base, _FAINT))
    parts += [
        _text(_LEFT - 6, y(0), "0", "end"),
        _text(_LEFT - 6, y(highest), significant(highest, 3), "end"),
        _text(x(least), base + 16, significant(least, 3), "start"),
        _text(x(starts[-1]), base + 16, significant(starts[-1], 3), "middle"),
        _text((_LEFT + _WIDTH) / 2, _HEIGHT - 6, "λ, the price of a split", "middle"),
        _text(_LEFT + 4, 10, "training loss", "start"),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        'style="background:#fff" font-family="system-ui, Helvetica, Arial, sans-serif" '
        'font-size="11"><title>The training loss of the best tree at each λ</title>'
        + "".join(parts)
        + "</svg>"
    )


def _end(step: Step, most: float) -> float:
    return most if step.end is None else float(step.end)


def _step_line(step: Step, left: float, right: float, y: float) -> str:
    told = f"{count(step.splits, 'split')}, {'proven' if step.proven else 'not proven'}"
    line = _line(left, y, right, y, _LINE if step.proven else _OPEN, 2.5)
    return f"<g><title>{escape(told)}</title>{line}</g>"


def _line(x: float, y: float, to_x: float, to_y: float, colour: str, width: float = 1) -> str:
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{colour}" '
        f'stroke-width="{width}"/>'
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" dominant-baseline="middle" '
        f'fill="#1F2733">{escape(text)}</text>'
    )


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{body}</table>"
