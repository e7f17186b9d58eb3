"""Mean ranks of solvers over datasets, and which of them differ by more than chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import chdtrc

from pipelines.report.analysis.solvers.solver_comparison import (
    Instance,
    Problems,
    charged,
    first_of,
    shifted_mean,
    solvers_of,
    solving,
)
from pipelines.report.data.group_statistics import Floats

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


def _of_kind(kind: str, found: _Found) -> Iterator[MeanRanks]:
    for measure, (chosen, figure) in _MEASURES.items():
        solvers = chosen(found)
        by_dataset: dict[str, list[Sequence[Instance]]] = {}
        for one in found:
            if {*solvers} <= {i.solver for i in one}:
                by_dataset.setdefault(one[0].dataset, []).append(one)
        is_many = len(by_dataset) >= FEWEST_DATASETS
        if not (is_many and 2 <= len(solvers) <= len(_STUDENTIZED) + 1):
            continue
        table = np.array(
            [[figure(own, name, solvers) for name in solvers] for own in by_dataset.values()]
        )
        if not np.isnan(table).any():
            yield _compared(kind, measure, solvers, table)


_Found: TypeAlias = Sequence[Sequence[Instance]]


def _seconds(found: _Found, solver: str, solvers: Sequence[str]) -> float:
    return shifted_mean(charged(one, solver, solvers) for one in found)


def _excess(found: _Found, solver: str, _: Sequence[str]) -> float:
    own = [first_of(one, solver) for one in found]
    return _mean([i.excess / i.unit for i in own])


def _inaccuracy(found: _Found, solver: str, _: Sequence[str]) -> float:
    return -_mean([first_of(one, solver).test_accuracy for one in found])


def _mean(shares: Sequence[float]) -> float:
    """The mean, without the digits that rounding may change: equal means are a tie."""
    return round(math.fsum(shares) / len(shares), 12)


_MEASURES: dict[
    str, tuple[Callable[[_Found], list[str]], Callable[[_Found, str, Sequence[str]], float]]
] = {
    "search time": (solving, _seconds),
    "objective": (solvers_of, _excess),
    "held-out accuracy": (solvers_of, _inaccuracy),
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
