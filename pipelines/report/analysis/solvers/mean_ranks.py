"""Mean ranks of solvers over datasets, and which of them differ by more than chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import chdtrc

from pipelines.report.analysis.solvers.outcomes import (
    Instance,
    Problems,
    shifted_mean,
    solvers_of,
    solving,
)
from pipelines.report.data.columnar_tables import Floats

FEWEST_DATASETS = 5
"""Fewer datasets are no sample."""

LEVEL = 0.05

_STUDENTIZED = (
    1.960, 2.344, 2.569, 2.728, 2.850, 2.948, 3.031, 3.102, 3.164, 3.219, 3.268, 3.313, 3.354,
    3.391, 3.426, 3.458, 3.489, 3.517, 3.544,
)  # fmt: skip
"""Quantiles of the studentized range at :data:`LEVEL` by √2, from two solvers on; to compute them
takes seconds."""


@dataclass(frozen=True)
class MeanRanks:
    """Solvers ranked on each dataset, 1 for the best, ties in the middle.

    ``ranks`` has the means, best first; ``p`` is that of Friedman's test, whether any differ at
    all; two solvers whose means differ by less than ``difference`` (Nemenyi's) are not told apart.
    """

    kind: str
    measure: str
    datasets: int
    ranks: dict[str, float]
    p: float
    difference: float

    @property
    def alike(self) -> list[tuple[str, str]]:
        """First and last of each largest group of solvers that are not told apart."""
        names, means = [*self.ranks], [*self.ranks.values()]
        found: list[tuple[int, int]] = []
        for first, mean in enumerate(means):
            last = max(i for i, other in enumerate(means) if other - mean <= self.difference)
            if last > first and not (found and found[-1][1] >= last):
                found.append((first, last))
        return [(names[first], names[last]) for first, last in found]


def mean_ranks(problems: Problems) -> list[MeanRanks]:
    """The mean ranks for each kind of features, by search time (of solvers that ever solve a
    problem), by objective, and by accuracy on held-out rows.

    On each dataset a solver has one figure: its mean over the problems that were given to all
    solvers. There are none with fewer than :data:`FEWEST_DATASETS` such datasets or two solvers.
    """
    return [ranks for kind, found in problems.items() for ranks in _of_kind(kind, found)]


def _of_kind(kind: str, found: Sequence[Sequence[Instance]]) -> Iterator[MeanRanks]:
    for measure, (chosen, figure) in _MEASURES.items():
        solvers = chosen(found)
        by_dataset: dict[str, list[dict[str, Instance]]] = {}
        for one in found:
            own = {i.solver: i for i in reversed(one) if i.solver in solvers}
            if len(own) == len(solvers):
                by_dataset.setdefault(one[0].dataset, []).append(own)
        is_many = len(by_dataset) >= FEWEST_DATASETS
        if not (is_many and 2 <= len(solvers) <= len(_STUDENTIZED) + 1):
            continue
        table = np.array(
            [[figure([own[s] for own in runs]) for s in solvers] for runs in by_dataset.values()]
        )
        if not np.isnan(table).any():
            yield _compared(kind, measure, solvers, table)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


_Choose: TypeAlias = Callable[[Sequence[Sequence[Instance]]], list[str]]

_MEASURES: dict[str, tuple[_Choose, Callable[[Sequence[Instance]], float]]] = {
    "search time": (solving, lambda runs: shifted_mean(i.seconds for i in runs)),
    "objective": (solvers_of, lambda runs: _mean([i.excess for i in runs])),
    "held-out accuracy": (solvers_of, lambda runs: -_mean([i.test_accuracy for i in runs])),
}
"""The solvers that are ranked, and what is less for the better one."""


def _compared(kind: str, measure: str, solvers: Sequence[str], table: Floats) -> MeanRanks:
    ranks = np.array([_ranks(row) for row in table])
    means = ranks.mean(axis=0)
    n, k = table.shape
    ties = sum(float((counts**3 - counts).sum()) for counts in map(_tie_sizes, table))
    spread = 1 - ties / (n * k * (k * k - 1))
    statistic = 12 * n / (k * (k + 1)) * float(((means - (k + 1) / 2) ** 2).sum())
    p = float(chdtrc(k - 1, statistic / spread)) if spread > 0 else 1.0
    order = np.argsort(means, kind="stable")
    return MeanRanks(
        kind=kind,
        measure=measure,
        datasets=n,
        ranks={solvers[i]: float(means[i]) for i in order},
        p=p,
        difference=_STUDENTIZED[k - 2] * math.sqrt(k * (k + 1) / (6 * n)),
    )


def _ranks(values: Floats) -> Floats:
    """1 for the least value; equal ones share the mean of their places."""
    less = (values[:, None] > values).sum(axis=1)
    same = (values[:, None] == values).sum(axis=1)
    return np.asarray(less + (same + 1) / 2, dtype=float)


def _tie_sizes(values: Floats) -> Floats:
    return np.unique(values, return_counts=True)[1].astype(float)
