"""Settings of Dask: those that a sweep needs, and those that a ``cluster.yaml`` may change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ALLOWED = (
    "distributed.admin.tick",
    "distributed.client.heartbeat",
    "distributed.client.scheduler-info-interval",
    "distributed.comm.compression",
    "distributed.comm.offload",
    "distributed.comm.retry",
    "distributed.comm.shard",
    "distributed.comm.socket-backlog",
    "distributed.comm.timeouts",
    "distributed.deploy.lost-worker-timeout",
    "distributed.scheduler.allowed-failures",
    "distributed.scheduler.events-cleanup-delay",
    "distributed.scheduler.idle-timeout",
    "distributed.scheduler.worker-saturation",
    "distributed.scheduler.worker-ttl",
    "distributed.worker.connections",
    "distributed.worker.lifetime",
    "distributed.worker.memory",
    "distributed.worker.profile",
    "temporary-directory",
)
"""The settings of Dask that ``dask:`` may hold. Others name code to import or commands to run."""

NEEDED: Mapping[str, Any] = {
    "distributed.scheduler.worker-saturation": 1.0,
    # A task whose worker dies comes back at once; the engine decides what becomes of it.
    "distributed.scheduler.allowed-failures": 0,
    # Tasks are long and their data small: a worker that is nearly full should not pause but end.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 0.95,
    "distributed.worker.profile.enabled": False,
    # The scheduler keeps so many of its last messages to each worker, whole bundles of cells.
    "distributed.admin.low-level-log-length": 20,
    # A busy worker, or one of a machine that slept, is well: it is not ended for its heartbeats.
    "distributed.scheduler.worker-ttl": None,
    # When a worker that its nanny has not replaced may be replaced by the cluster.
    "distributed.deploy.lost-worker-timeout": "20s",
}
"""What a sweep needs, wherever its scheduler and workers are."""


def is_allowed(name: str) -> bool:
    """Whether a ``cluster.yaml`` may hold the setting of this full name."""
    return any(name == known or name.startswith(known + ".") for known in ALLOWED)


def flatten(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested settings by their full names, as ``distributed.comm.timeouts.connect``."""
    for name, value in settings.items():
        full = f"{prefix}{name}".replace("_", "-")
        if isinstance(value, Mapping):
            yield from flatten(value, full + ".")
        else:
            yield full, value


def nest(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of :func:`flatten`: what a configuration file of Dask holds."""
    nested: dict[str, Any] = {}
    for name, value in settings.items():
        inner = nested
        *path, last = name.split(".")
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested
