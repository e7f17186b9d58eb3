"""Where a sweep runs: the models of ``cluster.yaml``, and opening what they describe."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import dask
from distributed import Client, LocalCluster, Security
from pydantic import Field, field_validator, model_validator

from solver.errors import InputError
from sweep.spec import read_bytes
from sweep.worker import LocalWorker
from sweep.yamlfile import Strict, problem, read_yaml, unknown, validate

LATER = ("ssh", "slurm", "kubernetes")

_ALLOWED = (
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

_SETTINGS: dict[str, Any] = {
    "distributed.scheduler.worker-saturation": 1.0,
    # A task whose worker dies comes back at once; the engine decides what becomes of it.
    "distributed.scheduler.allowed-failures": 0,
    # Tasks are long and their data small: a worker that is nearly full should not pause but end.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 0.95,
    "distributed.worker.profile.enabled": False,
    # When a worker that its nanny has not replaced may be replaced by the cluster.
    "distributed.deploy.lost-worker-timeout": "20s",
}


class _Cluster(Strict):
    """What all kinds have."""

    worker_timeout: float = Field(default=300.0, gt=0)
    dask: dict[str, Any] = Field(default_factory=dict)

    @field_validator("dask")
    @classmethod
    def _only_settings(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name, setting in _flatten(value):
            if not any(name == known or name.startswith(known + ".") for known in _ALLOWED):
                raise unknown(name, _ALLOWED, "setting of Dask")
            if isinstance(setting, (list, dict)):
                raise problem(f"the setting {name!r} must be a single value")
        return value

    def settings(self) -> dict[str, Any]:
        """Settings of Dask by their full names."""
        return dict(_flatten(self.dask))


class Local(_Cluster):
    """Worker processes on this machine, reachable from this machine only."""

    kind: Literal["local"] = "local"
    workers: int | None = Field(default=None, ge=1, le=4096)
    memory_limit: int | None = None

    @field_validator("memory_limit", mode="before")
    @classmethod
    def _bytes(cls, value: Any) -> Any:
        return None if value == "auto" else read_bytes(value)


class Certificates(Strict):
    """Paths of the files that a ``tls://`` scheduler asks for."""

    ca_file: str
    cert: str
    key: str

    @field_validator("ca_file", "cert", "key")
    @classmethod
    def _is_there(cls, value: str) -> str:
        if not Path(value).is_file():
            raise problem(f"there is no file {value!r}")
        return value


class Address(_Cluster):
    """A scheduler that runs already."""

    kind: Literal["address"]
    address: str
    security: Certificates | None = None
    insecure: bool = False
    connect_timeout: float = Field(default=10.0, gt=0)

    @model_validator(mode="after")
    def _is_safe(self) -> Address:
        scheme, _, rest = self.address.partition("://")
        if scheme not in ("tcp", "tls") or ":" not in rest:
            raise problem("write tls://HOST:PORT or tcp://HOST:PORT", "address")
        if scheme == "tls" and self.security is None:
            raise problem(
                "tls:// needs the certificates: security: {ca_file: …, cert: …, key: …}", "address"
            )
        if scheme == "tcp" and not self.insecure:
            raise problem(
                "tcp:// is not encrypted, and whoever reaches the port can run code; use tls://, "
                "or write 'insecure: true' if the network is yours alone",
                "address",
            )
        return self


_MODELS: dict[str, type[Local] | type[Address]] = {"local": Local, "address": Address}


def load_cluster(path: str | Path) -> Local | Address:
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
    if not isinstance(kind, str) or kind not in _MODELS:
        kinds = " or ".join(f"'kind: {name}'" for name in _MODELS)
        what = "is not there yet in this version" if kind in LATER else "is no kind of cluster"
        missing = f"the key 'kind' is missing; write {kinds}"
        message = missing if kind is None else f"{kind!r} {what}; write {kinds}"
        raise file.error(("kind",), message)
    return validate(_MODELS[kind], file)


@contextmanager
def open_cluster(config: Local | Address | None = None) -> Iterator[Client]:
    """Start or reach a cluster; it is left, or closed if it was started here, at the end.

    Parameters
    ----------
    config : Local or Address, optional
        By default a worker a core of this machine.

    Raises
    ------
    InputError
        If the scheduler cannot be reached.
    """
    config = config or Local()
    with ExitStack() as stack:
        stack.enter_context(dask.config.set({**_SETTINGS, **config.settings()}))
        stack.enter_context(_quiet())
        if isinstance(config, Local):
            yield _open_local(config, stack)
        else:
            yield _open_address(config, stack)


def _open_local(config: Local, stack: ExitStack) -> Client:
    cluster = stack.enter_context(
        LocalCluster(
            n_workers=config.workers or cores(),
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            # Not None: then the scheduler takes port 8787 and complains if it is not free.
            dashboard_address="127.0.0.1:0",
            memory_limit=config.memory_limit or "auto",
            silence_logs=logging.CRITICAL,
        )
    )
    client: Client = stack.enter_context(Client(cluster, set_as_default=False))
    client.register_plugin(LocalWorker())
    return client


def _open_address(config: Address, stack: ExitStack) -> Client:
    security = None
    if config.security is not None:
        paths = config.security
        security = Security(
            require_encryption=True,
            tls_ca_file=paths.ca_file,
            tls_client_cert=paths.cert,
            tls_client_key=paths.key,
        )
    try:
        client: Client = Client(
            config.address,
            timeout=config.connect_timeout,
            security=security,
            set_as_default=False,
        )
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        why = " ".join(str(error).split())[:120]
        raise InputError(
            f"cannot reach a Dask scheduler at {config.address} within "
            f"{config.connect_timeout:g} s; is it running, and is the address right? ({why})"
        ) from None
    stack.enter_context(client)
    return client


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


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _flatten(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        full = f"{prefix}{name}".replace("_", "-")
        if isinstance(value, Mapping):
            yield from _flatten(value, full + ".")
        else:
            yield full, value
