"""λ-paths that were interrupted, by whatever, have the trees of paths that were not."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import solver
from tests.helpers import wait_until
from tests.helpers.drivers import Drive, children, kill, wait_for_done, workers

pytestmark = pytest.mark.faults

# As in faulty_solvers.py. Imported here, its solvers would be in the catalogue of all tests.
SLOW = "TREESWEEP_TEST_SLOW"

LAM = "1/300"
SPEC = """
name: ties
datasets:
  - {name: noise-0, path: noise-0.csv, target: y}
  - {name: noise-2, path: noise-2.csv, target: y}
  - {name: symmetric-3, path: symmetric-3.csv, target: y}
  - {name: symmetric-6, path: symmetric-6.csv, target: y}
encodings: [onehot]
lambdas: [1/300]
solvers: [{solver: branches, lam: path}]
"""


def noise(seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 2, (80, 8))
    return table(codes, generator.integers(0, 2, 80))


def symmetric(seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 3, (100, 5))
    target = (codes[:, 0] == codes[:, 1]) ^ (generator.random(100) < 0.15)
    return table(np.hstack([codes == value for value in range(3)]), target)


def table(codes: Any, target: Any) -> pd.DataFrame:
    """Of words, so that all columns are categories of two values."""
    frame = pd.DataFrame(np.where(codes, "yes", "no")).add_prefix("x")
    return frame.assign(y=np.where(target, "good", "bad"))


@pytest.fixture(scope="module")
def frames() -> dict[str, pd.DataFrame]:
    """Tables of which many trees are equally good."""
    return {
        "noise-0": noise(0), "noise-2": noise(2), "symmetric-3": symmetric(3),
        "symmetric-6": symmetric(6),
    }  # fmt: skip


@pytest.fixture(scope="module")
def expected(frames: dict[str, pd.DataFrame]) -> dict[str, list[tuple[str, str]]]:
    """λ and tree of every step, of paths that nothing disturbed."""
    found = {}
    for name, frame in frames.items():
        problem = solver.Problem.from_table(frame, "y", "onehot")
        path = solver.regularization_path(problem, LAM)
        found[name] = [(str(step.start), step.tree.to_json()) for step in path.steps]
    return found


def drive_of(folder: Path, frames: dict[str, pd.DataFrame], checkpoint: float = 0.2) -> Drive:
    """Of paths that take some seconds each."""
    drive = Drive(folder, checkpoint=checkpoint)
    drive.environment[SLOW] = "0.03"
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return drive


def steps_of(drive: Drive) -> dict[str, list[tuple[str, str]]]:
    rows = drive.rows()
    assert set(rows["status"]) == {"optimal"}
    paths = zip(rows["dataset"], rows["path"], strict=True)
    return {name: [(step["lam"], step["tree"]) for step in path] for name, path in paths}


def states(drive: Drive) -> list[Path]:
    return list((drive.out / "states").glob("*.npz"))


def wait_for_states(drive: Drive, number: int) -> None:
    wait_until(lambda: len(states(drive)) >= number)


def strike(process: Any, what: str) -> None:
    if what == "workers":
        for worker in workers(process)[:1]:
            worker.kill()
        return
    left = children(process)
    process.send_signal(signal.SIGINT if what == "Ctrl-C" else signal.SIGKILL)
    process.communicate()
    if what == "driver":
        kill(left)


@pytest.mark.parametrize("what", ["driver", "Ctrl-C", "workers"])
def test_they_go_on_from_their_states_to_the_same_trees(
    tmp_path: Path, frames: dict[str, pd.DataFrame], expected: Any, what: str
) -> None:
    drive = drive_of(tmp_path, frames)
    for seconds in (0.5, 1.0):
        command = "resume" if drive.out.exists() else "run"
        with drive.start(command, SPEC if command == "run" else None) as process:
            try:
                wait_for_done(process, 0)
            except AssertionError:
                break  # it is done
            if command == "run":
                wait_for_states(drive, 1)
            time.sleep(seconds)
            strike(process, what)
            if what == "workers":
                process.communicate()
                break
    assert drive.finish("resume")["code"] == 0
    assert steps_of(drive) == expected
    assert not states(drive)
    assert not list((drive.out / "checkpoints").glob("*.parquet"))


def test_without_a_state_they_begin_anew_and_come_to_the_same_trees(
    tmp_path: Path, frames: dict[str, pd.DataFrame], expected: Any
) -> None:
    drive = drive_of(tmp_path, frames)
    with drive.start("run", SPEC) as process:
        wait_for_done(process, 0)
        wait_for_states(drive, 2)
        strike(process, "driver")
    done = set(drive.rows()["key"])  # the driver was killed before it had removed their states
    first, *others = [path for path in states(drive) if path.stem not in done]
    first.unlink()
    for path in others:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 255
        path.write_bytes(content)
    drive.environment.pop(SLOW)
    with drive.start("resume") as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    notes = [line for line in out.splitlines() if "begins again" in line or "begins anew" in line]
    # A path that was just done needs no state: what is known of it is all of it.
    assert len(notes) <= len(others), notes
    assert steps_of(drive) == expected
