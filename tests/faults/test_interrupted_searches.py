"""Searches that were interrupted go on from where they were."""

from __future__ import annotations

import json
import signal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pandas as pd
import psutil
import pytest

import solver
from solver.branches import Branches
from solver.lambda_series import Series
from solver.path.path_search import find_path
from sweep.datasets import load_dataset
from sweep.store.read_results import read_results
from sweep.store.search_state_format import read_about, read_state
from sweep.store.sweep_status import sweep_status
from tests.helpers import PATIENCE, wait_until
from tests.helpers.drivers import (
    Drive,
    children,
    wait_for_done,
    workers,
)

pytestmark = pytest.mark.faults

COUNT = """
name: count
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.4, 0.3]
solvers: [{solver: counter, options: {steps: 20, ballast: 20000000}}]
limits: {seconds: 1000}
"""


def _starts(folder: Path) -> list[int]:
    """The steps at which searches began."""
    found = [(int(p.name.removeprefix("from-")), p.stat().st_size) for p in folder.glob("from-*")]
    return sorted(step for step, times in found for _ in range(times))


def _states(drive: Drive) -> list[Path]:
    return list((drive.out / "states").glob("*.npz"))


def _reached(drive: Drive) -> list[int]:
    """The steps at which the states stand."""
    return sorted(read_about(path).reached["iterations"] for path in _states(drive))


def _drive(folder: Path, workers: int | str = 2, **more: Any) -> Drive:
    """Of two searches that are held at their tenth step."""
    drive = Drive(folder, workers, checkpoint=0.5, **more)
    drive.hold()
    return drive


def _count_for_a_while(drive: Drive) -> None:
    """Both searches are killed with the driver once both have a state."""
    with drive.start("run", COUNT) as process:
        wait_until(lambda: len(_states(drive)) == 2)
        drive.wait_until_held()
        wait_for_done(process, 0)
        left = children(process)
        process.kill()
        assert not psutil.wait_procs(left, timeout=PATIENCE)[1]
    assert _starts(drive.folder) == [0, 0]


def _finish_counting(drive: Drive) -> pd.DataFrame:
    drive.release()
    with drive.start("resume") as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    (drive.folder / "notes").write_text("".join(x for x in out.splitlines() if "note" in x))
    rows = drive.rows()
    assert set(rows["status"]) == {"optimal"}
    assert not any((drive.out / "states").iterdir())
    assert not any((drive.out / "checkpoints").iterdir())
    return rows


def test_a_killed_drivers_searches_go_on_from_their_states(tmp_path: Path) -> None:
    drive = _drive(tmp_path)
    _count_for_a_while(drive)
    reached = _reached(drive)
    assert (tmp_path / "steps").stat().st_size == 2 * 10
    rows = _finish_counting(drive)
    assert set(rows["iterations"]) == {20}
    _, _, *later = _starts(tmp_path)
    assert later == reached
    assert min(later) > 0
    # What an earlier attempt has paid for since its last state is paid again, nothing else is.
    assert (rows["seconds"] > 20 * 0.05).all()
    assert (tmp_path / "steps").stat().st_size == 2 * 10 + sum(20 - start for start in later)


def test_a_killed_workers_search_goes_on_from_its_state(tmp_path: Path) -> None:
    drive = _drive(tmp_path)
    with drive.start("run", COUNT) as process:
        wait_until(lambda: len(_states(drive)) == 2)
        drive.wait_until_held()
        reached = _reached(drive)
        workers(process)[0].kill()
        wait_until(lambda: len(_starts(tmp_path)) == 3)
        drive.release()
        out, err = process.communicate()
    assert process.returncode == 0, out + err
    starts = _starts(tmp_path)
    assert starts[:2] == [0, 0]
    assert len(starts) == 3
    assert starts[2] >= reached[0] > 0
    assert set(drive.rows()["iterations"]) == {20}


def test_states_travel_without_a_folder_in_common(tmp_path: Path, processes: Any) -> None:
    drive = _drive(tmp_path, processes.address)
    with drive.start("run", COUNT) as process:
        wait_until(lambda: len(_states(drive)) == 2)
        drive.wait_until_held()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130, out + err
    reached = _reached(drive)
    assert len(reached) == 2
    assert set(_finish_counting(drive)["iterations"]) == {20}
    assert _starts(tmp_path) == [0, 0, *reached]
    leftovers = [p for p in tmp_path.rglob("treesweep-states/*") if p.is_file()]
    assert not leftovers


def _spoil(path: Path, fault: str) -> None:
    """Make a state useless."""
    content = bytearray(path.read_bytes())
    if fault == "torn":
        content[len(content) // 2] ^= 255
        path.write_bytes(content)
    elif fault == "cut off":
        path.write_bytes(content[: len(content) // 2])
    else:
        with ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        about = json.loads(members["about.json"])
        if fault == "of another version":
            about["version"] += 1
        else:
            about["identity"]["task"] = "0" * 64
        members["about.json"] = json.dumps(about).encode()
        with ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)


FAULTS = ("torn", "cut off", "of another version", "of another search")


@pytest.mark.parametrize("faults", [FAULTS[:2], FAULTS[2:]])
def test_a_state_that_is_of_no_use_is_told_and_the_search_begins_from_its_tree(
    tmp_path: Path, faults: tuple[str, ...]
) -> None:
    """Each of the two searches has a fault of its own."""
    drive = _drive(tmp_path)
    _count_for_a_while(drive)
    for path, fault in zip((drive.out / "states").glob("*.npz"), faults, strict=True):
        _spoil(path, fault)
    rows = _finish_counting(drive)
    assert (tmp_path / "notes").read_text().count("begins again from its best tree") == 2
    assert _starts(tmp_path) == [0, 0, 0, 0]
    assert (rows["iterations"] > 20).all()
    assert (rows["seconds"] > 20 * 0.05).all()


def test_a_state_that_is_too_large_is_told_and_tree_and_bound_are_kept(tmp_path: Path) -> None:
    drive = _drive(tmp_path, largest_state=10**6)
    with drive.start("run", COUNT) as process:
        wait_until(lambda: len(list((drive.out / "checkpoints").glob("*.parquet"))) == 2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130, err
    assert out.count("is not kept, only its best tree and bound: it would take more than 1") == 2
    assert len(list((drive.out / "checkpoints").glob("*.parquet"))) == 2
    assert not list(drive.out.glob("states/*"))
    drive.release()
    assert drive.finish("resume")["code"] == 0
    assert _starts(tmp_path) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "before, after", [("seconds: 0.5", "seconds: 1000"), ("nodes: 12", "nodes: 100")]
)
def test_a_run_that_a_limit_ended_goes_on_under_a_larger_one(
    tmp_path: Path, before: str, after: str
) -> None:
    drive = Drive(tmp_path, checkpoint=0.5)
    assert drive.finish("run", COUNT.replace("seconds: 1000", before))["ran"] == 2
    ended = drive.rows()
    assert set(ended["status"]) <= {"time_limit", "node_limit"}
    assert len(_states(drive)) == 2
    assert drive.finish("resume")["ran"] == 0
    assert drive.finish("run", COUNT.replace("seconds: 1000", after))["ran"] == 2
    rows = drive.rows()
    assert set(rows["status"]) == {"optimal"}
    assert set(rows["iterations"]) == {20}
    assert (rows["seconds"] > 20 * 0.05).all()
    assert _starts(tmp_path) == sorted([0, 0, *ended["iterations"]])
    assert (tmp_path / "steps").stat().st_size == 40
    assert not any((drive.out / "states").iterdir())


PATH = """
name: path
datasets: [monks-2]
encodings: [onehot]
lambdas: [0.005]
solvers: [{solver: walker, lam: path}]
"""


def _solved(drive: Drive) -> set[str]:
    """The marks of the λ whose solves are in the state of a path, which may not be there yet."""
    found = set()
    for path in _states(drive):
        arrays, _ = read_state(path, read_about(path).identity)
        lams = (Fraction(solve["lam"]) for solve in json.loads(arrays["solves"].tobytes()))
        found |= {f"at-{lam.numerator}-{lam.denominator}" for lam in lams}
    return found


def _marks(folder: Path) -> dict[str, str]:
    names = [*folder.glob("at-*"), *folder.glob("walked")]
    return {path.name: path.read_text() for path in names}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_path_goes_on_from_the_lambdas_that_it_has_solved(tmp_path: Path, how: int) -> None:
    drive = Drive(tmp_path, workers=1, checkpoint=0.2)
    drive.hold()
    with drive.start("run", PATH) as process:
        wait_until(lambda: len(_solved(drive)) == 3)  # it stands at the fourth
        left = children(process)
        process.send_signal(how)
        process.communicate()
        assert not psutil.wait_procs(left, timeout=PATIENCE)[1]
    before, solved = _marks(tmp_path), _solved(drive)
    status = sweep_status(drive.out)
    assert (status.done, status.unfinished) == (0, 1)
    drive.release()
    assert drive.finish("resume")["code"] == 0
    after = _marks(tmp_path)
    (row,) = drive.rows().to_dict("records")
    assert row["status"] == "optimal"
    assert row["seconds"] >= 0.5 * (len(after) - 1)  # a point may follow from others, unsolved
    # What the state has is not solved again. All else is; if the path ended in peace, that is at
    # most the λ at which it stood.
    twice = {name for name, times in after.items() if name != "walked" and len(times) == 2}
    assert twice == before.keys() - solved - {"walked"}
    assert len(after["walked"]) == len(after) - 1 + len(twice)
    assert len(solved) >= 3
    assert len(twice) <= 1 or how == signal.SIGKILL
    dataset = load_dataset("monks-2")
    problem = solver.Problem.from_table(dataset.frame, dataset.target, "onehot")
    alone = find_path(problem, Fraction(1, 200), Series(Branches(), problem))
    assert [step["tree"] for step in row["path"]] == [tree.to_json() for tree in alone.trees]
    single = drive.finish("run", PATH.replace("walker, lam: path", "branches, lam: path"))
    assert single["code"] == 0
    names = ("lam", "lam_end", "errors", "splits", "proven")
    rows = read_results(drive.out, every_run=True)  # the walker is in the plan no more
    found = [[[step[n] for n in names] for step in path] for path in rows["path"]]
    assert found[0] == found[1]
    assert sweep_status(drive.out).unfinished == 0
