"""The progress of a sweep in a notebook: a bar in the cell's output."""

from __future__ import annotations

from typing import Self

from pipelines.progress.display import Display, describe, describe_outcome
from solver.verbose import NotebookBar
from sweep.events import Outcome, Progress


class NotebookDisplay(Display):
    """A bar that is redrawn in place; messages are printed below it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._bar = NotebookBar(f"{name}: starting")

    def __enter__(self) -> Self:
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
        self._bar.show(share, f"{self._name}: {words}")
