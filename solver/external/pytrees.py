"""pytrees (Kiossou, Schaus, Nijssen): DL8.5, ConTree and LGDT in Rust."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from solver.base import Capabilities
from solver.external.base import ExternalSolver, version_of
from solver.external.job_messages import FINISHED, TIMED_OUT, Answer, Job, Splits

_FOREVER = 1e7


class _PyTrees(ExternalSolver):
    """The searches of pytrees have no λ: they look for the fewest errors within a depth."""

    package: ClassVar[str] = "pytrees-rs"
    module: ClassVar[str] = "pytrees"
    version: ClassVar[str] = version_of("pytrees-rs")
    classifier: ClassVar[str]
    ordered: ClassVar[bool] = False

    @classmethod
    def limited(cls, job: Job) -> dict[str, Any]:
        """The arguments that bound the search."""
        return {"max_time": _FOREVER if job.limits.seconds is None else job.limits.seconds}

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the base class."""
        pytrees = cls.load()

        model = getattr(pytrees, cls.classifier)(
            max_depth=job.limits.depth, min_sup=job.least_rows, **cls.limited(job)
        )
        try:
            model.fit(job.codes.astype(np.float64) if cls.ordered else job.codes, job.labels)
        except pytrees.TreeNotFoundError:
            return Answer(-1)
        status = getattr(model, "status_", None)  # LGDT, a heuristic, has none
        return Answer(
            tree=_read(model.tree_, cls.ordered),
            status=TIMED_OUT if status == "time_limit" else FINISHED,
            optimal=status == "optimal" and job.lam == 0,
        )


def _read(tree: Any, ordered: bool, node: int = 0) -> Splits:
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    if left < 0:
        return -1
    cut = [math.floor(tree.threshold[node])] if ordered else []
    feature = int(tree.feature[node])
    return [feature, *cut, _read(tree, ordered, left), _read(tree, ordered, right)]


def _capabilities(features: str) -> Capabilities:
    return Capabilities(
        features=frozenset({features}),
        limits=frozenset({"depth", "min_leaf_size"}),
        needs=frozenset({"depth"}),
        proves=False,
    )


class PyTreesDl85(_PyTrees):
    """DL8.5 in Rust; it claims an optimum at λ = 0 only."""

    name: ClassVar[str] = "pytrees-dl85"
    classifier: ClassVar[str] = "DL85Classifier"
    summary: ClassVar[str] = "DL8.5 in Rust (pytrees), without λ; its claims are unproven"
    capabilities: ClassVar[Capabilities] = _capabilities("binary")


class PyTreesContree(_PyTrees):
    """ConTree in Rust; it claims an optimum at λ = 0 only."""

    name: ClassVar[str] = "pytrees-contree"
    classifier: ClassVar[str] = "ConTreeClassifier"
    ordered: ClassVar[bool] = True
    summary: ClassVar[str] = "ConTree in Rust (pytrees), without λ; its claims are unproven"
    capabilities: ClassVar[Capabilities] = _capabilities("continuous")


class PyTreesLgdt(_PyTrees):
    """LGDT: a greedy tree that looks two levels ahead."""

    name: ClassVar[str] = "pytrees-lgdt"
    classifier: ClassVar[str] = "LGDTClassifier"
    summary: ClassVar[str] = "greedy with two levels of look-ahead in Rust (pytrees); no proof"
    capabilities: ClassVar[Capabilities] = _capabilities("binary")

    @classmethod
    def limited(cls, job: Job) -> dict[str, Any]:
        """It has no limit of time."""
        return {}
