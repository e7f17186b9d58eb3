"""ConTree (Briţa, van der Linden, Demirović 2025)."""

from __future__ import annotations

import math
import time
from typing import Any, ClassVar

import numpy as np

from solver.base import Capabilities
from solver.external.base import ExternalSolver, version_of
from solver.external.job_messages import FINISHED, TIMED_OUT, Answer, Job, Splits


class Contree(ExternalSolver):
    """ConTree finds thresholds of numbers itself. It gets their ranks, which separate equally.

    It does not say whether it ended by its limit of time: what it found in less than that is
    claimed to be optimal.

    References
    ----------
    Briţa, van der Linden, Demirović (2025), Optimal Classification Trees for Continuous Feature
    Data Using Dynamic Programming with Branch-and-Bound.
    """

    name: ClassVar[str] = "contree"
    package: ClassVar[str] = "pycontree"
    module: ClassVar[str] = "pycontree"
    version: ClassVar[str] = version_of("pycontree")
    summary: ClassVar[str] = (
        "ConTree, the authors' C++ program, on numbers; its claims are unproven"
    )
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"continuous"}),
        limits=frozenset({"depth"}),
        needs=frozenset({"depth"}),
        proves=False,
        greatest_depth=20,
    )

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the base class."""
        pycontree = cls.load()

        seconds = 10.0**7 if job.limits.seconds is None else job.limits.seconds
        model = pycontree.ConTree(
            max_depth=job.limits.depth,
            complexity_cost=min(1.0, float(job.lam)),  # from 1 on no split pays
            time_limit=seconds,
        )
        began = time.perf_counter()
        model.fit(job.codes.astype(np.float64), job.labels)
        in_time = time.perf_counter() - began < seconds
        return Answer(
            tree=_read(model.get_tree()),
            status=FINISHED if in_time else TIMED_OUT,
            optimal=in_time,
        )


def _read(node: Any) -> Splits:
    if node.is_leaf_node():
        return -1
    cut = math.floor(node.get_split_threshold())
    return [int(node.get_split_feature()), cut, _read(node.get_left()), _read(node.get_right())]
