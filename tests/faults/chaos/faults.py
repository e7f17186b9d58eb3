"""What is done to a sweep. Each fault says whether it hit something; only those are counted."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tests.faults.chaos.compare_stores import Ledger
from tests.faults.chaos.process_roles import STALE
from tests.faults.chaos.processes import Processes, send


@dataclass
class Target:
    """What a fault may touch.

    Parameters
    ----------
    processes : Processes
    random : random.Random
    ledger : Ledger
    is_small_disk : bool
        Whether the store is on a disk of its own that may be filled.
    """

    processes: Processes
    random: random.Random
    ledger: Ledger
    is_small_disk: bool

    @property
    def out(self) -> Path:
        """The store's folder."""
        return self.processes.out

    def nap(self, least: float, most: float) -> None:
        """Wait for a random time."""
        time.sleep(self.random.uniform(least, most))


class Fault(NamedTuple):
    """A fault.

    Parameters
    ----------
    name : str
    weight : float
        How often it comes, in proportion.
    strike : callable
        Does it; whether it hit something.
    """

    name: str
    weight: float
    strike: Callable[[Target], bool]


# While a driver is at work


def kill_worker(target: Target) -> bool:
    """kill -9 of a worker."""
    pids = target.processes.workers_at_work()
    return bool(pids) and send(target.random.choice(sorted(pids)), signal.SIGKILL)


def kill_all_workers(target: Target) -> bool:
    """kill -9 of all workers."""
    killed = [pid for pid in target.processes.workers_at_work() if send(pid, signal.SIGKILL)]
    return bool(killed)


def kill_fork_server(target: Target) -> bool:
    """kill -9 of the process that local workers are forked from."""
    return any(send(server.pid, signal.SIGKILL) for server in target.processes.fork_servers())


def stop_worker(target: Target) -> bool:
    """SIGSTOP of a worker for a while."""
    pids = target.processes.workers_at_work()
    return bool(pids) and _stop(target, [target.random.choice(sorted(pids))], 0.2, 1.0)


def stop_everything(target: Target) -> bool:
    """SIGSTOP of driver, scheduler and workers for less than a lease: a machine that sleeps."""
    processes = target.processes
    others = [p.pid for p in (processes.driver, processes.scheduler) if p is not None and p.pid]
    others += [server.pid for server in processes.fork_servers()]
    return _stop(target, [*processes.workers_at_work(), *others], 0.3, 0.5 * STALE)


def stop_scheduler(target: Target) -> bool:
    """SIGSTOP of the scheduler for a while."""
    processes = target.processes
    if processes.is_local or processes.scheduler is None or processes.scheduler.pid is None:
        return False
    return _stop(target, [processes.scheduler.pid], 0.2, 1.0)


def kill_scheduler(target: Target) -> bool:
    """kill -9 of the scheduler; the driver must say so and end."""
    processes = target.processes
    if processes.is_local or processes.scheduler is None or processes.scheduler.pid is None:
        return False
    hit = send(processes.scheduler.pid, signal.SIGKILL)
    processes.scheduler.join(10)
    processes.wait_for_driver(180)
    return hit


def kill_driver(target: Target) -> bool:
    """kill -9 of the driver."""
    driver = target.processes.driver
    assert driver is not None
    assert driver.pid is not None
    hit = send(driver.pid, signal.SIGKILL)
    target.processes.wait_for_driver(60)
    return hit


def kill_driver_at_a_write(target: Target) -> bool:
    """kill -9 of the driver while a file is half written or not yet renamed."""
    if _find_temporary(target, 0.5) is None:
        return False
    return kill_driver(target)


def interrupt(target: Target) -> bool:
    """Ctrl-C once: the driver keeps what it has and ends."""
    hit = _interrupt(target)
    target.processes.wait_for_driver(180)
    return hit


def interrupt_twice(target: Target) -> bool:
    """Ctrl-C twice: the driver ends at once."""
    hit = _interrupt(target)
    target.nap(0.01, 0.3)
    _interrupt(target)
    target.processes.wait_for_driver(180)
    return hit


def outlive_lease(target: Target) -> bool:
    """SIGSTOP of the driver until a second one has taken over; then it goes on, and must end."""
    processes, first = target.processes, target.processes.driver
    assert first is not None
    assert first.pid is not None
    if not send(first.pid, signal.SIGSTOP):
        return False
    try:
        second = processes.start_driver(processes.is_local, elsewhere=True)
        deadline = time.monotonic() + STALE + 120
        while not processes.is_busy() and second.is_alive():
            if time.monotonic() > deadline:
                raise TimeoutError("no second driver can take over from one that was stopped")
            time.sleep(0.05)
        has_taken_over = second.is_alive() or second.exitcode in (0, 1)
        target.nap(0.0, 1.0)
    finally:
        send(first.pid, signal.SIGCONT)
    first.join(120)  # its workers may have been killed meanwhile, and be waited for
    if first.exitcode is None:
        raise TimeoutError("a driver that has lost its lease goes on")
    return has_taken_over and first.exitcode == 2


def fill_disk(target: Target) -> bool:
    """The store's disk is full for a while, and rows come meanwhile."""
    if not target.is_small_disk:
        return False
    ballast, before = target.out.parent / "ballast", target.processes.n_finished()
    try:
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            for size in (2**20, 2**12, 1):
                with suppress(OSError):
                    while file.write(b"x" * size):
                        pass
        target.nap(0.5, 3.0)
        return target.processes.n_finished() > before
    finally:
        ballast.unlink(missing_ok=True)


def remove_temporary(target: Target) -> bool:
    """A file that is being written is removed."""
    found = _find_temporary(target, 0.5)
    if found is None:
        return False
    try:
        found.unlink()
    except OSError:
        return False  # it was renamed by then
    return True


# Between two drivers


def truncate_part(target: Target) -> bool:
    """A part is cut off somewhere."""
    part = _choose_part(target)
    if part is None:
        return False
    with part.open("r+b") as file:
        file.truncate(target.random.randrange(part.stat().st_size))
    return True


def flip_byte(target: Target) -> bool:
    """A byte of a part becomes another one."""
    part = _choose_part(target)
    if part is None:
        return False
    place = target.random.randrange(part.stat().st_size)
    with part.open("r+b") as file:
        file.seek(place)
        old = file.read(1)[0]
        file.seek(place)
        file.write(bytes([old ^ target.random.randrange(1, 256)]))
    return True


def damage_search(target: Target) -> bool:
    """The checkpoint or the state of a search is cut off or changed."""
    folders = (target.out / "checkpoints", target.out / "states")
    found = sorted(path for folder in folders for path in folder.glob("*.parquet"))
    if not found:
        return False
    path = target.random.choice(found)
    content = bytearray(path.read_bytes())
    place = target.random.randrange(len(content))
    if target.random.random() < 0.5:
        content = content[:place]
    else:
        content[place] ^= target.random.randrange(1, 256)
    path.write_bytes(content)
    return True


def leave_rubbish(target: Target) -> bool:
    """Temporary files and half a generation lie about, as after a crash."""
    places = [target.out, *(p for p in target.out.rglob("*") if p.is_dir() and not p.is_symlink())]
    place = target.random.choice(sorted(places))
    name = target.random.choice(["part-00000001.parquet", "driver.json", "rows", "manifest.json"])
    (place / f".{name}.{target.random.randrange(10**5)}.tmp").write_bytes(b"PAR1 rubbish")
    orphan = target.out / ".generations" / "99999999"
    if target.random.random() < 0.3 and orphan.parent.is_dir() and not orphan.exists():
        orphan.mkdir()
        (orphan / "part-00000001.parquet").write_bytes(b"PAR1 rubbish")
    return True


def damage_sign_of_life(target: Target) -> bool:
    """What a driver said of itself, or its claim to the lease, is nonsense."""
    found = [path for path in (target.out / ".drivers").glob("*") if path.is_file()]
    found += [path for path in [target.out / "driver.json"] if path.exists()]
    if not found:
        return False
    path = target.random.choice(sorted(found))
    path.write_bytes(target.random.choice([b"", b"{", target.random.randbytes(50)]))
    return True


DURING = (
    Fault("kill -9 of a worker", 10, kill_worker),
    Fault("kill -9 of all workers", 3, kill_all_workers),
    Fault("kill -9 of the fork server", 1, kill_fork_server),
    Fault("SIGSTOP of a worker", 4, stop_worker),
    Fault("SIGSTOP of everything", 1, stop_everything),
    Fault("SIGSTOP of the scheduler", 1, stop_scheduler),
    Fault("disk full for a while", 2, fill_disk),
    Fault("temporary file removed", 1, remove_temporary),
    Fault("kill -9 of the scheduler", 1, kill_scheduler),
    Fault("kill -9 of the driver", 2, kill_driver),
    Fault("kill -9 of the driver at a write", 2, kill_driver_at_a_write),
    Fault("Ctrl-C", 1, interrupt),
    Fault("Ctrl-C twice", 1, interrupt_twice),
    Fault("driver stopped beyond its lease", 0.7, outlive_lease),
)

BETWEEN = (
    Fault("part truncated", 2, truncate_part),
    Fault("byte of a part flipped", 2, flip_byte),
    Fault("checkpoint or state damaged", 2, damage_search),
    Fault("rubbish left behind", 1, leave_rubbish),
    Fault("sign of life damaged", 0.5, damage_sign_of_life),
)


def _stop(target: Target, pids: list[int], least: float, most: float) -> bool:
    stopped = [pid for pid in pids if send(pid, signal.SIGSTOP)]
    target.nap(least, most)
    going_on = [pid for pid in stopped if send(pid, signal.SIGCONT)]
    return bool(going_on)


def _interrupt(target: Target) -> bool:
    """As a terminal does it: the driver and its workers get it."""
    driver = target.processes.driver
    assert driver is not None
    assert driver.pid is not None
    try:
        os.killpg(driver.pid, signal.SIGINT)
    except ProcessLookupError:
        return False
    return True


def _find_temporary(target: Target, seconds: float) -> Path | None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and target.processes.is_running:
        with suppress(OSError):
            for folder, _, names in os.walk(target.out):
                for name in names:
                    if name.endswith(".tmp") and "PAR1 rubbish" not in name:
                        return Path(folder, name)
    return None


def _choose_part(target: Target) -> Path | None:
    """A part to damage; its results may go."""
    parts = sorted((target.out / "rows").glob("part-*.parquet"))
    if not parts:
        return None
    part = target.random.choice(parts)
    try:
        keys = pq.read_table(part, columns=["key"])["key"].to_pylist()
    except (OSError, pa.ArrowException):
        return None  # it is damaged already
    target.ledger.strike(keys)
    return part
