"""What a report is made from, all worked out; and how much of it is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from pipelines.report.analysis.ablations import Ablations
from pipelines.report.analysis.paths import Path
from pipelines.report.analysis.recommendation_record import Answer
from pipelines.report.analysis.rule_families import FamilySet
from pipelines.report.analysis.scaling import Scaling
from pipelines.report.data.results import Results
from sweep.datasets.reference import DatasetRef

MOST_CHARTS = 60
"""A report of more charts is a large one: a page a dataset, small charts, few trees drawn."""

MOST_POINTS = 2000
"""A path of more λ has a small chart, in which points that share a pixel are one."""


@dataclass(frozen=True)
class Material:
    """All that was worked out, ready to be shown."""

    results: Results
    paths: list[Path]
    answers: list[Answer]
    excess: pd.DataFrame
    comparison: pd.DataFrame
    disagreements: pd.DataFrame
    published: pd.DataFrame | None
    references: dict[str, DatasetRef]
    ablations: Ablations
    scalings: list[Scaling]
    families: list[FamilySet]

    @property
    def is_large(self) -> bool:
        """Whether there is too much for one page of large charts."""
        return len(self.paths) + len(self.results.datasets) > MOST_CHARTS
