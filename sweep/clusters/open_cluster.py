"""Read ``cluster.yaml``; open, reach or check the cluster that it describes."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import dask
from distributed import Client

from solver.errors import InputError
from sweep.clusters.base import Cluster, connected_workers
from sweep.clusters.existing_scheduler import Address
from sweep.clusters.local import Local
from sweep.clusters.slurm_config import Slurm
from sweep.clusters.ssh_config import Ssh
from sweep.clusters.worker_admission import cannot_run
from sweep.plan.software_versions import difference, fingerprint
from sweep.spec.yaml_reader import read_yaml, validate

KINDS: Mapping[str, type[Cluster]] = {
    "local": Local,
    "address": Address,
    "ssh": Ssh,
    "slurm": Slurm,
}
"""The model of each kind of cluster."""


_SETTLE_SECONDS = 3.0
_POLL = 0.2


@dataclass(frozen=True)
class CheckedHost:
    """A machine of a cluster, as :func:`check_cluster` found it."""

    host: str
    workers: int  # connected workers
    memory: int  # bytes that they may use in total
    differs: str | None  # what has another version there than here


def load_cluster(path: str | Path) -> Cluster:
    r"""Read ``cluster.yaml``.

    Raises
    ------
    InputError
        If the file cannot be read, or something in it is wrong. The message names the file, the
        line, the key and the allowed values.

    Examples
    --------
    >>> import pathlib
    >>> import treesweep
    >>> _ = pathlib.Path("cluster.yaml").write_text("kind: local\nworkers: 2\n")
    >>> treesweep.load_cluster("cluster.yaml").workers
    2
    """
    file = read_yaml(path)
    if not isinstance(file.data, dict):
        raise file.error((), "expected 'key: value' lines, the first of them 'kind: local'")
    kind = file.data.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        kinds = " or ".join(f"'kind: {name}'" for name in KINDS)
        what = "the key 'kind' is missing" if kind is None else f"{kind!r} is no kind of cluster"
        raise file.error(("kind",), f"{what}; write {kinds}")
    return validate(KINDS[kind], file)


@contextmanager
def open_cluster(config: Cluster | None = None) -> Iterator[Client]:
    """Start or reach a cluster. At the end disconnect, and close what was started here.

    Raises InputError if it cannot be started or reached.

    Parameters
    ----------
    config : Cluster, optional
        By default this machine, with one worker for each core.
    """
    config = config or Local()
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(config.settings()))
        stack.enter_context(_quiet())
        yield config.open(stack)


def reach_cluster(config: Cluster) -> None:
    """Check whatever can be checked without starting anything.

    Raises InputError if the cluster could not be opened.
    """
    with dask.config.set(config.settings()), _quiet():
        config.reach()


def check_cluster(config: Cluster) -> list[CheckedHost]:
    """Open a cluster, list its workers by machine, and close it.

    Returns machines with at least one worker. The list is complete when no worker has connected for
    3 seconds. Raises InputError if the cluster cannot be opened, has no workers, or a worker cannot
    run treesweep.
    """
    with open_cluster(config) as client:
        deadline = time.monotonic() + config.worker_timeout
        last, since = 0, time.monotonic()
        work = client.submit(fingerprint, pure=False)  # where workers come with the work
        while not last or time.monotonic() - since < _SETTLE_SECONDS:
            now = len(connected_workers(client) or {})
            if now != last:
                last, since = now, time.monotonic()
            if time.monotonic() > deadline:
                raise InputError(f"no worker has come within {config.worker_timeout:g} s")
            config.maintain(client, now, 1)
            time.sleep(_POLL)
        work.release()
        workers = connected_workers(client) or {}
        names = sorted({worker["host"] for worker in workers.values()})
        found = []
        for host in names:
            there = {a: w for a, w in workers.items() if w["host"] == host}
            first = min(there)
            try:
                versions = client.run(fingerprint, workers=[first])[first]
            except Exception as error:
                raise InputError(cannot_run(first, error)) from None
            memory = sum(worker["memory_limit"] for worker in there.values())
            found.append(CheckedHost(host, len(there), memory, difference(versions)))
        return found


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's own log. The engine reports what matters."""
    known = [name for name in logging.root.manager.loggerDict if name.startswith("distributed.")]
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado.application", *known)]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
