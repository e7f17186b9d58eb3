"""GOSDT (Lin et al. 2020; McTavish et al. 2022)."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from solver.base import Capabilities
from solver.external.base import ExternalSolver, version_of
from solver.external.job_messages import FINISHED, TIMED_OUT, Answer, Job, Splits


class Gosdt(ExternalSolver):
    """GOSDT prices leaves: its objective and its bound are ours + λ.

    Its bounds are in single precision. Its limit of time knows whole seconds.

    References
    ----------
    Lin, Zhong, Hu, Rudin, Seltzer (2020), Generalized and Scalable Optimal Sparse Decision Trees.
    """

    name: ClassVar[str] = "gosdt"
    package: ClassVar[str] = "gosdt"
    module: ClassVar[str] = "gosdt"
    version: ClassVar[str] = version_of("gosdt")
    summary: ClassVar[str] = "GOSDT, the authors' C++ program; its claims are unproven"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary"}), limits=frozenset({"depth"}), proves=False
    )

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the base class."""
        gosdt = cls.load()

        lam = float(job.lam)
        depth = job.limits.depth
        model = gosdt.GOSDTClassifier(
            regularization=lam,
            allow_small_reg=True,  # else it silently raises λ to 1/n
            time_limit=job.whole_seconds,
            depth_budget=depth,
        )
        model.fit(job.codes.astype(bool), job.labels)
        result = model.result_
        ended = {gosdt.Status.CONVERGED: FINISHED, gosdt.Status.TIMEOUT: TIMED_OUT}
        if result.status not in ended:
            raise RuntimeError(f"GOSDT ended with {result.status}")
        status = ended[result.status]
        tree = json.loads(result.model)[0]
        return Answer(
            tree=_read(tree),
            status=status,
            optimal=status == FINISHED,
            objective=float(result.model_loss) + lam * _count_splits(tree),
            lower_bound=max(0.0, float(result.lowerbound) - lam),
            seconds=float(result.time),
            iterations=int(result.n_iterations),
        )


def _read(node: dict[str, Any]) -> Splits:
    if "prediction" in node:
        return -1
    return [int(node["feature"]), _read(node["false"]), _read(node["true"])]


def _count_splits(node: dict[str, Any]) -> int:
    if "prediction" in node:
        return 0
    return 1 + _count_splits(node["false"]) + _count_splits(node["true"])
