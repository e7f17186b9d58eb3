"""Colours and marks: the same solver looks the same everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

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
    """A colour for each solver, by its place in the sweep; the first ones are always the same.

    One that finds a path beside its runs at single λ has a darker tone of its colour there.
    """
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
            # Of more solvers than colours the later ones have darker tones of the same.
            tone = 0.72 ** (number // len(free))
            colours[solver] = _darker(free[number % len(free)], tone)
    return colours


def encoding_marks(encodings: Sequence[str]) -> dict[str, str]:
    """A mark for each encoding."""
    return {name: MARKS[i % len(MARKS)] for i, name in enumerate(encodings)}


def encoding_dashes(encodings: Sequence[str]) -> dict[str, Dash]:
    """A kind of line for each encoding."""
    return {name: DASHES[i % len(DASHES)] for i, name in enumerate(encodings)}
