"""Tests of sweep/store/lease.py and sweep/store/process_identity.py."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from solver.errors import InputError
from sweep.filesystem import Folder, open_folder
from sweep.store import lease
from sweep.store.lease import Lease, claims, is_live, read_heartbeat
from sweep.store.process_identity import began, machine
from tests.helpers import PATIENCE, environment, wait_until

CONTENDER = [sys.executable, "-m", "tests.helpers.lease_contender"]


@pytest.fixture(params=["disk", "s3"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    """A new folder on each storage."""
    if request.param == "disk":
        return open_folder(tmp_path)
    return open_folder(f"{request.getfixturevalue('bucket')}/out")


class Contender:
    """A process of ``lease_contender``."""

    def __init__(self, folder: Folder, machine: str = "here", stale: float = 2.0) -> None:
        self.process = subprocess.Popen(
            [*CONTENDER, folder.place, machine, str(stale)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
            text=True,
        )

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, line: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait(timeout=PATIENCE)


@pytest.fixture
def contend(folder: Folder) -> Iterator[Callable[..., Contender]]:
    """Starts contenders, and ends them with the test."""
    started: list[Contender] = []

    def start(machine: str = "here", stale: float = 2.0) -> Contender:
        started.append(Contender(folder, machine, stale))
        return started[-1]

    yield start
    for contender in started:
        if contender.process.poll() is None:
            contender.process.kill()
        contender.process.wait()
        for pipe in (contender.process.stdin, contender.process.stdout):
            assert pipe is not None
            pipe.close()


def test_a_lease_is_one_drivers_until_it_lets_go(folder: Folder) -> None:
    assert not is_live(folder)
    first = Lease(folder)
    first.acquire()
    assert is_live(folder)
    with pytest.raises(InputError, match=f"process {os.getpid()} on {socket.gethostname()}"):
        Lease(folder).acquire()
    first.check()
    first.release()
    assert not is_live(folder)
    second = Lease(folder)
    second.acquire()
    second.release()
    second.release()
    assert folder.names(lease.FOLDER) == []


def test_a_sign_of_life_says_how_far_it_is_and_stays(folder: Folder) -> None:
    assert read_heartbeat(folder) is None
    own = Lease(folder)
    own.acquire()
    own.beat({"done": 5})
    wait_until(lambda: (life := read_heartbeat(folder)) is not None and life.numbers == {"done": 5})
    life = read_heartbeat(folder)
    assert life is not None
    assert life.name == f"process {os.getpid()} on {socket.gethostname()}"
    own.release()
    last = read_heartbeat(folder)
    assert last is not None
    assert (last.pid, last.numbers) == (os.getpid(), {"done": 5})


def test_a_lost_claim_says_what_has_become_of_it(folder: Folder) -> None:
    own = Lease(folder)
    own.acquire()
    folder.write("manifest.json", b"{}")
    folder.remove(f"{lease.FOLDER}/{own.token}.claim")
    with pytest.raises(lease.LostLeaseError, match="somebody has removed this driver's claim"):
        own.check()
    foreign = {"pid": 7, "host": "far", "machine": "far", "began": None}
    folder.write(f"{lease.FOLDER}/other.claim", json.dumps(foreign | {"token": "other"}).encode())
    with pytest.raises(lease.LostLeaseError, match=r"another treesweep \(process 7 on far\) has"):
        own.check()
    folder.remove(f"{lease.FOLDER}/other.claim")
    heartbeat = {"pid": 8, "host": "far", "updated": 1.0, "numbers": {}}
    folder.write("driver.json", json.dumps(heartbeat).encode())
    with pytest.raises(
        lease.LostLeaseError, match=r"\(process 8 on far\) has written .*or its folder"
    ):
        own.check()
    own.release()


@pytest.mark.parametrize("renamed", [False, True])
def test_a_folder_that_is_gone_is_named_and_not_made_again(tmp_path: Path, renamed: bool) -> None:
    place = tmp_path / "out"
    own = Lease(open_folder(place))
    own.acquire()
    own.folder.write("manifest.json", b"{}")
    own.check()
    place.rename(tmp_path / "elsewhere")
    if not renamed:
        shutil.rmtree(tmp_path / "elsewhere")
    with pytest.raises(lease.LostLeaseError, match="out is gone: it was removed or renamed"):
        own.check()
    time.sleep(1.5 * lease.BEAT)
    own.release()
    assert not place.exists()


@pytest.mark.faults
def test_a_driver_that_was_killed_is_known_to_be_dead_at_once(
    folder: Folder, contend: Callable[..., Contender]
) -> None:
    first = contend(stale=1000.0)
    assert first.answer() == "held"
    assert (
        contend(stale=1000.0)
        .answer()
        .startswith(f"refused another treesweep (process {first.process.pid} on ")
    )
    first.process.kill()
    first.process.wait()
    assert not is_live(folder)
    assert read_heartbeat(folder) is not None
    second = contend(stale=1000.0)
    assert second.answer() == "held"
    assert second.ask("a") == "wrote"
    assert [claim.pid for claim in claims(folder)] == [second.process.pid]


@pytest.mark.faults
def test_a_driver_that_is_stopped_here_keeps_its_lease(
    folder: Folder, contend: Callable[..., Contender]
) -> None:
    first = contend(stale=0.5)
    assert first.answer() == "held"
    first.process.send_signal(signal.SIGSTOP)
    assert contend(stale=0.5).answer().startswith("refused")
    first.process.send_signal(signal.SIGCONT)
    assert first.ask("a") == "wrote"


@pytest.mark.faults
def test_a_driver_elsewhere_that_goes_on_after_it_was_taken_for_dead_writes_nothing(
    folder: Folder, contend: Callable[..., Contender]
) -> None:
    first = contend("one", stale=2.0)
    assert first.answer() == "held"
    first.process.send_signal(signal.SIGSTOP)
    second = contend("two", stale=2.0)
    assert second.answer().startswith(f"told process {first.process.pid} on ")
    assert second.answer() == "held"
    first.process.send_signal(signal.SIGCONT)
    told = f"lost another treesweep (process {second.process.pid} on "
    assert first.ask("first").startswith(told)
    assert second.ask("second") == "wrote"
    assert [name for name, _ in folder.names("log")] == ["log/second"]
    first.end()
    assert second.ask("later") == "wrote"


@pytest.mark.faults
def test_a_driver_elsewhere_that_beats_is_left_alone(
    folder: Folder, contend: Callable[..., Contender]
) -> None:
    assert contend("one").answer() == "held"
    assert is_live(folder)
    second = contend("two", stale=1000.0)
    assert second.answer().startswith("told")
    assert second.answer().startswith("refused")


@pytest.mark.faults
@pytest.mark.parametrize("far", [False, True])
def test_of_those_who_start_at_the_same_time_one_gets_it(folder: Folder, far: bool) -> None:
    arguments = [folder.place, "far" if far else "here"]
    command = [*CONTENDER, "rounds", *arguments]
    processes = [
        subprocess.Popen(
            [*command, str(number)], env=environment(), stdout=subprocess.PIPE, text=True
        )
        for number in range(3)
    ]
    outputs = [process.communicate(timeout=PATIENCE)[0].split() for process in processes]
    assert [len(output) for output in outputs] == [20, 20, 20]
    for answers in zip(*outputs, strict=True):
        assert sorted(answers) == ["held", "refused", "refused"]
    assert folder.names(lease.FOLDER) == []


def test_a_clock_that_jumps_changes_nothing(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Lease(folder)
    own.acquire()
    for now in (0.0, 4e9):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        time.sleep(1.2 * lease.BEAT)
        assert is_live(folder)
        own.check()
        with pytest.raises(InputError, match="is working on"):
            Lease(folder).acquire()
    own.release()


def test_what_is_damaged_is_no_lease_for_long(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "STALE", 0.5)
    folder.write(f"{lease.FOLDER}/0.claim", b"{")
    folder.write(f"{lease.FOLDER}/0.held", b"")
    folder.write(f"{lease.FOLDER}/0.beat", b"[]")
    folder.write(f"{lease.FOLDER}/1.beat", b"of a driver that lost its claim and went on")
    folder.write("driver.json", b"nothing")
    assert read_heartbeat(folder) is None
    told: list[str] = []
    own = Lease(folder, told.append)
    own.acquire()
    assert "waiting for up to" in told[0]
    assert own.taken_over
    assert {name.split("/")[1].split(".")[0] for name, _ in folder.names(".drivers")} == {own.token}
    own.release()


def test_a_process_is_told_from_a_later_one_of_its_number() -> None:
    assert machine() == machine() != ""
    own = began(os.getpid())
    assert own is not None
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert began(child.pid) not in (None, own)
    child.kill()
    wait_until(lambda: began(child.pid) is None)  # killed and not waited for: dead all the same
    child.communicate()
    assert began(child.pid) is None
