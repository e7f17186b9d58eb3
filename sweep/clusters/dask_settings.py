"""Dask's settings: those that a sweep needs, and those that a ``cluster.yaml`` may change."""

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
"""The settings that ``dask:`` may change. Others can name code to import or commands to run."""

NEEDED: Mapping[str, Any] = {
    # A worker has the batch that it is at, and the scheduler the others, whatever they depend on.
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.rootish-taskgroup": 10**9,
    "distributed.scheduler.rootish-taskgroup-dependencies": 10**9,
    # Of few batches the scheduler sends all to the worker that has their data. The others take them
    # from there, and look for them once in this time.
    "distributed.scheduler.work-stealing-interval": "100ms",
    # A task whose worker dies fails at once. The engine decides whether to run it again.
    "distributed.scheduler.allowed-failures": 0,
    # Tasks are long and their data small: a worker that is nearly full must end, not pause.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 0.95,
    "distributed.worker.profile.enabled": False,
    # The scheduler logs this many messages to each worker; each may hold a whole batch.
    "distributed.admin.low-level-log-length": 20,
    # A search that hangs and holds the interpreter's lock sends no heartbeats. Busy workers do.
    "distributed.scheduler.worker-ttl": "5 minutes",
    # The cluster replaces a worker whose nanny has not done so within this time.
    "distributed.deploy.lost-worker-timeout": "20s",
}
"""The settings that a sweep needs on any cluster."""


def is_allowed(name: str) -> bool:
    """Whether a ``cluster.yaml`` may hold the setting of this full name."""
    return any(name == known or name.startswith(known + ".") for known in ALLOWED)


def flatten(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Flatten nested settings to full names such as ``distributed.comm.timeouts.connect``."""
    for name, value in settings.items():
        full = f"{prefix}{name}".replace("_", "-")
        if isinstance(value, Mapping):
            yield from flatten(value, full + ".")
        else:
            yield full, value


def nest(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of :func:`flatten`, as a configuration file of Dask is written."""
    nested: dict[str, Any] = {}
    for name, value in settings.items():
        inner = nested
        *path, last = name.split(".")
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested
