"""Small charts drawn without matplotlib, for reports with hundreds of paths.

Matplotlib takes a third of a second and a hundred kilobytes a chart. These take a millisecond and a
few kilobytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.report.analysis.lambda_paths import LambdaPath
from pipelines.report.charts.style import CHOSEN, FAINT, GRID, INK, TEST, Dash, LambdaAxis
from pipelines.report.data import metrics
from pipelines.report.data.columns import Floats

_WIDTH, _HEIGHT = 310, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 22, 30
_LINE = 16
_Scale: TypeAlias = Callable[[Floats], Floats]
MOST_MARKS = 60
"""The points of a line are marked if there are at most this many."""


class Line(NamedTuple):
    """A line of a panel."""

    lams: Floats
    values: Floats
    colour: str
    name: str = ""
    dash: Dash = "solid"
    open: NDArray[np.bool_] | None = None  # which points lack a proof; None for a heuristic


@dataclass(frozen=True)
class Panel:
    """A small chart over λ."""

    title: str
    lines: list[Line]
    percent: bool = False  # whether the values are shares
    marks: list[float] = field(default_factory=list)  # λ to mark


def thin(places: Floats, values: Floats, columns: int = _WIDTH) -> NDArray[np.int64]:
    """Which points to draw, given in order: the first, last, lowest and highest of each column of
    pixels. The line through these covers the same pixels as the line through all points."""
    if len(places) <= 4 * columns:
        return np.arange(len(places))
    low, high = float(places.min()), float(places.max())
    column = ((places - low) / max(high - low, 1e-300) * (columns - 1)).astype(np.int64)
    number = np.arange(len(places))
    kept = [
        order[np.concatenate([[True], np.diff(column[order]) != 0])]
        for order in (
            np.lexsort((number, column)),
            np.lexsort((-number, column)),
            np.lexsort((values, column)),
            np.lexsort((-values, column)),
        )
    ]
    return np.unique(np.concatenate(kept))


def small_chart(panels: Sequence[Panel], label: str) -> str:
    """The panels side by side, with one legend, as an SVG file."""
    lams = np.concatenate([line.lams for panel in panels for line in panel.lines])
    axis = LambdaAxis(lams.tolist())
    legend = _legend(panels)
    height = _HEIGHT + _LINE * -(-len(legend) // 3) + (4 if legend else 0)
    width = _WIDTH * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(label, quote=True)}" font-family="sans-serif" font-size="10" '
        f'fill="{FAINT}">'
    ]
    for i, panel in enumerate(panels):
        parts.append(f'<g transform="translate({i * _WIDTH} 0)">{_panel(panel, axis)}</g>')
    for i, (name, colour, dash) in enumerate(legend):
        x, y = _LEFT + (i % 3) * (width - _LEFT) // 3, _HEIGHT + 6 + _LINE * (i // 3)
        parts.append(
            f'<path d="M{x} {y}h22" stroke="{colour}" stroke-width="2"{_dashes(dash)}/>'
            f'<text x="{x + 28}" y="{y + 3}" fill="{INK}">{escape(name)}</text>'
        )
    return "".join([*parts, "</svg>"])


def _legend(panels: Sequence[Panel]) -> list[tuple[str, str, Dash]]:
    lines = [line for panel in panels for line in panel.lines if line.name]
    found = [(line.name, line.colour, line.dash) for line in lines]
    if any(line.open is not None and line.open.any() for line in lines):
        found.append(("circles, bar below: not all proven optimal", "#D9822B", "solid"))
    return list(dict.fromkeys(found))


def _dashes(dash: Dash) -> str:
    return "" if isinstance(dash, str) else f' stroke-dasharray="{" ".join(map(str, dash[1]))}"'


def _panel(panel: Panel, axis: LambdaAxis) -> str:
    values = np.concatenate([line.values for line in panel.lines])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    left, right, base = _LEFT, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    reach = axis.place([float(lam) for line in panel.lines for lam in line.lams])
    start, stop = float(reach.min()), float(reach.max())

    def across(lams: Floats) -> Floats:
        places = axis.place(lams.tolist())
        return np.asarray(left + (places - start) / max(stop - start, 1e-12) * (right - left))

    def up(numbers: Floats) -> Floats:
        return np.asarray(base - (numbers - low) / max(high - low, 1e-12) * (base - _TOP))

    parts = [
        f'<text x="{left}" y="12" fill="{INK}" font-weight="bold">{escape(panel.title)}</text>'
    ]
    for tick in ticks:
        y = float(up(np.array([tick]))[0])
        text = f"{100 * tick:.3g} %" if panel.percent else f"{tick:g}"
        parts.append(
            f'<path d="M{left} {y:.1f}H{right}" stroke="{GRID}"/>'
            f'<text x="{left - 4}" y="{y + 3:.1f}" text-anchor="end">{text}</text>'
        )
    for tick, text in axis.ticks():
        x = left + (tick - start) / max(stop - start, 1e-12) * (right - left)
        if left - 1 <= x <= right + 1:
            parts.append(f'<text x="{x:.1f}" y="{base + 13}" text-anchor="middle">{text}</text>')
    parts.append(f'<text x="{right}" y="{base + 25}" text-anchor="end">λ, price of a split</text>')
    for lam in panel.marks:
        x = float(across(np.array([lam]))[0])
        parts.append(f'<path d="M{x:.1f} {_TOP}V{base}" stroke="{CHOSEN}"/>')
    parts += [_line(line, across, up, base) for line in panel.lines]
    return "".join(parts)


def _line(line: Line, across: _Scale, up: _Scale, base: int) -> str:
    known = np.isfinite(line.values)
    lams, values = line.lams[known], line.values[known]
    if not len(lams):
        return ""
    x, y = across(lams), up(values)
    kept = thin(x, y)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[kept], y[kept], strict=True))
    parts = [
        f'<polyline points="{points}" fill="none" stroke="{line.colour}" stroke-width="1.4"'
        f"{_dashes(line.dash)}/>"
    ]
    unproven = np.zeros(len(lams), bool) if line.open is None else line.open[known]
    if len(lams) <= MOST_MARKS:
        parts += [
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.2" stroke="{line.colour}" '
            f'fill="{"white" if hollow else line.colour}"/>'
            for a, b, hollow in zip(x, y, unproven, strict=True)
        ]
    for first, last in _stretches(unproven):
        a, b = sorted((float(x[first]), float(x[last])))
        parts.append(
            f'<path d="M{a - 1:.1f} {base + 1}H{b + 1:.1f}" stroke="#D9822B" stroke-width="3"/>'
        )
    return "".join(parts)


def _stretches(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The first and the last place of each run of chosen ones."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _ticks(low: float, high: float) -> list[float]:
    """About three round numbers that cover a range."""
    span = max(high - low, abs(high) * 1e-9, 1e-12)
    power = 10.0 ** np.floor(np.log10(span / 3))
    step = next(s * power for s in (1, 2, 2.5, 5, 10, 20) if span / (s * power) <= 3.5)
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return [round(float(i * step), 12) for i in range(int(first), int(last) + 1)]


def small_path_chart(path: LambdaPath, colour: str, label: str) -> str:
    """A small chart of a λ-path: objective and bound, quality, splits."""
    table = _as_points(path)
    lams = table["lam"].to_numpy(float)
    marks = [
        float(path.point(key)["lam"]) for key in (path.minimum, path.one_se) if key is not None
    ]
    unproven = _unproven(table)

    def line(column: str, colour: str, name: str, dash: Dash = "solid") -> Line:
        return Line(lams, table[column].to_numpy(float), colour, name, dash)

    bound = [line("lower_bound", FAINT, "proven lower bound", (0, (2, 2)))]
    columns = metrics.quality_columns(table)
    tests = [line(columns.test, TEST, f"held-out {columns.name}", (0, (5, 2)))]
    return small_chart(
        [
            Panel(
                "Objective (training)",
                [
                    *(bound if table["lower_bound"].notna().any() else []),
                    line("objective", colour, path.solver)._replace(open=unproven),
                ],
                marks=marks,
            ),
            Panel(
                columns.title,
                [
                    line(columns.train, colour, ""),
                    *(tests if table[columns.test].notna().any() else []),
                ],
                percent=columns.percent,
                marks=marks,
            ),
            Panel("Splits (mean)", [line("splits", colour, "")], marks=marks),
        ],
        label,
    )


def _as_points(path: LambdaPath) -> pd.DataFrame:
    """The points of a path's lines: on an exact path both ends of each interval."""
    table = path.table[path.table["runs"] > 0]
    if not path.exact_paths:
        return table
    last = 1.6 * float(table["lam"].max() or 1.0)
    ends = table.assign(lam=table["lam_end"].clip(upper=last))
    ends["objective"] += (ends["lam"] - table["lam"]) * table["splits"]
    ends["lower_bound"] = np.nan  # what is proven between the points is in the tables
    both = pd.concat([table, ends]).sort_index(kind="stable")
    return both.sort_values("lam", ascending=False, kind="stable")


def _unproven(table: pd.DataFrame) -> NDArray[np.bool_] | None:
    if (table["heuristic"] == table["runs"]).all():
        return None
    return (table["optimal"] < table["runs"]).to_numpy(bool)


def small_dataset_chart(
    paths: Sequence[LambdaPath], colours: dict[str, str], dashes: dict[str, Dash], label: str
) -> str:
    """A small chart of all encodings and solvers of a dataset."""
    tables = [_as_points(path) for path in paths]
    columns = metrics.quality_columns(tables[0])
    tested = any(table[columns.test].notna().any() for table in tables)

    def lines(column: str, named: bool) -> list[Line]:
        return [
            Line(
                table["lam"].to_numpy(float),
                table[column].to_numpy(float),
                colours[path.solver],
                f"{path.encoding}, {path.solver}" if named else "",
                dashes[path.encoding],
            )
            for path, table in zip(paths, tables, strict=True)
        ]

    accuracy = columns.test if tested else columns.train
    name = columns.name
    title = f"Held-out {name} (mean over folds)" if tested else f"Training {name}"
    panels = [
        Panel("Objective (training)", lines("objective", True)),
        Panel(title, lines(accuracy, False), percent=columns.percent),
        Panel("Splits (mean)", lines("splits", False)),
    ]
    return small_chart(panels, label)
