"""Reading ``cluster.yaml``, and opening what it describes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import dask
from distributed import Client

from sweep.clusters.address import Address
from sweep.clusters.base import Cluster
from sweep.clusters.kubernetes import Kubernetes
from sweep.clusters.local import Local
from sweep.clusters.slurm import Slurm
from sweep.clusters.ssh import Ssh
from sweep.spec.yaml_reader import read_yaml, validate

KINDS: Mapping[str, type[Cluster]] = {
    "local": Local,
    "address": Address,
    "ssh": Ssh,
    "slurm": Slurm,
    "kubernetes": Kubernetes,
}
"""The model of each kind of cluster."""


def load_cluster(path: str | Path) -> Cluster:
    """Read ``cluster.yaml``.

    Raises
    ------
    InputError
        Naming file, line and key, and what is allowed there.
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
    """Start or reach a cluster; it is left, or closed if it was started here, at the end.

    Parameters
    ----------
    config : Cluster, optional
        By default a worker a core of this machine.

    Raises
    ------
    InputError
        If it cannot be started or reached.
    """
    config = config or Local()
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(config.settings()))
        stack.enter_context(_quiet())
        yield config.open(stack)


def reach_cluster(config: Cluster) -> None:
    """Try what can be tried without starting anything.

    Raises
    ------
    InputError
        If the cluster could not be opened.
    """
    with dask.config.set(config.settings()), _quiet():
        config.reach()


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's own log out of the sweep's; what matters of it is reported by the engine."""
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
