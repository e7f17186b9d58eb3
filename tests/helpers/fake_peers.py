"""External solvers that misbehave, for the tests of what becomes of them."""

from __future__ import annotations

from typing import ClassVar

from solver.base import Capabilities
from solver.external.base import ExternalSolver
from solver.external.child_process import Outcome, run
from solver.external.job_messages import FINISHED, Answer, Job
from solver.monitor import Monitor
from tests.helpers import child_sides


class FakePeer(ExternalSolver):
    """Splits on the first feature, and says that nothing is better."""

    name: ClassVar[str] = "fake"
    package: ClassVar[str] = "json"
    module: ClassVar[str] = "json"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "one split"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary"}), limits=frozenset({"depth"}), proves=False
    )

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the class."""
        return Answer([0, -1, -1], FINISHED, optimal=True, objective=0.125, lower_bound=0.125)


class _Misbehaving(FakePeer):
    """A solver whose ``fit`` is that of the class of its name in ``child_sides``."""

    def ask(self, job: Job, monitor: Monitor) -> Outcome:
        """Run a job in a child."""
        return run(child_sides.__name__, type(self).__name__, job, monitor.stop)


class Endless(_Misbehaving):
    """Ignores its limit of time."""

    name: ClassVar[str] = "endless"


class Leaking(_Misbehaving):
    """Takes 10 GB."""

    name: ClassVar[str] = "leaking"


class Segfault(_Misbehaving):
    """Dies in C."""

    name: ClassVar[str] = "segfault"


class Raising(_Misbehaving):
    """Raises, after it has printed a lot."""

    name: ClassVar[str] = "raising"


class Chatty(_Misbehaving):
    """Prints a lot, and answers well."""

    name: ClassVar[str] = "chatty"


class Nonsense(_Misbehaving):
    """Answers with what is no tree."""

    name: ClassVar[str] = "nonsense"


class TooDeep(_Misbehaving):
    """Ignores its limit of depth."""

    name: ClassVar[str] = "too-deep"


ALL = (FakePeer, Endless, Leaking, Segfault, Raising, Chatty, Nonsense, TooDeep)
