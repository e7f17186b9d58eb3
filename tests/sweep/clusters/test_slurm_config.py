"""Clusters of SLURM jobs: what a file may say, and a real SLURM of one node."""
# ruff: noqa: E501  a message is easier to read on one line

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from distributed import Client, Status

from solver.errors import InputError
from sweep.clusters import load_cluster, open_cluster, reach_cluster, slurm_cluster
from sweep.clusters.slurm_cluster import last_log_line
from sweep.clusters.slurm_config import Slurm, read_walltime
from tests.helpers import PATIENCE, slurm_server, wait_until
from tests.helpers.commands import SCRIPT
from tests.helpers.drivers import STEPS, Drive, Driver, alike, wait_for_done

LEAST = "jobs: 2\nmemory: 4GiB\nwalltime: 02:00:00\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "cluster.yaml"
    path.write_text("kind: slurm\n" + text)
    return path


@pytest.mark.parametrize(
    "text, seconds",
    [("90", 5400), ("90:30", 5430), ("02:00:00", 7200), ("1-00", 86400), ("2-03:04:05", 183845)],
)
def test_times_are_read_as_slurm_writes_them(text: str, seconds: int) -> None:
    assert read_walltime(text) == seconds


def test_the_shell_of_a_node_replaces_the_tilde_of_a_python(tmp_path: Path) -> None:
    text = LEAST + f"shared_directory: {tmp_path}\npython: ~/mine/bin/python\n"
    lines = load_cluster(write(tmp_path, text)).dry_run().splitlines()
    (command,) = [line for line in lines if "dask_worker" in line]
    assert command.startswith("~/mine/bin/python -m ")


def test_a_dry_run_shows_the_script_of_a_job(tmp_path: Path) -> None:
    text = LEAST + (
        "jobs: {minimum: 1, maximum: 4}\nprocesses: 8\nqueue: long\naccount: lab-7\n"
        "options: {constraint: 'cpu&ib', exclusive: true, nice: 10}\nmargin: 120\n"
        f"shared_directory: {tmp_path}\npython: /opt/venv/bin/python\ninterface: ib0\n"
    ).replace("jobs: 2\n", "")
    shown = load_cluster(write(tmp_path, text.replace("jobs: 2\n", "", 1))).dry_run()
    lines = shown.splitlines()
    assert lines[0] == "1 to 4 jobs with 8 workers each, submitted with sbatch:"
    wanted = [
        "#!/usr/bin/env bash",
        "#SBATCH -p long",
        "#SBATCH -A lab-7",
        "#SBATCH -t 02:00:00",
        "#SBATCH --cpus-per-task=8",
        "#SBATCH --mem=4G",
        "#SBATCH --constraint=cpu&ib",
        "#SBATCH --exclusive",
        "#SBATCH --nice=10",
        f"export DASK_CONFIG={tmp_path}/RUN/dask.yaml",
        "export TREESWEEP_RETIRE_AT=$(( $(date +%s) + 7080 ))",
    ]
    assert set(wanted) <= set(lines)
    (command,) = [line for line in lines if "dask_worker" in line]
    assert command.startswith("/opt/venv/bin/python -m distributed.cli.dask_worker tls://")
    for option in (
        "--nworkers 8", "--nthreads 1", "--nanny", "--lifetime 7160s", "--lifetime-stagger 20s",
        "--interface ib0", f"--tls-key {tmp_path}/RUN/keys/node.key", "--memory-limit 512.00MiB",
    ):  # fmt: skip
        assert option in command
    assert not (tmp_path / "RUN").exists()


@pytest.mark.parametrize(
    "text, message",
    [
        ("jobs: 2\nwalltime: 60\n", "the key 'memory' is missing"),
        (LEAST.replace("4GiB", "auto"), "memory: write how much memory a job asks for, e.g. 8GiB"),
        (LEAST.replace("02:00:00", "soon"), "walltime: 'soon' is no time of a minute or more; write e.g. 02:00:00"),
        (LEAST.replace("02:00:00", "00:00:30"), "is no time of a minute or more"),
        (LEAST + "margin: 3600\n", "margin: is more than half of the wall time"),
        (LEAST.replace("jobs: 2", "jobs: 0"), "jobs: input should be greater than or equal to 1, got 0"),
        (LEAST.replace("jobs: 2", "jobs: {minimum: 3, maximum: 2}"), "jobs.minimum: is more than the maximum"),
        (LEAST + "options: {wrap: evil}\n", "options.wrap: unknown option of sbatch 'wrap'"),
        (LEAST + "options: {prolog: evil}\n", "unknown option of sbatch 'prolog'"),
        (LEAST + "options: {export: 'LD_PRELOAD=evil.so'}\n", "unknown option of sbatch 'export'"),
        (LEAST + "options: {comment: \"a\\nevil\"}\n", "has characters that no option of sbatch needs"),
        (LEAST + "options: {comment: 'a b'}\n", "has characters that no option of sbatch needs"),
        (LEAST + "queue: 'a b'\n", "queue: 'a b' is no name"),
        (LEAST + "python: /bin/sh\n", "python: '/bin/sh' does not name a Python"),
        (LEAST + "shared_directory: '$(evil)'\n", "has characters that are not safe in a command"),
        (LEAST + "job_script_prologue: [evil]\n", "unknown key 'job_script_prologue'"),
        (LEAST + "shebang: '#!/bin/evil'\n", "unknown key 'shebang'"),
    ],
)  # fmt: skip
def test_bad_files_name_line_key_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_cluster(write(tmp_path, text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_slurm_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    config = load_cluster(write(tmp_path, LEAST))
    with pytest.raises(
        InputError, match="there is no sinfo here: run this on a machine that submits"
    ):
        reach_cluster(config)


def test_the_last_words_of_a_job_are_found(tmp_path: Path) -> None:
    (tmp_path / "treesweep-7.err").write_text("first\nNo module named sweep\n\n")
    (tmp_path / "treesweep-8.err").write_text("")
    assert last_log_line(tmp_path, "7") == " (No module named sweep)"
    assert last_log_line(tmp_path, "8") == last_log_line(tmp_path, "9") == ""


@pytest.mark.slow
def test_jobs_that_never_work_are_given_up(
    slurm: slurm_server.Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "python3"
    bare.write_text("#!/bin/sh\necho 'No module named distributed' >&2\nexit 1\n")
    bare.chmod(0o755)
    config = Slurm.model_validate(slurm.config(python=str(bare), jobs=1))
    message = r"3 jobs ended before a worker of theirs had come \(No module named distributed\)"
    monkeypatch.setattr(slurm_cluster, "_UPDATE_SECONDS", 0.3)
    monkeypatch.setattr(slurm_cluster, "_ADAPT_SECONDS", 0.3)
    with open_cluster(config) as client, pytest.raises(InputError, match=message):
        work = client.submit(sum, [1, 2])
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            config.maintain(client, 0, 10)
            time.sleep(0.3)
        assert work.status == "pending"


@pytest.mark.slow
def test_jobs_come_and_go_with_the_work(
    slurm: slurm_server.Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm_cluster, "_UPDATE_SECONDS", 0.3)
    monkeypatch.setattr(slurm_cluster, "_ADAPT_SECONDS", 0.3)
    config = Slurm.model_validate(slurm.config(jobs=2))
    notes: list[str] = []

    def watch(client: Client, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not until():
            assert time.monotonic() < deadline, (notes, slurm.jobs())
            notes.extend(config.maintain(client, 0, 1))
            time.sleep(0.2)

    with open_cluster(config) as client:
        work = [client.submit(time.sleep, 3 + i / 100, key=f"sleep-{i}") for i in range(30)]
        watch(client, lambda: len(slurm.jobs()) == 2)
        client.wait_for_workers(2, timeout=PATIENCE)
        job, _ = slurm.jobs()
        slurm.run("scancel", job)
        watch(client, lambda: job not in slurm.jobs() and len(slurm.jobs()) == 2)
        client.cancel(work)
        watch(client, lambda: not slurm.jobs())
        notes.extend(config.maintain(client, 0, 1))
        again = client.submit(sum, [1, 2])
        watch(client, lambda: len(slurm.jobs()) == 1 and again.done())
        assert again.result() == 3
    assert any("has no work left and is cancelled" in note for note in notes)
    assert f"job {job} has ended" in notes or any(f"job {job} ended before" in n for n in notes)
    assert slurm.jobs() == []


@pytest.mark.slow
def test_a_cluster_closes_while_its_jobs_are_still_in_memory(slurm: slurm_server.Slurm) -> None:
    """Dask knows its jobs for as long as something else does, and asserts that they are closed."""
    with open_cluster(Slurm.model_validate(slurm.config(jobs=2))) as client:
        work = client.submit(sum, [1, 2])
        assert work.result(timeout=PATIENCE) == 3
        assert isinstance(client.cluster, slurm_cluster.JobsCluster)
        jobs = list(client.cluster.workers.values())
    assert jobs
    assert {job.status for job in jobs} == {Status.closed}
    assert slurm.jobs() == []


@pytest.mark.slow
def test_a_job_submitted_while_slurm_lists_the_others_has_not_ended(
    slurm: slurm_server.Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow list of jobs lacks those that are submitted in the meantime."""
    monkeypatch.setattr(slurm_cluster, "_UPDATE_SECONDS", 0.1)
    monkeypatch.setattr(slurm_cluster, "_ADAPT_SECONDS", 0.3)
    asked: list[float] = []

    def ask(*command: str) -> str:
        listed = ask_slurm(*command)
        asked.append(time.monotonic())
        time.sleep(3)
        return listed

    ask_slurm = slurm_cluster.ask
    config = Slurm.model_validate(slurm.config(jobs=2))
    notes: list[str] = []
    with open_cluster(config) as client:
        monkeypatch.setattr(slurm_cluster, "ask", ask)
        deadline = time.monotonic() + PATIENCE
        while not asked:
            assert time.monotonic() < deadline
            notes.extend(config.maintain(client, 0, 1))
            time.sleep(0.1)
        work = [client.submit(time.sleep, 2 + i / 100, key=f"wait-{i}") for i in range(8)]
        while not all(future.done() for future in work):
            assert time.monotonic() < deadline + PATIENCE, (notes, slurm.jobs())
            assert len(slurm.jobs()) <= 2
            notes.extend(config.maintain(client, 0, 1))
            time.sleep(0.2)
    assert not [note for note in notes if "before a worker of it had come" in note]


def drive_over(slurm: slurm_server.Slurm, folder: Path, **more: Any) -> Drive:
    lines = [
        f"{key}: {value}" for key, value in slurm.config(folder=folder / "shared", **more).items()
    ]
    path = folder / "cluster.yaml"
    path.write_text("\n".join(lines) + "\n")
    drive = Drive(folder, str(path))
    drive.environment.update(slurm.environment)
    return drive


LONGER_THAN_A_JOB = """
name: longer-than-a-job
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.4, 0.3]
solvers: [{solver: counter, options: {steps: 20}}]
"""


class Ended:
    """What came of a driver."""

    def __init__(self, drive: Drive, process: Driver) -> None:
        self.drive = drive
        self.out, self.err = process.communicate()
        self.code = process.returncode

    def logs(self) -> list[str]:
        """What its jobs have written."""
        return logs_of(self.drive)


def logs_of(drive: Drive) -> list[str]:
    return [path.read_text() for path in drive.folder.glob("shared/*/logs/*.err")]


@pytest.fixture(scope="module")
def ended(slurm: slurm_server.Slurm, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """Two sweeps side by side, since SLURM counts time in minutes: see the tests of each.

    Their searches are held until what is to happen to their jobs has happened.
    """
    both = "{minimum: 2, maximum: 2}"
    folder = tmp_path_factory.mktemp("killed")
    killed = drive_over(slurm, folder, walltime="00:30:00", jobs=both)
    longer = drive_over(slurm, tmp_path_factory.mktemp("longer"), walltime="00:02:00", margin=45)
    killed.hold(2)
    longer.hold()
    with killed.start("run", STEPS) as one:
        wait_for_done(one, 2)
        before = killed.wait_until_held()
        short, other = slurm.jobs()
        # A minute after its begin this job's time is over; its workers do not know.
        slurm.run("scontrol", "update", f"JobId={short}", "TimeLimit=1")
        with longer.start("run", LONGER_THAN_A_JOB) as two:
            slurm.run("scancel", other)
            wait_until(lambda: "DUE TO TIME LIMIT" in "".join(logs_of(killed)), slurm.logs)
            wait_until(lambda: len(killed.held().keys() - before.keys()) == 2, slurm.logs)
            killed.release()
            found = {"killed": Ended(killed, one)}
            again = longer.folder / "from-10"
            wait_until(lambda: again.exists() and again.stat().st_size >= 2, slurm.logs)
            longer.release()
            return {**found, "longer": Ended(longer, two)}


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.timeout(1200)  # with what they wait for, on a busy machine
def test_jobs_that_are_killed_cost_nothing(ended: dict[str, Ended], quiet: pd.DataFrame) -> None:
    """One by its wall time, one by ``scancel``; the result is that of a quiet run here."""
    killed = ended["killed"]
    assert killed.code == 0, killed.err
    rows = killed.drive.rows()
    pd.testing.assert_frame_equal(alike(rows), quiet)
    assert rows["attempt"].max() == 2  # what was at work when they were killed
    logs = killed.logs()
    assert sum("DUE TO TIME LIMIT" in log for log in logs) == 1
    assert len(logs) >= 3
    assert "has ended" in killed.out
    report = [str(SCRIPT), "report", str(killed.drive.out)]
    subprocess.run(report, check=True, env=killed.drive.environment, capture_output=True)
    assert (killed.drive.out / "report" / "index.html").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.timeout(1200)  # with what they wait for, on a busy machine
def test_searches_longer_than_a_job_go_on_in_the_next(ended: dict[str, Ended]) -> None:
    longer = ended["longer"]
    assert longer.code == 0, longer.err
    rows = longer.drive.rows()
    assert set(rows["status"]) == {"optimal"}
    assert set(rows["iterations"]) == {20}
    assert (rows["attempt"] == 1).all()  # to leave in time is no failure
    folder = longer.drive.folder
    starts = {path.name: path.stat().st_size for path in folder.glob("from-*")}
    assert starts["from-0"] >= 2
    assert starts["from-10"] >= 2
    # What was stopped went on from where it stood. Only what ran for less than WORTH seconds is
    # not worth its way: a job may end just after it was given a search.
    again = (folder / "steps").stat().st_size - 2 * 20
    assert again <= 10 * (starts["from-0"] + starts["from-10"] - 4)
    assert "leaves, its time is over" in longer.out
    assert "note job" in longer.out
