"""What every kind of cluster has, and what the engine may ask of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, ClassVar

from distributed import Client
from pydantic import Field, field_validator

from solver.errors import InputError
from sweep.clusters.dask_settings import ALLOWED, NEEDED, flatten, is_allowed
from sweep.spec.yaml_reader import Strict, problem, unknown


class Cluster(Strict, ABC):
    """A place where sweeps run, as ``cluster.yaml`` describes it.

    A model is what the file says and nothing more: it is frozen, and what is started from it
    belongs to the ``ExitStack`` that it was opened on.

    Parameters
    ----------
    kind : str
        Which kind of cluster; each has a model of its own.
    worker_timeout : float
        Seconds without any worker after which the sweep gives up.
    dask : dict
        Settings of Dask, by its own names.
    """

    kind: str
    worker_timeout: float = Field(default=300.0, gt=0)
    dask: dict[str, Any] = Field(default_factory=dict)

    is_here: ClassVar[bool] = False
    """Whether all workers are processes of this machine, which the driver has made ready."""

    @abstractmethod
    def open(self, stack: ExitStack) -> Client:
        """Start or reach the cluster; the stack ends what was started.

        The settings of Dask are in place on this side. Workers may come later than this returns.

        Raises
        ------
        InputError
            If it cannot be started or reached.
        """

    @abstractmethod
    def dry_run(self) -> str:
        """What :meth:`open` would start: commands, hosts, scripts. It holds no secret."""

    def reach(self) -> None:
        """Try what can be tried without starting anything.

        Raises
        ------
        InputError
            If the cluster could not be opened.
        """

    def keep(self, client: Client, workers: int, tasks: int) -> list[str]:
        """Replace lost workers, where that is this side's to do; called every few seconds.

        Parameters
        ----------
        client : Client
            What :meth:`open` gave.
        workers : int
            The workers that are there.
        tasks : int
            The tasks that are left, running ones among them.

        Returns
        -------
        list of str
            What the user should be told.

        Raises
        ------
        InputError
            If no worker can be started.
        """
        return []

    def settings(self) -> dict[str, Any]:
        """All settings of Dask by their full names: those of the sweep, and the file's."""
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


@contextmanager
def needs(package: str, extra: str) -> Iterator[None]:
    """Around an import of what only one kind of cluster needs.

    Raises
    ------
    InputError
        If it is not installed, with the command that installs it.
    """
    try:
        yield
    except ImportError:
        raise InputError(
            f"this kind of cluster needs {package}; run: pip install 'treesweep[{extra}]'"
        ) from None
