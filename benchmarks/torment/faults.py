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

from benchmarks.torment.cast import Cast, send
from benchmarks.torment.check import Ledger
from benchmarks.torment.roles import STALE


@dataclass
class Stage:
    """What a fault may touch.

    Parameters
    ----------
    cast : Cast
    random : random.Random
    ledger : Ledger
    is_small_disk : bool
        Whether the store is on a disk of its own that may be filled.
    """

    cast: Cast
    random: random.Random
    ledger: Ledger
    is_small_disk: bool

    @property
    def out(self) -> Path:
        """The store's folder."""
        return self.cast.out

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
    strike: Callable[[Stage], bool]


# While a driver is at work


def kill_worker(stage: Stage) -> bool:
    """kill -9 of a worker."""
    pids = stage.cast.workers_at_work()
    return bool(pids) and send(stage.random.choice(sorted(pids)), signal.SIGKILL)


def kill_all_workers(stage: Stage) -> bool:
    """kill -9 of all workers."""
    killed = [pid for pid in stage.cast.workers_at_work() if send(pid, signal.SIGKILL)]
    return bool(killed)


def stop_worker(stage: Stage) -> bool:
    """SIGSTOP of a worker for a while."""
    pids = stage.cast.workers_at_work()
    return bool(pids) and _stop(stage, [stage.random.choice(sorted(pids))], 0.2, 1.0)


def stop_everything(stage: Stage) -> bool:
    """SIGSTOP of driver, scheduler and workers for less than a lease: a machine that sleeps."""
    cast = stage.cast
    others = [p.pid for p in (cast.driver, cast.scheduler) if p is not None and p.pid]
    return _stop(stage, [*cast.workers_at_work(), *others], 0.3, 0.5 * STALE)


def stop_scheduler(stage: Stage) -> bool:
    """SIGSTOP of the scheduler for a while."""
    cast = stage.cast
    if cast.is_local or cast.scheduler is None or cast.scheduler.pid is None:
        return False
    return _stop(stage, [cast.scheduler.pid], 0.2, 1.0)


def kill_scheduler(stage: Stage) -> bool:
    """kill -9 of the scheduler; the driver must say so and end."""
    cast = stage.cast
    if cast.is_local or cast.scheduler is None or cast.scheduler.pid is None:
        return False
    hit = send(cast.scheduler.pid, signal.SIGKILL)
    cast.scheduler.join(10)
    cast.wait_for_driver(60)
    return hit


def kill_driver(stage: Stage) -> bool:
    """kill -9 of the driver."""
    driver = stage.cast.driver
    assert driver is not None
    assert driver.pid is not None
    hit = send(driver.pid, signal.SIGKILL)
    stage.cast.wait_for_driver(20)
    return hit


def kill_driver_at_a_write(stage: Stage) -> bool:
    """kill -9 of the driver while a file is half written or not yet renamed."""
    if _find_temporary(stage, 0.5) is None:
        return False
    return kill_driver(stage)


def interrupt(stage: Stage) -> bool:
    """Ctrl-C once: the driver keeps what it has and ends."""
    hit = _interrupt(stage)
    stage.cast.wait_for_driver(60)
    return hit


def interrupt_twice(stage: Stage) -> bool:
    """Ctrl-C twice: the driver ends at once."""
    hit = _interrupt(stage)
    stage.nap(0.01, 0.3)
    _interrupt(stage)
    stage.cast.wait_for_driver(60)
    return hit


def outlive_lease(stage: Stage) -> bool:
    """SIGSTOP of the driver until a second one has taken over; then it goes on, and must end."""
    cast, first = stage.cast, stage.cast.driver
    assert first is not None
    assert first.pid is not None
    if not send(first.pid, signal.SIGSTOP):
        return False
    try:
        second = cast.start_driver(cast.is_local, elsewhere=True)
        deadline = time.monotonic() + STALE + 120
        while not cast.is_busy() and second.is_alive():
            if time.monotonic() > deadline:
                raise TimeoutError("no second driver can take over from one that was stopped")
            time.sleep(0.05)
        has_taken_over = second.is_alive() or second.exitcode in (0, 1)
        stage.nap(0.0, 1.0)
    finally:
        send(first.pid, signal.SIGCONT)
    first.join(120)  # its workers may have been killed meanwhile, and be waited for
    if first.exitcode is None:
        raise TimeoutError("a driver that has lost its lease goes on")
    return has_taken_over and first.exitcode == 2


def fill_disk(stage: Stage) -> bool:
    """The store's disk is full for a while, and rows come meanwhile."""
    if not stage.is_small_disk:
        return False
    ballast, before = stage.out.parent / "ballast", stage.cast.n_finished()
    try:
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            for size in (2**20, 2**12, 1):
                with suppress(OSError):
                    while file.write(b"x" * size):
                        pass
        stage.nap(0.5, 3.0)
        return stage.cast.n_finished() > before
    finally:
        ballast.unlink(missing_ok=True)


def remove_temporary(stage: Stage) -> bool:
    """A file that is being written is removed."""
    found = _find_temporary(stage, 0.5)
    if found is None:
        return False
    try:
        found.unlink()
    except OSError:
        return False  # it was renamed by then
    return True


# Between two drivers


def truncate_part(stage: Stage) -> bool:
    """A part is cut off somewhere."""
    part = _choose_part(stage)
    if part is None:
        return False
    with part.open("r+b") as file:
        file.truncate(stage.random.randrange(part.stat().st_size))
    return True


def flip_byte(stage: Stage) -> bool:
    """A byte of a part becomes another one."""
    part = _choose_part(stage)
    if part is None:
        return False
    place = stage.random.randrange(part.stat().st_size)
    with part.open("r+b") as file:
        file.seek(place)
        old = file.read(1)[0]
        file.seek(place)
        file.write(bytes([old ^ stage.random.randrange(1, 256)]))
    return True


def damage_search(stage: Stage) -> bool:
    """The checkpoint or the state of a search is cut off or changed."""
    folders = (stage.out / "checkpoints", stage.out / "states")
    found = sorted(path for folder in folders for path in folder.glob("*.parquet"))
    if not found:
        return False
    path = stage.random.choice(found)
    content = bytearray(path.read_bytes())
    place = stage.random.randrange(len(content))
    if stage.random.random() < 0.5:
        content = content[:place]
    else:
        content[place] ^= stage.random.randrange(1, 256)
    path.write_bytes(content)
    return True


def leave_rubbish(stage: Stage) -> bool:
    """Temporary files and half a generation lie about, as after a crash."""
    places = [stage.out, *(p for p in stage.out.rglob("*") if p.is_dir() and not p.is_symlink())]
    place = stage.random.choice(sorted(places))
    name = stage.random.choice(["part-00000001.parquet", "driver.json", "rows", "manifest.json"])
    (place / f".{name}.{stage.random.randrange(10**5)}.tmp").write_bytes(b"PAR1 rubbish")
    orphan = stage.out / ".generations" / "99999999"
    if stage.random.random() < 0.3 and orphan.parent.is_dir() and not orphan.exists():
        orphan.mkdir()
        (orphan / "part-00000001.parquet").write_bytes(b"PAR1 rubbish")
    return True


def damage_sign_of_life(stage: Stage) -> bool:
    """What a driver said of itself, or its claim to the lease, is nonsense."""
    found = [path for path in (stage.out / ".drivers").glob("*") if path.is_file()]
    found += [path for path in [stage.out / "driver.json"] if path.exists()]
    if not found:
        return False
    path = stage.random.choice(sorted(found))
    path.write_bytes(stage.random.choice([b"", b"{", stage.random.randbytes(50)]))
    return True


DURING = (
    Fault("kill -9 of a worker", 10, kill_worker),
    Fault("kill -9 of all workers", 3, kill_all_workers),
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


def _stop(stage: Stage, pids: list[int], least: float, most: float) -> bool:
    stopped = [pid for pid in pids if send(pid, signal.SIGSTOP)]
    stage.nap(least, most)
    going_on = [pid for pid in stopped if send(pid, signal.SIGCONT)]
    return bool(going_on)


def _interrupt(stage: Stage) -> bool:
    """As a terminal does it: the driver and its workers get it."""
    driver = stage.cast.driver
    assert driver is not None
    assert driver.pid is not None
    try:
        os.killpg(driver.pid, signal.SIGINT)
    except ProcessLookupError:
        return False
    return True


def _find_temporary(stage: Stage, seconds: float) -> Path | None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and stage.cast.is_running:
        with suppress(OSError):
            for folder, _, names in os.walk(stage.out):
                for name in names:
                    if name.endswith(".tmp") and "PAR1 rubbish" not in name:
                        return Path(folder, name)
    return None


def _choose_part(stage: Stage) -> Path | None:
    """A part to damage; its results may go."""
    parts = sorted((stage.out / "rows").glob("part-*.parquet"))
    if not parts:
        return None
    part = stage.random.choice(parts)
    try:
        keys = pq.read_table(part, columns=["key"])["key"].to_pylist()
    except (OSError, pa.ArrowException):
        return None  # it is damaged already
    stage.ledger.strike(keys)
    return part
