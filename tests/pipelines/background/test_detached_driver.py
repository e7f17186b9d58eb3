"""``treesweep submit``, ``stop`` and ``status --follow``: drivers that run on their own."""

from __future__ import annotations

import os
import pty
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from pipelines.background import detached_driver
from pipelines.background.detached_driver import (
    Driver,
    await_end,
    find_driver,
    start_driver,
    stop_driver,
)
from solver.errors import InputError
from sweep.plan.plan import make_plan
from sweep.spec.spec import load_spec
from sweep.store import store
from sweep.store.plan_file import survey
from sweep.store.process_identity import began
from tests.helpers import PATIENCE, ROOT, environment, wait_until, without_dask
from tests.helpers.commands import n_done, refused, run

COMMAND = [sys.executable, "-m", "pipelines.cli"]

LONG = """
name: long
datasets: [nursery]
encodings: [onehot]
lambdas: [0.0001]
solvers: [branches]
limits: {seconds: 300}
"""

SHORT = """
name: short
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.1]
solvers: [cart]
"""


def finished(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *command], capture_output=True, text=True, timeout=PATIENCE,
        env=environment(),
    )  # fmt: skip


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text("kind: local\nworkers: 1\n")
    return path


@pytest.fixture
def long_sweep(tmp_path: Path) -> Iterator[Path]:
    """A sweep of minutes; its driver is ended at the end of the test."""
    path = tmp_path / "long.yaml"
    path.write_text(LONG)
    yield path
    driver = find_driver(str(tmp_path / "out"))
    if driver is not None:
        for process in [psutil.Process(driver.pid), *psutil.Process(driver.pid).children(True)]:
            process.kill()


@pytest.mark.slow
def test_a_driver_outlives_its_terminal_and_can_be_followed_and_stopped(
    tmp_path: Path, long_sweep: Path, cluster: Path
) -> None:
    out = tmp_path / "out"
    pid, terminal = pty.fork()
    if pid == 0:  # a shell that has the terminal, as people have it
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
        os.environ["PYTHONPATH"] = str(ROOT)
        words = [*COMMAND, "submit", str(long_sweep), "--out", str(out), "--cluster", str(cluster)]
        os.execvp("sh", ["sh", "-c", f"{' '.join(words)}; sleep 1000"])
    shown = ""
    while "Its log" not in shown:
        shown += os.read(terminal, 4096).decode()
    os.close(terminal)  # the kernel sends SIGHUP to all that belong to it
    assert os.waitpid(pid, 0)[1] & 0x7F == signal.SIGHUP
    found = re.search(r"Process (\d+) runs the sweep", shown)
    assert found
    driver = find_driver(str(out))
    assert driver is not None
    assert driver.pid == int(found[1])
    assert os.getsid(driver.pid) == driver.pid
    log = out / "driver.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert f"treesweep status {out} --follow" in shown

    follower = subprocess.Popen(
        [*COMMAND, "status", str(out), "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=environment(),
    )  # fmt: skip
    assert follower.stderr is not None
    while "1 running" not in (line := follower.stderr.readline()):
        assert line, "it ended too soon"
    done = finished("stop", str(out))
    assert done.returncode == 0, done.stderr
    assert f"Go on with: treesweep resume {out}" in done.stdout
    assert began(driver.pid) is None  # it is gone, not only done with its folder
    stdout, _ = follower.communicate(timeout=PATIENCE)
    assert "0/1 done" in stdout
    assert "none is at work" in stdout
    assert "Interrupted" in log.read_text()
    assert find_driver(str(out)) is None
    assert "no driver is at work" in refused("stop", out)


def test_a_short_sweep_may_be_over_before_the_command_is(tmp_path: Path, cluster: Path) -> None:
    (tmp_path / "s.yaml").write_text(SHORT)
    out = tmp_path / "out"
    done = finished(
        "submit", str(tmp_path / "s.yaml"), "--out", str(out), "--cluster", str(cluster)
    )
    assert done.returncode == 0, done.stderr
    wait_until(lambda: n_done(out) == 1)


def test_the_current_folder_runs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "click.py").write_text("open('attacked', 'w')\n")
    monkeypatch.chdir(tmp_path)
    process = start_driver(["--version"], tmp_path / "log")
    assert process.wait(timeout=PATIENCE) == 0
    headline, said = (tmp_path / "log").read_text().splitlines()
    assert headline.endswith(" treesweep --version")
    assert said.startswith("treesweep ")
    assert not (tmp_path / "attacked").exists()


def test_what_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    spec, cluster = tmp_path / "s.yaml", tmp_path / "cluster.yaml"
    assert "cannot read" in refused("submit", spec)
    spec.write_text(SHORT)
    nobody = "kind: address\naddress: tcp://127.0.0.1:1\ninsecure: true\nconnect_timeout: 1\n"
    cluster.write_text(nobody)
    out = tmp_path / "out"
    said = refused("submit", spec, "--out", out, "--cluster", cluster)
    assert "cannot reach a Dask scheduler" in said
    assert not out.exists()
    out.mkdir()
    (out / "letter.txt").touch()
    assert "holds no sweep" in refused("submit", spec, "--out", out)


def test_a_refused_sweep_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    spec, out = tmp_path / "s.yaml", tmp_path / "out"
    spec.write_text(SHORT)
    sweep = load_spec(spec)
    with store.create(out, sweep, print) as made:
        survey(make_plan(sweep), made)
    before = run("status", out, "--json").stdout
    spec.write_text(SHORT.replace("[monks-1]", "[{path: none.csv, target: y}]"))
    assert "there is no file" in refused("submit", spec, "--out", out)
    assert "the driver has ended" not in refused("submit", spec, "--out", out)
    assert store.stored_sweep(out).text == SHORT
    assert run("status", out, "--json").stdout == before
    assert "there is no file" in refused("submit", spec, "--out", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("code", [0, 1])
def test_a_driver_that_has_ended_gives_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    (tmp_path / "s.yaml").write_text(SHORT)
    driver = SimpleNamespace(pid=1, poll=lambda: code)
    monkeypatch.setattr(detached_driver, "start_driver", lambda arguments, log: driver)
    result = run("submit", tmp_path / "s.yaml", "--out", tmp_path / "out")
    assert result.exit_code == code
    assert "The sweep has ended already" in result.stdout


def test_the_last_line_is_of_the_last_driver(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert start_driver(["no-such-command"], log).wait(timeout=PATIENCE) == 2
    assert "no-such-command" in detached_driver.last_line(log)
    with log.open("a") as file:
        file.write("==== 2026-01-01T00:00:00+00:00 treesweep resume out\n")
    assert detached_driver.last_line(log) == "it said nothing"


def test_damage_that_submit_finds_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.yaml").write_text(SHORT)
    without_dask.finish(tmp_path / "out", load_spec(tmp_path / "s.yaml"))
    (part,) = (tmp_path / "out" / "rows").glob("*.parquet")
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    driver = SimpleNamespace(pid=1)
    monkeypatch.setattr(detached_driver, "start_driver", lambda arguments, log: driver)
    monkeypatch.setattr(detached_driver, "await_driver", lambda *how: None)
    result = run("submit", tmp_path / "s.yaml", "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert f"{part.name} is damaged" in result.stderr


@pytest.mark.parametrize("command", ["status", "verify", "report"])
def test_a_sweep_file_changed_in_the_folder_is_named(tmp_path: Path, command: str) -> None:
    (tmp_path / "s.yaml").write_text(SHORT)
    sweep, out = load_spec(tmp_path / "s.yaml"), tmp_path / "out"
    with store.create(out, sweep, print) as made:
        survey(make_plan(sweep), made)
    (out / "sweep.yaml").write_text(SHORT.replace("monks-1", "monks-2"))
    assert "sweep.yaml is not what was written there; if you have" in refused(command, out)


def test_what_the_driver_finds_is_said_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, table = tmp_path / "s.yaml", tmp_path / "t.csv"
    spec.write_text(SHORT.replace("[monks-1]", "[{path: t.csv, target: y}]"))
    table.write_text("a,y\np,0\nq,1\n" * 5)

    def start(arguments: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        table.unlink()  # it goes away after it was looked at
        return start_driver(arguments, log)

    monkeypatch.setattr(detached_driver, "start_driver", start)
    said = refused("submit", spec, "--out", tmp_path / "out")
    assert "the driver has ended: " in said
    assert "there is no file" in said
    assert str(tmp_path / "out" / "driver.log") in said


def test_a_plan_that_is_not_there_yet_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SHORT)
    out = tmp_path / "out"
    with store.create(out, load_spec(tmp_path / "s.yaml"), print):
        assert "is still making the plan; look again in a moment" in refused("status", out)
    assert "has no plan yet; 'treesweep resume" in refused("status", out)


def test_drivers_of_others_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = Driver(os.getpid(), "process 7 on n7")
    monkeypatch.setattr(detached_driver, "find_driver", lambda place: there)
    with pytest.raises(InputError, match="is process 7 on n7; run 'treesweep stop x' there"):
        stop_driver("x")
    monkeypatch.setattr(
        detached_driver, "find_driver", lambda place: Driver(2**22 + 1, "gone", "7")
    )
    with pytest.raises(InputError, match="no driver is at work on x"):
        stop_driver("x")


def test_a_driver_that_ends_its_sweep_while_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to go on with then."""
    monkeypatch.setattr(detached_driver, "stop_driver", lambda place: Driver(2**22 + 1, "it", "7"))
    (tmp_path / "s.yaml").write_text(SHORT)
    out, sweep = tmp_path / "out", load_spec(tmp_path / "s.yaml")
    with store.create(out, sweep, print) as made:
        survey(make_plan(sweep), made)
    assert f"Stopped. Go on with: treesweep resume {out}" in run("stop", out).stdout
    without_dask.finish(out, sweep)
    over = run("stop", out)
    assert over.exit_code == 0
    assert "Go on" not in over.stdout
    assert f"Report: treesweep report {out}" in over.stdout


def test_the_end_of_a_driver_is_that_of_its_process() -> None:
    with subprocess.Popen(["sleep", "100"]) as process:
        driver = Driver(process.pid, "sleep", began(process.pid))
        assert not await_end(driver, 0.1)
        process.kill()
        assert await_end(driver, 30)
    # A process that has its number by now is another one.
    assert await_end(Driver(os.getpid(), "gone", "7"), 0)
