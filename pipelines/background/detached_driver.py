"""Start drivers that outlive their terminal, and stop them."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from solver.errors import InputError
from sweep.filesystem import is_remote, open_folder
from sweep.store.lease import claims, is_live, read_heartbeat
from sweep.store.process_identity import began

_POLL = 0.2
_LAST_BYTES = 4096
_HEADLINE = "==== "


@dataclass(frozen=True)
class Driver:
    """A driver at work on a sweep's folder. A driver of another machine has no ``began``."""

    pid: int
    name: str
    began: str | None = None

    @property
    def is_near(self) -> bool:
        """Whether it runs on this machine."""
        return self.began is not None


def find_driver(place: str) -> Driver | None:
    """The driver at work on a sweep's folder, if any."""
    folder = open_folder(place)
    for claim in claims(folder):
        if claim.held and claim.is_near and claim.is_alive:
            return Driver(claim.pid, claim.name, claim.began)
    heartbeat = read_heartbeat(folder)
    if heartbeat is None or not is_live(folder):
        return None
    return Driver(heartbeat.pid, heartbeat.name)


def log_for(place: str, name: str) -> Path:
    """The log of a folder's driver: in the folder, or in the user's state folder for S3."""
    if not is_remote(place):
        return Path(place) / "driver.log"
    state = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "treesweep"
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    return state / f"{name}.log"


def start_driver(arguments: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Run ``treesweep`` in a session of its own, without a terminal.

    Parameters
    ----------
    arguments : sequence of str
        What follows ``treesweep`` on the command line.
    log : Path
        Its output is appended here, in a file of mode 600.
    """
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        os.write(handle, f"{_HEADLINE}{now} treesweep {shlex.join(arguments)}\n".encode())
        return subprocess.Popen(
            # -P: do not import modules of the current folder.
            [sys.executable, "-P", "-m", "pipelines.cli", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            start_new_session=True,  # not reached by the terminal's hang-up and Ctrl-C
            env=_environment(),
        )
    finally:
        os.close(handle)


def _environment() -> dict[str, str]:
    """The environment of this process, extended so that the driver finds the same code."""
    here = str(Path(__file__).resolve().parents[2])
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [here, *(path for path in others if path and path != here)]
    inherited = {k: v for k, v in os.environ.items() if k != "DASK_INTERNAL_INHERIT_CONFIG"}
    return {**inherited, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


def await_driver(
    process: subprocess.Popen[bytes], place: str, log: Path, timeout: float
) -> int | None:
    """Wait until a driver is at work on its folder or has ended.

    Returns the driver's exit code if the sweep has ended, None if the driver works or is still
    starting after ``timeout`` seconds. Raises InputError if the driver has failed.
    """
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        code = process.poll()
        if code is not None:
            if code not in (0, 1):
                raise InputError(f"the driver has ended: {last_line(log)} (its log: {log})")
            return code
        driver = find_driver(place)
        if driver is not None and driver.pid == process.pid:
            return None
        time.sleep(_POLL)
    return None


def last_line(log: Path) -> str:
    """The last line that the last driver wrote to its log."""
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LAST_BYTES))
        lines = file.read().decode(errors="replace").strip().splitlines()
    if not lines or lines[-1].startswith(_HEADLINE):
        return "it said nothing"
    return lines[-1].removeprefix("treesweep: error: ")


def stop_driver(place: str) -> Driver:
    """Ask the driver of a folder to end, as Ctrl-C does, and return it.

    Raises InputError without a driver, or if it belongs to another machine or user.
    """
    driver = find_driver(place)
    if driver is None:
        raise InputError(f"no driver is at work on {place}; nothing is to be stopped")
    if not driver.is_near:
        stop = f"treesweep stop {shlex.quote(str(place))}"
        raise InputError(f"the driver of {place} is {driver.name}; run '{stop}' there")
    try:
        os.kill(driver.pid, signal.SIGTERM)
    except ProcessLookupError:
        raise InputError(f"no driver is at work on {place}; nothing is to be stopped") from None
    except PermissionError:
        raise InputError(f"the driver of {place}, {driver.name}, is another user's") from None
    return driver


def await_end(driver: Driver, timeout: float) -> bool:
    """Wait until a driver of this machine has ended; False after ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    while began(driver.pid) == driver.began:
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True
