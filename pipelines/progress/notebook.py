"""The progress of a sweep in a notebook: a bar in the cell's output."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any, Self

from pipelines.progress.display import Display, describe, describe_outcome
from sweep.events import Outcome, Progress


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


class NotebookDisplay(Display):
    """A bar that is redrawn in place; messages are printed below it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

        self._handle: Any = None

    def __enter__(self) -> Self:
        display = import_module("IPython.display").display
        self._handle = display(Bar(0.0, f"{self._name}: starting"), display_id=True)
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def progress(self, progress: Progress) -> None:
        """Show the newest figures."""
        self._show(progress.done / max(1, progress.total), ", ".join(describe(progress)))

    def ended(self, outcome: Outcome) -> None:
        """Show how the run ended."""
        left = outcome.total - outcome.answered - outcome.ran
        self._show(1 - left / max(1, outcome.total), describe_outcome(outcome))

    def note(self, text: str) -> None:
        """Print a line."""
        print(f"{self._name}: {text}")

    def _show(self, share: float, words: str) -> None:
        self._handle.update(Bar(share, f"{self._name}: {words}"))
