"""Colours, fonts and the λ axis of all charts. Matplotlib's global state is not touched."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    FuncFormatter,
    LogLocator,
    NullLocator,
)

from pipelines.report.data.group_statistics import Floats

# Okabe and Ito's colours, told apart by colour-blind people; the yellow is darkened for lines.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8A6D00", "#56B4E9", "#5B3A8C", "#444444",
)  # fmt: skip
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
Dash: TypeAlias = str | tuple[int, tuple[float, ...]]
DASHES: tuple[Dash, ...] = (
    "solid",
    (0, (5, 2)),
    (0, (1, 1.5)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)

INK, FAINT, GRID, TEST, CHOSEN = "#1F2733", "#5A6472", "#E3E7EC", "#2B2F36", "#7A2E8E"
PROVEN, OPEN, OPEN_LINE = "#E7F4EE", "#FFF7E8", "#F3DDB4"


def solver_colours(solvers: Sequence[str]) -> dict[str, str]:
    """A colour for each solver, by its place in the sweep; ``branches`` and ``cart`` always have
    the same. Paths of a solver that also has runs at single λ are darker."""
    plain = {name: name.replace(", path)", ")").removesuffix(" (path)") for name in solvers}
    colours = _colours(list(dict.fromkeys(plain.values())))
    return {
        name: colours[base] if base == name else _darker(colours[base])
        for name, base in plain.items()
    }


def _darker(colour: str, factor: float = 0.55) -> str:
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(factor * part):02X}" for part in parts)


def _colours(solvers: Sequence[str]) -> dict[str, str]:
    usual = {"branches": COLOURS[0], "cart": COLOURS[1]}
    free = [colour for colour in COLOURS if colour not in {usual.get(name) for name in solvers}]
    colours: dict[str, str] = {}
    for solver in solvers:
        if solver in usual:
            colours[solver] = usual[solver]
        else:
            number = len(colours) - sum(s in usual for s in colours)
            # With more solvers than colours, the later ones have darker tones.
            tone = 0.72 ** (number // len(free))
            colours[solver] = _darker(free[number % len(free)], tone)
    return colours


def encoding_dashes(encodings: Sequence[str]) -> dict[str, Dash]:
    """A kind of line for each encoding."""
    return {name: DASHES[i % len(DASHES)] for i, name in enumerate(encodings)}


_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "treesweep",
    "font.family": "sans-serif",
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": "#A9B1BC",
    "axes.labelcolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.4,
    "lines.markersize": 5,
    "figure.facecolor": "white",
}

_PLAIN = FuncFormatter(
    lambda value, _: f"{value:g}" if value < 1e6 else f"{value:.0e}".replace("e+0", "e")
)

PERCENT = FuncFormatter(lambda value, _: f"{100 * value:.10g} %")


@contextmanager
def style() -> Iterator[None]:
    """The report's style while charts are drawn."""
    # Names may have letters that the font lacks. Browsers use another font, a PNG shows boxes.
    fonts = logging.getLogger("matplotlib.font_manager")
    level = fonts.level
    with warnings.catch_warnings(), mpl.rc_context(_STYLE):
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        fonts.setLevel(logging.ERROR)
        try:
            yield
        finally:
            fonts.setLevel(level)


def new_figure(width: float, height: float, layout: LayoutEngine | None = None) -> Figure:
    """A figure of a size in inches, unknown to pyplot."""
    return Figure(figsize=(width, height), layout=layout or "constrained")


def legend_below(
    figure: Figure, handles: Sequence[Artist], labels: Sequence[str], columns: int, **look: Any
) -> None:
    """A legend below all charts, in at most so many columns, and no wider than the figure."""
    for number in range(min(columns, len(labels)), 0, -1):
        legend = figure.legend(
            handles=handles, labels=labels, loc="outside lower center", ncols=number, **look
        )
        if number == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def plain_decades(axis: Axis) -> None:
    """Label a logarithmic axis in plain numbers, also between powers of ten if there are few."""
    low, high = axis.get_view_interval()
    few = np.log10(high / low) < 2.5
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axis.set_major_formatter(_PLAIN)
    axis.set_minor_locator(NullLocator())  # they would take a quarter of the drawing


def log_if_wide(axes: Axes, values: Floats, factor: float = 8, room: float = 1.08) -> None:
    """Make the vertical axis logarithmic if positive values span more than a factor; otherwise it
    is linear from 0 to the largest value times ``room``."""
    positive = values[values > 0]
    if len(positive) and positive.max() / positive.min() > factor:
        axes.set_yscale("log")
        plain_decades(axes.yaxis)
    elif len(positive):
        axes.set_ylim(0, room * float(positive.max()))


class LambdaAxis:
    """The λ axis of a chart, given all its λ.

    It is logarithmic if λ spans more than a factor of 8, or with ``log``, which needs two λ above
    0. λ = 0 then has its own place at the left, behind a dotted line.
    """

    def __init__(self, lams: Sequence[float], *, log: bool = False) -> None:
        positive = sorted({lam for lam in lams if lam > 0})
        self.log = log or (len(positive) > 2 and positive[-1] / positive[0] > 8)
        self.has_zero = any(lam == 0 for lam in lams)
        self._positive = positive
        step = 0.15 * np.log10(positive[-1] / positive[0]) if self.log else 0.0
        self._zero = np.log10(positive[0]) - max(step, 0.25) if self.log else 0.0

    @property
    def high(self) -> float:
        """The largest λ."""
        return self._positive[-1]

    def place(self, lams: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Positions of λ."""
        if not self.log:
            return np.asarray(lams, dtype=float)
        return np.array([np.log10(lam) if lam > 0 else self._zero for lam in lams])

    def ticks(self) -> list[tuple[float, str]]:
        """Positions to name, with their names."""
        if not self.log:
            ends = [0.0] if self.has_zero else []
            ends += [self._positive[0], self._positive[-1]] if self._positive else []
            return [(lam, f"{lam:.4g}") for lam in dict.fromkeys(ends)]
        ticks = log_ticks(np.log10(self._positive[0]), np.log10(self._positive[-1]))
        zero = [(self._zero, "0")] if self.has_zero else []
        return [*zero, *((float(np.log10(tick)), f"{tick:g}") for tick in ticks)]

    def prepare(self, axes: Axes) -> None:
        """Set limits, ticks and the label of a chart's axis, small λ at the left."""
        axes.set_xlabel("λ, price of a split" + (" (log scale)" if self.log else ""))
        if not self.log:
            return
        low, high = np.log10(self._positive[0]), np.log10(self._positive[-1])
        places, names = zip(*self.ticks(), strict=True)
        if self.has_zero:
            axes.axvline((self._zero + low) / 2, color=FAINT, linestyle=":", linewidth=1)
        air = 0.04 * (high - low)
        axes.set_xlim((self._zero if self.has_zero else low) - air, high + air)
        axes.xaxis.set_major_locator(FixedLocator(places))
        axes.xaxis.set_major_formatter(FixedFormatter(names))
        axes.xaxis.set_minor_locator(NullLocator())


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two logarithms; more or fewer for a readable axis."""
    powers = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    found = []
    for steps in ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1,)):
        ticks = [s * 10.0**p for p in powers for s in steps]
        found.append([t for t in ticks if low - 1e-9 <= np.log10(t) <= high + 1e-9])
    fine, usual, powers_alone = found
    if len(usual) < 3:
        return fine
    return usual if len(usual) <= 9 else powers_alone
