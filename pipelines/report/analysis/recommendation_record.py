"""What to take for a dataset, as the report says it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from pipelines.report.analysis.path_trees import PathTree
from pipelines.report.analysis.paths import Path
from pipelines.report.data import formats


@dataclass(frozen=True)
class Answer:
    """What to take for a dataset.

    Parameters
    ----------
    dataset : str
    headline : str
        One sentence.
    reasons : tuple of str
        Sentences.
    path : Path or None
        The path that was chosen; None where there is nothing to choose from.
    key : str or None
        Key of the chosen λ; None where training results alone cannot choose it.
    tree : PathTree or None
        The tree to look at.
    warnings : tuple of str
        What may change the answer.
    menu : bool
        Whether to show all trees of the path, as the choice is the reader's.
    """

    dataset: str
    headline: str
    reasons: tuple[str, ...] = ()
    path: Path | None = None
    key: str | None = None
    tree: PathTree | None = None
    warnings: tuple[str, ...] = field(default=())
    menu: bool = False

    @property
    def point(self) -> pd.Series[Any] | None:
        """The row of the chosen λ."""
        return None if self.path is None or self.key is None else self.path.point(self.key)


def lam_words(point: pd.Series[Any]) -> str:
    """``λ = 0.05``, ``any λ from 0.01 to 0.02``, ``any λ of 0.25 or more``."""
    text = str(point["lam_text"])
    if point["lam_start_exact"] is None:
        return f"λ = {text}"
    return f"any λ {'from' if point['lam_end_exact'] else 'of'} {text}"


def splits_words(point: pd.Series[Any]) -> str:
    """The mean number of splits."""
    return formats.mean_plural(point["splits"], "split")


def leaves_words(point: pd.Series[Any]) -> str:
    return formats.mean_plural(point["leaves"], "leaf")
