"""Workers in jobs of a SLURM queue: the model, and the script of a job."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import yaml
from distributed import Client
from pydantic import Field, field_validator, model_validator

from solver.errors import InputError
from solver.features.number_format import count
from sweep.clusters.base import Cluster, needs
from sweep.clusters.dask_settings import nest
from sweep.clusters.tls import security_in
from sweep.clusters.validators import HostName, Memory, PythonPath, SafePath, Word
from sweep.clusters.worker_retirement import RETIRE_AT, RetireInTime
from sweep.spec.python_spec import FromPython
from sweep.spec.yaml_reader import problem, unknown

OPTIONS = (
    "begin", "clusters", "comment", "constraint", "cpu-freq", "deadline", "distribution",
    "exclude", "exclusive", "gres", "hint", "licenses", "mail-type", "mail-user", "nice",
    "nodelist", "oversubscribe", "power", "priority", "qos", "reservation", "switches", "tmp",
    "wckey",
)  # fmt: skip
"""The options of ``sbatch`` that a file may set. None of them runs a command or writes a file."""

_TIME = re.compile(r"(?:(\d+)-)?(?:(?:(\d+):)?(\d+):)?(\d+)")
_VALUE = re.compile(r"[A-Za-z0-9_.,:@/=+*%&|()\[\]-]*")
_LEAST_MARGIN, _MOST_MARGIN = 30.0, 300.0


class Jobs(FromPython):
    """The least and the largest number of jobs. Dask decides how many there are."""

    minimum: int = Field(default=0, ge=0, le=10_000)  #: jobs that are always there
    maximum: int = Field(ge=1, le=10_000)  #: most jobs, when there is enough work

    @model_validator(mode="after")
    def _in_order(self) -> Jobs:
        if self.minimum > self.maximum:
            raise problem("is more than the maximum", "minimum")
        return self


def read_walltime(text: str) -> int:
    """Convert a time of SLURM to seconds: ``MM``, ``MM:SS``, ``HH:MM:SS`` or ``D-HH:MM:SS``."""
    days, _, clock = text.rpartition("-")
    parts = [int(part) for part in clock.split(":")]
    if days:
        hours, minutes, seconds = [*parts, 0, 0][:3]
    elif len(parts) == 3:
        hours, minutes, seconds = parts
    else:
        hours, (minutes, seconds) = 0, [*parts, 0][:2]
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds


class Slurm(Cluster):
    """Workers in jobs of a SLURM queue. The scheduler is in this process.

    Examples
    --------
    >>> import treesweep
    >>> cluster = treesweep.Slurm(jobs=4, processes=8, memory="16GiB", walltime="02:00:00")
    >>> cluster.most_workers
    32
    """

    kind: Literal["slurm"] = "slurm"
    jobs: Jobs  #: number of jobs at a time; a job that ends is replaced while there is work
    processes: int = Field(default=1, ge=1, le=1024)  #: workers of a job, one core each
    memory: Memory  #: memory of a job, for all its workers together: bytes, or e.g. ``16GiB``
    walltime: str  #: wall time of a job: ``HH:MM:SS`` or ``D-HH:MM:SS``
    margin: float | None = Field(default=None, ge=1)
    """Workers stop and checkpoint their searches this many seconds before the wall time. By default
    a tenth of the wall time, but at least 30 seconds and at most 5 minutes."""
    queue: Word | None = None  #: the partition
    account: Word | None = None  #: the account that pays for the jobs
    options: dict[str, Any] = Field(default_factory=dict)  #: other options of ``sbatch``
    python: PythonPath | None = None  #: path of Python on the nodes; default: as on this machine
    shared_directory: SafePath = "~/.treesweep"
    """A folder that this machine and the nodes share, for certificates, settings and logs."""
    local_directory: SafePath | None = None  #: folder for temporary files of workers
    interface: Word | None = None  #: the network interface of scheduler and workers
    listen: HostName | None = None  #: address that the scheduler listens on; by default all

    @field_validator("jobs", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return {"maximum": value} if is_number else value

    @field_validator("memory")
    @classmethod
    def _is_given(cls, value: int | None) -> int | None:
        if value is None:
            raise problem("write how much memory a job asks for, e.g. 8GiB")
        return value

    @field_validator("walltime", mode="before")
    @classmethod
    def _is_time(cls, value: Any) -> Any:
        text = str(value)
        if not _TIME.fullmatch(text) or read_walltime(text) < 60:
            raise problem(f"{text!r} is no time of a minute or more; write e.g. 02:00:00")
        return text

    @field_validator("options", mode="before")
    @classmethod
    def _only_options(cls, value: Any) -> Any:
        for name, setting in value.items() if isinstance(value, dict) else ():
            if name not in OPTIONS:
                raise unknown(name, OPTIONS, "option of sbatch", name)
            if not isinstance(setting, (str, int, bool)) or not _VALUE.fullmatch(str(setting)):
                raise problem(f"{setting!r} has characters that no option of sbatch needs", name)
        return value

    @model_validator(mode="after")
    def _has_time_left(self) -> Slurm:
        if 2 * self.notice >= self.seconds:
            raise problem("is more than half of the wall time", "margin")
        return self

    @property
    def seconds(self) -> int:
        """The wall time in seconds."""
        return read_walltime(self.walltime)

    @property
    def notice(self) -> float:
        """The margin in seconds."""
        if self.margin is not None:
            return self.margin
        return min(max(self.seconds / 10, _LEAST_MARGIN), _MOST_MARGIN, self.seconds / 3)

    @property
    def most_workers(self) -> int:
        """The largest number of workers."""
        return self.jobs.maximum * self.processes

    @property
    def directory(self) -> Path:
        """The absolute path of the shared directory."""
        return Path(self.shared_directory).expanduser().absolute()

    def job_options(self, folder: Path) -> dict[str, Any]:
        """The arguments of ``dask_jobqueue.SLURMCluster`` for a job; ``folder`` is that of the run.

        They override all defaults of its configuration files except the SLURM commands.
        """
        stay = self.seconds - self.notice
        worker = [
            f"--lifetime {self.seconds - self.notice / 3:.0f}s",
            f"--lifetime-stagger {self.notice / 6:.0f}s",
            "--dashboard-address 127.0.0.1:0",
        ]
        return {
            "queue": self.queue,
            "account": self.account,
            "walltime": self.walltime,
            "cores": self.processes,
            "processes": self.processes,
            "memory": f"{self.memory}B",
            "job_name": "treesweep",
            "python": self.python or shlex.quote(sys.executable),
            "interface": self.interface,
            "death_timeout": 120,
            "local_directory": self.local_directory,
            "log_directory": str(folder / "logs"),
            "worker_command": "distributed.cli.dask_worker",
            "worker_extra_args": worker,
            "shebang": "#!/usr/bin/env bash",
            "job_script_prologue": [
                f"export DASK_CONFIG={shlex.quote(str(folder / 'dask.yaml'))}",
                f"export {RETIRE_AT}=$(( $(date +%s) + {stay:.0f} ))",
            ],
            "job_extra_directives": [_directive(*item) for item in self.options.items()],
            "job_directives_skip": [],
            "nanny": True,
        }

    def open(self, stack: ExitStack) -> Client:
        """Start the scheduler, and submit the first jobs."""
        self._check()
        from sweep.clusters.slurm_cluster import JobsCluster, brief

        folder = self._make_folder()
        stack.callback(_tidy, folder)
        security = security_in(folder / "keys")
        (folder / "dask.yaml").write_text(yaml.safe_dump(nest(self.settings())))
        options = self.job_options(folder)
        try:
            cluster = stack.enter_context(JobsCluster(self.seconds, security, self.listen, options))
        except (RuntimeError, OSError, ValueError) as error:
            raise InputError(f"the scheduler did not start: {brief(error)}") from None
        try:
            cluster.sync(cluster.submit, max(1, self.jobs.minimum))
        except (RuntimeError, OSError, ValueError) as error:
            raise InputError(f"SLURM takes no job: {brief(error)}") from None
        cluster.follow_work(self.jobs.minimum, self.jobs.maximum)
        client: Client = stack.enter_context(Client(cluster, set_as_default=False))
        client.register_plugin(RetireInTime(self.notice))
        return client

    def reach(self) -> None:
        """Check that SLURM answers."""
        self._check()
        from sweep.clusters.slurm_cluster import ask

        ask("sinfo", "--version")
        ask("squeue", "--noheader", "--jobs=", "--format=%A")

    def maintain(self, client: Client, workers: int, tasks: int) -> list[str]:
        """Notice jobs that have ended; Dask replaces them while there is work."""
        from sweep.clusters.slurm_cluster import JobsCluster

        cluster = client.cluster
        return cluster.watch() if isinstance(cluster, JobsCluster) else []

    def dry_run(self) -> str:
        """Show the script of a job."""
        self._check()
        from sweep.clusters.slurm_cluster import shown_script

        run = self.directory / "RUN"
        least, most = self.jobs.minimum, self.jobs.maximum
        number = f"{least} to {most}" if least else f"up to {most}"
        return (
            f"{number} jobs with {count(self.processes, 'worker')} each, submitted with sbatch:\n\n"
            f"{shown_script(run, self.job_options(run))}\n"
            "the scheduler runs in this process; scheduler and workers talk TLS, with a "
            f"certificate and key made for each run, in files of mode 600 in {self.directory}"
        )

    def _check(self) -> None:
        with needs("dask-jobqueue", "slurm"):
            import dask_jobqueue  # noqa: F401
        if any(character.isspace() for character in str(self.directory)):
            raise InputError(f"shared_directory {self.directory} has a space; choose another one")

    def _make_folder(self) -> Path:
        """Make a folder of mode 700 for this run in the shared directory."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix="run-", dir=self.directory))
        except OSError as error:
            raise InputError(
                f"cannot write to shared_directory {self.directory}: {error.strerror}"
            ) from None


def _tidy(folder: Path) -> None:
    """Delete all but the logs; delete empty logs too."""
    shutil.rmtree(folder / "keys", ignore_errors=True)
    (folder / "dask.yaml").unlink(missing_ok=True)
    if not any(path.stat().st_size for path in (folder / "logs").glob("*")):
        shutil.rmtree(folder, ignore_errors=True)


def _directive(name: str, value: Any) -> str:
    if value is True:
        return f"--{name}"
    return f"--{name}={value}"
