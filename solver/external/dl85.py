"""DL8.5 (Aglin, Nijssen, Schaus 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from solver.base import Capabilities
from solver.external.base import ExternalSolver, version_of
from solver.external.job_messages import FINISHED, TIMED_OUT, Answer, Job, Splits
from solver.options import Option


class Dl85(ExternalSolver):
    """DL8.5 has no λ: it looks for the fewest errors within a depth.

    So it claims an optimum at λ = 0 only. With another λ its tree is priced as any other.

    References
    ----------
    Aglin, Nijssen, Schaus (2020), Learning Optimal Decision Trees Using Caching Branch-and-Bound
    Search.
    """

    name: ClassVar[str] = "dl85"
    package: ClassVar[str] = "pydl8.5"
    module: ClassVar[str] = "pydl85"
    version: ClassVar[str] = version_of("pydl8.5")
    summary: ClassVar[str] = "DL8.5, the authors' C++ program, without λ; its claims are unproven"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary"}),
        limits=frozenset({"depth", "min_leaf_size"}),
        needs=frozenset({"depth"}),
        proves=False,
    )

    options: ClassVar[Mapping[str, Option]] = {
        "depth_two": Option(
            True, "use its special algorithm for depth 2, as it does by default", kind=bool
        )
    }

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the base class."""
        pydl85 = cls.load()

        model = pydl85.DL85Classifier(
            max_depth=job.limits.depth,
            min_sup=job.least_rows,
            time_limit=job.whole_seconds or 0,
            depth_two_special_algo=job.options["depth_two"],
        )
        model.fit(job.codes, job.labels)
        if not getattr(model, "base_tree_", None):
            return Answer(-1, TIMED_OUT if model.timeout_ else FINISHED)
        return Answer(
            tree=_read(model.base_tree_),
            status=TIMED_OUT if model.timeout_ else FINISHED,
            optimal=not model.timeout_ and job.lam == 0,
            seconds=float(model.runtime_),
        )


def _read(node: dict[str, Any]) -> Splits:
    if "feat" not in node:
        return -1
    # Its left child takes the rows whose feature is 1.
    return [int(node["feat"]), _read(node["right"]), _read(node["left"])]
