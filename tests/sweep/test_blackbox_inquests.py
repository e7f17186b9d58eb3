"""What a worker was at survives it, and one task is suspected, not all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sweep.graph.failure_attribution import Handed, judge
from sweep.worker.current_task import BlackBox, Record, forget_run, read_record

ADDRESS = "tcp://127.0.0.1:4321"

DYING = """
import os, signal, sys
from types import SimpleNamespace
from sweep.worker.current_task import BlackBox
box = BlackBox()
box.open(SimpleNamespace(local_directory=sys.argv[1], address=sys.argv[2]), "run")
for place in range(1000):
    box.note(7, place)
    if place == 123:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def worker(folder: Path, name: str, address: str = ADDRESS) -> Any:
    own = folder / name
    own.mkdir(exist_ok=True)
    return SimpleNamespace(local_directory=str(own), address=address)


def test_a_killed_process_has_said_what_it_was_at(tmp_path: Path) -> None:
    dead = worker(tmp_path, "dead")
    done = subprocess.run([sys.executable, "-c", DYING, dead.local_directory, ADDRESS], timeout=60)
    assert done.returncode == -signal.SIGKILL
    os.rmdir(dead.local_directory)
    witness = worker(tmp_path, "next", "tcp://other:1")
    assert read_record("run", ADDRESS, witness) == Record(7, 123)
    assert read_record("run", "tcp://127.0.0.1:1", witness) is None
    assert read_record("other", ADDRESS, witness) is None


def test_it_can_be_read_by_its_user_only_and_goes_when_closed(tmp_path: Path) -> None:
    box = BlackBox()
    box.note(1, 1)  # not open: nothing happens
    box.open(worker(tmp_path, "one"), "run")
    box.note(2, 5)
    (file,) = (tmp_path / "run").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700
    box.close()
    assert not (tmp_path / "run").exists()


def test_the_end_of_a_run_leaves_nothing_of_dead_workers_either(tmp_path: Path) -> None:
    box = BlackBox()
    box.open(worker(tmp_path, "dead"), "run")
    box.note(2, 5)
    forget_run("run", worker(tmp_path, "other", "tcp://other:1"))
    assert not (tmp_path / "run").exists()
    forget_run("run", worker(tmp_path, "other", "tcp://other:1"))
    box.close()


BUNDLES = [Handed(4, ["a", "b", "c"]), Handed(5, ["d", "e"])]


@pytest.mark.parametrize(
    "record, suspect",
    [
        (Record(4, 1), "b"),
        (Record(5, 0), "d"),
        (Record(3, 9), "a"),  # it was at nothing, or at the data
        (Record(-1, -1), "a"),
        (None, "a"),
    ],
)
def test_one_task_is_suspected(record: Record | None, suspect: str) -> None:
    verdict = judge(BUNDLES, record)
    assert verdict.suspect == suspect
    assert sorted([verdict.suspect, *verdict.bystanders]) == ["a", "b", "c", "d", "e"]
    assert verdict.is_known is (record is not None)
