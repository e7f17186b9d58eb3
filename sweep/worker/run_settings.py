"""What all tasks of one run know: its name and its limits of time and bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

BATCH_SECONDS = 0.5
"""What a batch of short cells should take: then what it costs to send it does not matter."""

LARGEST_STATE = 512 * 2**20
"""Larger state files are not kept: the driver, and whoever resumes, would wait for them."""


GRACE = 30.0
"""For solvers that are slow to notice that their time is over."""


@dataclass(frozen=True)
class Run:
    """What all tasks of one ``run`` or ``resume`` know.

    Parameters
    ----------
    name : str
        Unlike that of any other run; also the topic of the events that workers send.
    checkpoint_seconds : float
        How often a running search reports what it has.
    batch_seconds : float
        A batch of cells ends after this long and leaves the rest.
    largest_state : int
        Bytes of the file of a search's state, beyond which it is not kept.
    grace : float
        Seconds that a search may take beyond one and a half times its limit; then its worker is
        ended.
    fingerprint : dict
        See :func:`sweep.plan.software_versions.fingerprint`: workers with another one get no work.
        Empty to accept all.
    """

    name: str
    checkpoint_seconds: float = 30.0
    batch_seconds: float = BATCH_SECONDS
    largest_state: int = LARGEST_STATE
    grace: float = GRACE
    fingerprint: dict[str, str] = field(default_factory=dict)
