"""A SLURM cluster of one node for tests, in a folder of its own, with ports of its own."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.helpers import wait_until
from tests.helpers.ports import free_port
from tests.helpers.ssh_server import find

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
CPUS = 8


def missing() -> str | None:
    """Why there can be no cluster here."""
    if os.getuid() != 0:
        return "a SLURM cluster can only be started by root"
    if any(find(program) is None for program in PROGRAMS):
        return "needs slurm-wlm and munge (as root: .ci/install_servers)"
    return None


CONFIG = """\
ClusterName=treesweep
SlurmctldHost={name}(127.0.0.1)
SlurmctldPort={control}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=100000
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=5
KillWait=2
OverTimeLimit=0
InactiveLimit=0
NodeName={name} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=4096 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """The daemons, and the environment in which ``sbatch`` finds them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("state", "spool"):
            (folder / name).mkdir()
        config = folder / "slurm.conf"
        name = socket.gethostname().split(".")[0]
        ports = {"control": free_port(), "node": free_port()}
        config.write_text(CONFIG.format(name=name, folder=folder, cpus=CPUS, **ports))
        self.environment = {"SLURM_CONF": str(config)}
        key = folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        self.processes: list[subprocess.Popen[bytes]] = []
        self._start(
            "munged", "--foreground", "--force", f"--key-file={key}",
            f"--socket={folder}/munge.socket", f"--pid-file={folder}/munged.pid",
            f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed",
        )  # fmt: skip
        wait_until(lambda: (folder / "munge.socket").exists(), self.logs)
        self._start("slurmctld", "-D", "-f", str(config))
        self._start("slurmd", "-D", "-f", str(config), "-N", name)
        wait_until(lambda: "idle" in self.run("sinfo", "--noheader", "--format=%T"), self.logs)

    def _start(self, program: str, *arguments: str) -> None:
        found = find(program)
        assert found is not None
        with (self.folder / f"{program}.out").open("wb") as log:
            environment = {**os.environ, **self.environment}
            command = [found, *arguments]
            self.processes.append(
                subprocess.Popen(command, stdout=log, stderr=log, env=environment)
            )

    def run(self, *command: str) -> str:
        """What a command says."""
        done = subprocess.run(
            command, env={**os.environ, **self.environment}, capture_output=True, text=True
        )
        return done.stdout

    def jobs(self) -> list[str]:
        """The numbers of the jobs that run."""
        return self.run("squeue", "--noheader", "--states=RUNNING", "--format=%A").split()

    def config(self, **more: Any) -> dict[str, Any]:
        """What a ``cluster.yaml`` says of it, for two workers."""
        return {
            "kind": "slurm",
            "jobs": 2,
            "memory": "1GiB",
            "walltime": "00:10:00",
            "shared_directory": str(more.pop("folder", self.folder / "shared")),
            "listen": "127.0.0.1",
            **more,
        }

    def logs(self) -> str:
        """What the daemons wrote."""
        files = [*self.folder.glob("*.log"), *self.folder.glob("*.out")]
        return "\n".join(f"{file.name}: {file.read_text()[-2000:]}" for file in files)

    def close(self) -> None:
        """Cancel what runs, and end the daemons."""
        self.run("scancel", *self.run("squeue", "--noheader", "--format=%A").split())
        deadline = time.monotonic() + 15
        while self.run("squeue", "--noheader") and time.monotonic() < deadline:
            time.sleep(0.2)
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
