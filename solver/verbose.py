"""The progress of a search that a program calls: lines on stderr, a bar in a notebook."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from typing import Any

from solver.features.number_format import at_least, at_most, count
from solver.monitor import Monitor, Snapshot

_INTERVAL = 0.5


def is_notebook() -> bool:
    """Whether a Jupyter kernel runs this program."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


@dataclass(frozen=True)
class Bar:
    """A bar with words, as a notebook shows it."""

    share: float
    words: str

    def __repr__(self) -> str:
        return f"{self.share:.0%} {self.words}"

    def _repr_html_(self) -> str:
        return (
            f'<progress max="1" value="{self.share:.4f}" style="width:20em"></progress> '
            f"{self.share:.0%} {escape(self.words)}"
        )


class NotebookBar:
    """A bar in the output of a notebook's cell, redrawn in place."""

    def __init__(self, words: str) -> None:
        from IPython.display import display  # it is there, for a notebook runs

        self._handle: Any = display(Bar(0.0, words), display_id=True)

    def show(self, share: float, words: str) -> None:
        """Redraw it."""
        self._handle.update(Bar(share, words))


class Verbose:
    """Tells about a search: each better objective is a line, or the newest one is at the bar.

    The bar is the part of the first gap that is closed.
    """

    def __init__(self) -> None:
        self._bar = NotebookBar("searching") if is_notebook() else None
        self._best: tuple[Fraction | None, Fraction] | None = None
        self._first_gap: Fraction | None = None

    def monitor(self, given: Monitor | None) -> Monitor:
        """A monitor that also tells. It is called as often as the given one wants to be."""
        own = given or Monitor()
        tell = own.snapshot
        if tell is None:
            return replace(own, snapshot=self._follow, interval=_INTERVAL)

        def tell_both(snapshot: Snapshot) -> None:
            self._follow(snapshot)
            tell(snapshot)

        return replace(own, snapshot=tell_both)

    def ended(self, words: str) -> None:
        """Say how the search ended."""
        if self._bar is None:
            print(f"treesweep: {words}", file=sys.stderr, flush=True)
        else:
            self._bar.show(1.0, words)

    def _follow(self, snapshot: Snapshot) -> None:
        objective, bound = snapshot.objective, snapshot.lower_bound
        gap = objective - bound
        at = "" if snapshot.lam is None else f"λ = {float(snapshot.lam):.4g}, "
        words = (
            f"{at}objective {float(objective):.4g}, lower bound {at_most(bound, 4)}, gap "
            f"{at_least(gap, 3)}, {count(snapshot.tree.splits, 'split')}, {snapshot.seconds:.1f} s"
        )
        if self._bar is not None:
            self._first_gap = self._first_gap or gap
            self._bar.show(float(1 - gap / self._first_gap) if self._first_gap else 1.0, words)
        elif self._best is None or self._best[0] != snapshot.lam or objective < self._best[1]:
            print(f"treesweep: {words}", file=sys.stderr, flush=True)
        self._best = snapshot.lam, objective
