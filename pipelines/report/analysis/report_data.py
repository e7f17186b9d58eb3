"""All data of a report, and the limits on what is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from pipelines.report.analysis.ablations import Ablations
from pipelines.report.analysis.good_trees import GoodTrees
from pipelines.report.analysis.lambda_paths import LambdaPath
from pipelines.report.analysis.rankings import rank
from pipelines.report.analysis.recommendations import Recommendation
from pipelines.report.analysis.rule_families import FamilySet
from pipelines.report.analysis.scaling import Scaling
from pipelines.report.analysis.solvers.anytime import Curve
from pipelines.report.analysis.solvers.mean_ranks import MeanRanks
from pipelines.report.analysis.solvers.solver_comparison import Outcomes
from pipelines.report.data.results import Results
from sweep.datasets.dataset_reference import DatasetRef

MOST_CHARTS = 60
"""A report of more charts is large: it has a page for each dataset, small charts and few trees."""

MOST_POINTS = 2000
"""A path of more λ has a small chart, in which points of one pixel are joined."""


@dataclass(frozen=True)
class ReportData:
    """All that a report shows."""

    results: Results
    paths: list[LambdaPath]
    recommendations: list[Recommendation]
    excess: pd.DataFrame
    comparison: pd.DataFrame
    disagreements: pd.DataFrame
    outcomes: Outcomes
    curves: list[Curve]
    ranks: list[MeanRanks]
    published: pd.DataFrame | None
    references: dict[str, DatasetRef]
    ablations: Ablations
    scalings: list[Scaling]
    families: list[FamilySet]
    good_trees: list[GoodTrees]

    @cached_property
    def ranking(self) -> pd.DataFrame:
        """The figures of each encoding and solver, see :func:`rank`."""
        return rank(self.results, self.excess, ["encoding_label", "solver_label"])

    @cached_property
    def ranking_by_dataset(self) -> pd.DataFrame:
        """The same for each dataset."""
        return rank(self.results, self.excess, ["dataset", "encoding_label", "solver_label"])

    @property
    def is_large(self) -> bool:
        """Whether there is too much for one page of large charts."""
        return len(self.paths) + len(self.results.datasets) > MOST_CHARTS
