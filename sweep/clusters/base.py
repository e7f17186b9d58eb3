"""The base class of all kinds of clusters: the only methods that the engine calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

from distributed import Client
from pydantic import Field, field_validator

from solver.errors import InputError
from sweep.clusters.dask_settings import ALLOWED, NEEDED, flatten, is_allowed
from sweep.spec.python_spec import FromPython
from sweep.spec.yaml_reader import problem, unknown


class Cluster(FromPython, ABC):
    """A place where sweeps run, as ``cluster.yaml`` describes it.

    The model is frozen and holds only what the file says. Whatever :meth:`open` starts belongs to
    the ``ExitStack`` that is passed to it.
    """

    kind: str  #: the kind of the cluster
    worker_timeout: float = Field(default=300.0, gt=0)
    """The sweep gives up if it has no worker for this many seconds."""
    dask: dict[str, Any] = Field(default_factory=dict)  #: settings of Dask, under Dask's own names

    is_here: ClassVar[bool] = False
    """Whether all workers run on this machine, which the driver has already warmed up."""

    @property
    def most_workers(self) -> int:
        """The largest number of workers, if the cluster grows and shrinks with the work; otherwise
        0."""
        return 0

    @abstractmethod
    def open(self, stack: ExitStack) -> Client:
        """Start or reach the cluster. The stack ends what was started.

        Dask's settings are already in place in this process. Workers may connect after the return.
        Raises InputError if it cannot be started or reached.
        """

    @abstractmethod
    def dry_run(self) -> str:
        """Show what :meth:`open` would start: commands, hosts, scripts. No secret is shown."""

    def reach(self) -> None:
        """Check whatever can be checked without starting anything.

        Raises InputError if the cluster could not be opened.
        """

    def maintain(self, client: Client, workers: int, tasks: int) -> list[str]:
        """Replace lost workers, if nothing else does. The driver calls this every few seconds.

        ``workers`` are connected; ``tasks`` are left, including running ones. Returns messages for
        the user. Raises InputError if no worker can be started.
        """
        return []

    def dashboard(self, client: Client) -> str | None:
        """The address of Dask's dashboard; None if there is none, or if bokeh is not installed.

        It shows without a password what runs, so only this machine can open it.
        """
        try:
            version("bokeh")
        except PackageNotFoundError:
            return None
        port = client.scheduler_info(n_workers=0).get("services", {}).get("dashboard")
        return None if port is None else f"http://127.0.0.1:{port}/status"

    def settings(self) -> dict[str, Any]:
        """All settings of Dask by full name: those that a sweep needs, then those of the file."""
        return {**NEEDED, **dict(flatten(self.dask))}

    @field_validator("dask")
    @classmethod
    def _only_settings(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name, setting in flatten(value):
            if not is_allowed(name):
                raise unknown(name, ALLOWED, "setting of Dask")
            if isinstance(setting, (list, dict)):
                raise problem(f"the setting {name!r} must be a single value")
        return value


_ASK = 20
"""How often the scheduler is asked for its workers before it counts as one that does not answer."""


def connected_workers(client: Client) -> dict[str, dict[str, Any]] | None:
    """What the scheduler says of each worker, by address; None if it does not answer.

    Every 2 s the client itself asks the scheduler for everything but the workers. If this answer
    comes between ours and its reading, there seem to be none. So the number of workers is compared.
    """
    for _ in range(_ASK):
        told = client.scheduler_info(n_workers=-1)
        workers: dict[str, dict[str, Any]] | None = told.get("workers")
        if workers is None or len(workers) == told["n_workers"]:
            return workers
    return None


@contextmanager
def needs(package: str, extra: str) -> Iterator[None]:
    """Wrap the import of a package that only one kind of cluster needs.

    Raises InputError if the package is not installed. The message has the command that installs it.
    """
    try:
        yield
    except ImportError:
        raise InputError(
            f"this kind of cluster needs {package}; run: pip install 'treesweep[{extra}]'"
        ) from None
