"""Small charts as plain SVG, without matplotlib, for reports with hundreds of paths.

Matplotlib takes a third of a second and a hundred kilobytes a chart. These take a millisecond and a
few kilobytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.report.analysis.lambda_paths import LambdaPath
from pipelines.report.charts.style import (
    CHOSEN,
    FAINT,
    GRID,
    INK,
    TEST,
    Dash,
    LambdaAxis,
    log_ticks,
)
from pipelines.report.data import metrics
from pipelines.report.data.group_statistics import Floats

_WIDTH, _HEIGHT = 310, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 22, 30
_LINE = 16
_LETTER = 6.5  # wide
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
    error: Floats | None = None  # the standard error of each value


@dataclass(frozen=True)
class Panel:
    """A small chart over λ, or over what ``over`` says."""

    title: str
    lines: list[Line]
    percent: bool = False  # whether the values are shares
    marks: list[float] = field(default_factory=list)  # λ to mark
    over: str = "λ, price of a split"
    log: bool = False  # of values above 0: whether the vertical axis is logarithmic

    def unnamed(self) -> Panel:
        """The panel without names, so that its picture has no legend."""
        lines = [line._replace(name="") for line in self.lines]
        return replace(self, lines=lines)


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
    axes = {
        over: LambdaAxis([x for p in panels if p.over == over for one in p.lines for x in one.lams])
        for over in {panel.over for panel in panels}
    }
    legend = legend_of(panels)
    height = _HEIGHT + _LINE * -(-len(legend) // 3) + (4 if legend else 0)
    width = _WIDTH * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(label, quote=True)}" font-family="sans-serif" font-size="10" '
        f'fill="{FAINT}">'
    ]
    for i, panel in enumerate(panels):
        parts.append(
            f'<g transform="translate({i * _WIDTH} 0)">{_panel(panel, axes[panel.over])}</g>'
        )
    for i, (name, colour, dash) in enumerate(legend):
        x, y = _LEFT + (i % 3) * (width - _LEFT) // 3, _HEIGHT + 6 + _LINE * (i // 3)
        parts.append(
            f'<path d="M{x} {y}h22" stroke="{colour}" stroke-width="2"{dash_attribute(dash)}/>'
            f'<text x="{x + 28}" y="{y + 3}" fill="{INK}">{escape(name)}</text>'
        )
    return "".join([*parts, "</svg>"])


def legend_of(panels: Sequence[Panel]) -> list[tuple[str, str, Dash]]:
    """The name, colour and dashes of each named line."""
    lines = [line for panel in panels for line in panel.lines if line.name]
    found = [(line.name, line.colour, line.dash) for line in lines]
    if any(line.open is not None and line.open.any() for line in lines):
        found.append(("circles, bar below: not all proven optimal", "#D9822B", "solid"))
    return list(dict.fromkeys(found))


def dash_attribute(dash: Dash) -> str:
    """The dashes as an attribute of SVG; empty for a solid line."""
    return "" if isinstance(dash, str) else f' stroke-dasharray="{" ".join(map(str, dash[1]))}"'


def _panel(panel: Panel, axis: LambdaAxis) -> str:
    values = np.concatenate([v for line in panel.lines for v in _reach(line)])
    values = _heights(values[np.isfinite(values)], panel.log)
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    ticks = _log_ticks(low, high) if panel.log else _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    if _is_flat(low, high):  # its line is in the middle
        low, high = low - 1, high + 1
    left, right, base = _LEFT, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    reach = axis.place([float(lam) for line in panel.lines for lam in line.lams])
    start, stop = float(reach.min()), float(reach.max())

    def across(lams: Floats) -> Floats:
        places = axis.place(lams.tolist())
        return np.asarray(left + (places - start) / max(stop - start, 1e-12) * (right - left))

    def up(numbers: Floats) -> Floats:
        heights = _heights(numbers, panel.log)
        return np.asarray(base - (heights - low) / max(high - low, 1e-12) * (base - _TOP))

    parts = [
        f'<text x="{left}" y="12" fill="{INK}" font-weight="bold">{escape(panel.title)}</text>'
    ]
    for tick in ticks:
        value = 10.0**tick if panel.log else tick
        y = float(up(np.array([value]))[0])
        text = f"{100 * value:.10g} %" if panel.percent else f"{value:.10g}"
        parts.append(
            f'<path d="M{left} {y:.1f}H{right}" stroke="{GRID}"/>'
            f'<text x="{left - 4}" y="{y + 3:.1f}" text-anchor="end">{text}</text>'
        )
    for tick, text in axis.ticks():
        x = left + (tick - start) / max(stop - start, 1e-12) * (right - left)
        if left - 1 <= x <= right + 1:
            x = min(x, _WIDTH - _LETTER * len(text) / 2)  # all of it is in the picture
            parts.append(f'<text x="{x:.1f}" y="{base + 13}" text-anchor="middle">{text}</text>')
    parts.append(f'<text x="{right}" y="{base + 25}" text-anchor="end">{escape(panel.over)}</text>')
    for lam in panel.marks:
        x = float(across(np.array([lam]))[0])
        parts.append(f'<path d="M{x:.1f} {_TOP}V{base}" stroke="{CHOSEN}"/>')
    parts += [_line(line, across, up, base) for line in panel.lines]
    return "".join(parts)


def _reach(line: Line) -> list[Floats]:
    """The values of a line, with the ends of their errors."""
    if line.error is None:
        return [line.values]
    error = np.nan_to_num(line.error)
    return [line.values - error, line.values + error]


def _heights(values: Floats, log: bool) -> Floats:
    return np.asarray(np.log10(values)) if log else values


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
        f"{dash_attribute(line.dash)}/>"
    ]
    is_open = np.zeros(len(lams), bool) if line.open is None else line.open[known]
    if len(lams) <= MOST_MARKS:
        parts += [
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.2" stroke="{line.colour}" '
            f'fill="{"white" if hollow else line.colour}"/>'
            for a, b, hollow in zip(x, y, is_open, strict=True)
        ]
    if line.error is not None:
        reach = np.nan_to_num(line.error[known])
        low, high = up(values - reach), up(values + reach)
        bars = "".join(
            f"M{a:.1f} {b:.1f}V{c:.1f}"
            for a, b, c in zip(x[kept], low[kept], high[kept], strict=True)
        )
        parts.append(f'<path d="{bars}" stroke="{line.colour}" opacity="0.5"/>')
    for first, last in _stretches(is_open):
        a, b = sorted((float(x[first]), float(x[last])))
        parts.append(
            f'<path d="M{a - 1:.1f} {base + 1}H{b + 1:.1f}" stroke="#D9822B" stroke-width="3"/>'
        )
    return "".join(parts)


def _stretches(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The first and the last place of each run of chosen ones."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _is_flat(low: float, high: float) -> bool:
    """Whether the values between differ by rounding alone."""
    return high - low <= max(abs(low), abs(high), 1e-3) * 1e-9


def _log_ticks(low: float, high: float) -> list[float]:
    """The logarithms of about three round numbers within a range of logarithms, or around it."""
    ticks = log_ticks(low, high)
    ticks = ticks[:: max(len(ticks) // 3, 1)]
    if len(ticks) < 2:
        ticks = [tick for tick in _ticks(10.0**low, 10.0**high) if tick > 0]
    return [float(np.log10(tick)) for tick in ticks]


def _ticks(low: float, high: float) -> list[float]:
    """About three round numbers that cover a range; of one value this value."""
    if _is_flat(low, high):
        return [float(f"{high:.6g}")]
    span = high - low
    power = 10.0 ** np.floor(np.log10(span / 3))
    step = next(s * power for s in (1, 2, 2.5, 5, 10, 20) if span / (s * power) <= 3.5)
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return [round(float(i * step), 12) for i in range(int(first), int(last) + 1)]


def path_panels(path: LambdaPath, colour: str) -> list[Panel]:
    """A λ-path: objective and bound, quality, size."""
    table = as_points(path)
    lams = table["lam"].to_numpy(float)
    marks = [
        float(path.point(key)["lam"]) for key in (path.minimum, path.one_se) if key is not None
    ]

    def line(column: str, colour: str, name: str, dash: Dash = "solid") -> Line:
        return Line(lams, table[column].to_numpy(float), colour, name, dash)

    bound = [line("lower_bound", FAINT, "proven lower bound", (0, (2, 2)))]
    columns = metrics.quality_columns(table)
    # The error is that of the score, which in regression is not R².
    error = table["test_error"].to_numpy(float) if columns.percent else None
    name = f"held-out {columns.name}{' ± standard error' if columns.percent else ''}"
    tests = [line(columns.test, TEST, name, (0, (5, 2)))._replace(error=error)]
    return [
        Panel(
            "Objective (training)",
            [
                *(bound if table["lower_bound"].notna().any() else []),
                line("objective", colour, path.solver)._replace(open=unproven(table)),
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
    ]


def as_points(path: LambdaPath) -> pd.DataFrame:
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


def unproven(table: pd.DataFrame) -> NDArray[np.bool_] | None:
    """At which points not all runs are proven optimal; None for a heuristic."""
    if (table["heuristic"] == table["runs"]).all():
        return None
    return (table["optimal"] < table["runs"]).to_numpy(bool)
