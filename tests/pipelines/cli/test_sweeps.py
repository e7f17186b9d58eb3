"""``treesweep run``, ``resume``, ``status`` and ``verify``."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from sweep.plan.plan import make_plan
from sweep.rows import result_rows
from sweep.spec.spec import parse_spec
from sweep.store import store as stores
from sweep.store.checksummed_parquet import to_bytes
from sweep.store.plan_file import survey
from sweep.store.read_results import read_results
from sweep.verify import external_claims
from sweep.verify.external_claims import Contradiction
from tests.helpers import PATIENCE, ROOT, without_dask
from tests.helpers.commands import SCRIPT, refused, run

EXAMPLES = ROOT / "examples"

SPEC = """\
name: small
datasets: [monks-1, monks-3]
encodings: [categorical, onehot]
lambdas: [0.05, 0.01]
solvers: [branches, cart]
validation: {kind: holdout, test: 0.25}
"""
LOCAL = "kind: local\nworkers: 1\n"
UNEQUAL = ["seconds", "compile_seconds", "host", "worker", "started", "finished", "trace", "extra"]
"""Columns that are of the run, not of its result."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a spec, a cluster file and the spec's finished sweep."""
    home = tmp_path_factory.mktemp("finished")
    (home / "small.yaml").write_text(SPEC)
    (home / "cluster.yaml").write_text(LOCAL)
    result = run(
        "run", home / "small.yaml", "--out", home / "out", "--cluster", home / "cluster.yaml"
    )
    assert result.exit_code == 0, result.output
    (home / "log.txt").write_text(result.stdout)
    return home


@pytest.fixture
def home(finished: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    shutil.copytree(finished, tmp_path / "home", symlinks=True)
    return tmp_path / "home"


def snapshot(folder: Path) -> dict[str, bytes]:
    """All that a folder holds."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_sweep_says_what_it_did(finished: Path) -> None:
    log = (finished / "log.txt").read_text()
    assert "12 tasks run in " in log
    assert "none failed, 4 cannot be run" in log
    assert f"treesweep report {finished / 'out'}" in log
    assert "12/12 done" in log
    rows = read_results(finished / "out")
    assert len(rows) == 12
    assert set(rows["status"]) == {"optimal", "heuristic"}


def test_a_finished_sweep_has_nothing_to_do(home: Path) -> None:
    before = read_results(home / "out")
    result = run("run", home / "small.yaml", "--out", home / "out")
    assert result.exit_code == 0
    assert "Nothing to do: all 12 tasks were answered before." in result.stdout
    pd.testing.assert_frame_equal(read_results(home / "out"), before)


def test_a_changed_sweep_runs_what_is_new(home: Path) -> None:
    (home / "small.yaml").write_text(SPEC.replace("0.05, 0.01", "0.05, 0.01, 0.2"))
    result = run("run", home / "small.yaml", "--out", home / "out", "--cluster",
                 home / "cluster.yaml")  # fmt: skip
    assert result.exit_code == 0
    assert "6 tasks run in " in result.stdout
    assert "12 answered before" in result.stdout
    again = run("resume", home / "out")
    assert (again.exit_code, again.stdout.splitlines()[0]) == (
        0,
        "Nothing to do: all 18 tasks were answered before.",
    )


def test_a_dry_run_shows_the_plan_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(
        SPEC.replace("cart]", "{solver: cart, options: {criterion: [gini, entropy]}}]")
    )
    result = run("run", tmp_path / "small.yaml", "--out", tmp_path / "out", "--dry-run")
    assert result.exit_code == 0
    assert "small: 16 tasks" in result.stdout
    assert "cart criterion=entropy" in result.stdout
    assert "8 cells cannot be run" in result.stdout
    assert "solver 'cart' needs binary or continuous features" in result.stdout
    assert "no limit of time is set" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["small.yaml"]


def test_a_dry_run_says_what_is_done_in_shards(tmp_path: Path) -> None:
    for solvers, words in (
        ("{solver: branches, shards: 3}", "branches in 3 shards"),
        ("{solver: branches, shards: auto}", "branches shards auto"),
        (
            "{solver: branches, shards: auto, options: {splits: 3}}",
            "branches shards auto (undivided)",
        ),
        ("branches, {solver: branches, shards: auto}", "branches shards auto"),
    ):
        (tmp_path / "small.yaml").write_text(SPEC.replace("[branches, cart]", f"[{solvers}]"))
        told = run("run", tmp_path / "small.yaml", "--dry-run").stdout
        assert f"  {words}  " in told, told


@pytest.mark.parametrize(
    ("solvers", "words"),
    [
        ("[cart]", "no limit of time is set."),
        (
            "[cart, {solver: branches, options: {seconds: 0.6}}]",
            "at most 5 s of search, without 4 tasks that no limit of time is set for.",
        ),
        ("[{solver: cart, options: {seconds: 1000}}]", "at most 1 h 07 min of search."),
        ("[{solver: cart, options: {seconds: 89999}}]", "at most 5 days of search."),
    ],
)
def test_a_dry_run_says_of_the_time_only_what_limits_ensure(
    tmp_path: Path, solvers: str, words: str
) -> None:
    (tmp_path / "small.yaml").write_text(SPEC.replace("[branches, cart]", solvers))
    result = run("run", tmp_path / "small.yaml", "--dry-run")
    assert result.stdout.rstrip().endswith(words)


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_have_a_plan(example: Path) -> None:
    result = run("run", example, "--dry-run")
    if "there is no file" in result.stderr and "shared" in result.stderr:
        pytest.skip("the UCI data are not beside this checkout")
    assert result.exit_code == 0, result.stderr
    assert "Estimate: " in result.stdout


def test_status_of_a_dead_sweep(finished: Path) -> None:
    result = run("status", finished / "out")
    assert result.exit_code == 0
    for words in ("small in ", "none is at work", "12/12 done, 0 failed", "8 optimal",
                  "4 heuristic", "4 cells cannot be run", "worst gap"):  # fmt: skip
        assert words in result.stdout
    data = json.loads(run("status", finished / "out", "--json").stdout)
    assert (data["total"], data["done"], data["failed"], data["missing"]) == (12, 12, 0, 0)
    assert data["live"] is False


def test_a_report_is_written_and_summed_up(finished: Path, tmp_path: Path) -> None:
    result = run("report", finished / "out", "--out", tmp_path / "report")
    assert result.exit_code == 0, result.output
    page = tmp_path / "report" / "index.html"
    assert result.stdout.splitlines()[-1] == f"Report: {page}"
    assert "12 done" in result.stdout
    assert "monks-1" in page.read_text(encoding="utf-8")
    line = refused("report", finished / "out", "--out", tmp_path, "--published", tmp_path / "no")
    assert str(tmp_path / "no") in line


def test_verify_finds_nothing_in_a_good_store(finished: Path) -> None:
    result = run("verify", finished / "out")
    assert (result.exit_code, result.stdout) == (
        0,
        "12 rows checked, 12 trees scored anew: all is well. Taken on trust: 8 lower bounds that "
        "no checked certificate proves, and how, when and where searches ran.\n",
    )
    assert (
        "Taken on trust: the rows outside the sample, and "
        in run("verify", finished / "out", "--sample", "3").stdout
    )


def test_verify_names_claims_of_others_that_are_not_true(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Contradiction("four", "onehot", "0", "dl85", "the optimum 0.25", "branches", "has 0")
    monkeypatch.setattr(external_claims, "refuted_claims", lambda folder: [said])
    result = run("verify", finished / "out")
    assert result.exit_code == 0
    told, last = result.stdout.splitlines()
    assert told == ("not true: four, onehot, λ = 0: dl85 claims the optimum 0.25; branches has 0")
    assert last == (
        "12 rows checked, 12 trees scored anew: all is well. Taken on trust: 8 lower bounds that "
        "no checked certificate proves, and how, when and where searches ran."
    )


def test_verify_of_nothing_does_not_say_that_all_is_well(home: Path) -> None:
    for part in (home / "out" / "rows").glob("*.parquet"):
        part.unlink()
    result = run("verify", home / "out")
    assert result.exit_code == 1
    assert result.stdout == f"Nothing is checked: {home / 'out'} has no rows.\n"


def test_verify_says_how_many_planned_tasks_have_no_row(home: Path) -> None:
    part = min((home / "out" / "rows").glob("*.parquet"))
    part.write_bytes(to_bytes(pq.read_table(part).slice(1)))
    out = home.rename(home.with_name("my home")) / "out"
    result = run("verify", out)
    assert result.exit_code == 1
    assert "all is well" not in result.stdout
    assert "11 rows checked" in result.stdout
    assert f"; 1 of 12 planned tasks has no row (treesweep resume '{out}')" in result.stdout
    assert f"treesweep resume '{out}'\n" in run("status", out).stdout


@pytest.mark.parametrize(
    ("fates", "words"),
    [
        ((True, True), "2 of 2 planned tasks have failed ("),
        ((True, False), "1 of 2 planned tasks has failed ("),
        ((True, None), "1 of 2 planned tasks has failed; 1 of 2 planned tasks has no row ("),
    ],
)
def test_verify_says_how_many_planned_tasks_have_failed(
    tmp_path: Path, fates: tuple[bool | None, ...], words: str
) -> None:
    text = SPEC.replace(", monks-3", "").replace("categorical, ", "").replace(", cart", "")
    sweep = parse_spec(text)
    plan, done = make_plan(sweep), without_dask.make_rows(sweep)
    with stores.create(tmp_path / "out", sweep, print) as store:
        survey(plan, store)
        for task, fails, row in zip(plan.tasks(), fates, done, strict=True):
            place = result_rows.Provenance(None, None, result_rows.now())
            failure = result_rows.failed(
                task.node.info, without_dask.cell_of(task), place, "it broke"
            )
            if fails is not None:
                store.add(result_rows.as_finished([failure if fails else row]))
    result = run("verify", tmp_path / "out")
    assert result.exit_code == 1
    assert "all is well" not in result.stdout
    assert words in result.stdout


def test_verify_counts_trees_that_it_could_not_score(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [1, 2, 1, 2], "y": ["p", "q", "p", "q"]})
    table.to_csv(tmp_path / "mine.csv", index=False)
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "name: mine\ndatasets: [monks-1, {path: mine.csv, target: y}]\nencodings: [thresholds]\n"
        "lambdas: [0.2, 0.1]\nsolvers: [cart]\n"
    )
    (tmp_path / "cluster.yaml").write_text(LOCAL)
    assert run("run", spec, "--out", tmp_path / "out", "--cluster", tmp_path / "cluster.yaml")
    (tmp_path / "mine.csv").unlink()
    result = run("verify", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stdout.count("there is no file") == 2
    last = result.stdout.splitlines()[-1]
    assert last == (
        "4 rows checked, 2 trees scored anew, 2 trees could not be: 2 findings. Taken on trust: "
        "how, when and where searches ran."
    )


def test_verify_names_a_row_that_was_tampered_with(home: Path) -> None:
    part = min((home / "out" / "rows").glob("*.parquet"))
    table = pq.read_table(part)
    errors = table["errors"].to_pylist()
    errors[0] += 2  # never one error
    place = table.column_names.index("errors")
    changed = table.set_column(place, table.schema.field("errors"), [errors])
    part.write_bytes(to_bytes(changed))
    result = run("verify", home / "out")
    assert result.exit_code == 1
    assert "12 rows checked" in result.stdout
    assert f"not that of {errors[0]} errors" in result.stdout


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (SPEC + "color: red\n", ["line 7", "color"]),
        (SPEC.replace("lambdas: [0.05", "lambdas: [-0.05"), ["line 4", "-0.05"]),
        (SPEC.replace("lambdas: [0.05", "lambdas: [abc"), ["line 4", "abc"]),
        (SPEC.replace("[monks-1", "[monk-1"), ["line 2", "monk-1", "monks-1"]),
        (SPEC.replace("[categorical, onehot]", "one-hot"), ["line 3", "onehot"]),
        (SPEC.replace("name: small\n", ""), ["name"]),
        (SPEC.replace("solvers: [branches", "solvers: [oak"), ["line 5", "oak", "branches"]),
        (SPEC.replace("test: 0.25", "test: 2"), ["line 6", "test"]),
        (SPEC.replace("test: 0.25", "test: quarter"), ["line 6", "number"]),
        (SPEC.replace("monks-1", "{path: gone.csv, target: y}"), ["gone.csv"]),
        (SPEC.replace("monks-1", "{path: t.csv, target: z}"), ["'z'"]),
        (SPEC.replace("monks-1", "{path: one.csv, target: y}"), ["single class"]),
        (SPEC.replace("monks-1", "{path: none.csv, target: y}"), ["no rows"]),
        (SPEC.replace("monks-1, monks-3", "wine").replace("categorical, onehot", "categorical"),
         ["wine", "categorical"]),
        (SPEC.replace("onehot", "categorical").replace("branches, ", ""), ["cart", "binary"]),
        ("", ["empty"]),
        ("a: [1\n", ["YAML"]),
    ],
)  # fmt: skip
def test_a_bad_spec_is_one_line_and_nothing_is_written(
    spec: str, words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,b\n")
    (tmp_path / "one.csv").write_text("x,y\n1,a\n2,a\n")
    (tmp_path / "none.csv").write_text("x,y\n")
    (tmp_path / "bad.yaml").write_text(spec)
    line = refused("run", tmp_path / "bad.yaml", "--out", tmp_path / "out")
    assert all(word in line for word in words), line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (None, ["cluster.yaml", "No such file"]),
        ("kind: [", ["cluster.yaml", "YAML"]),
        ("kind: cloud\n", ["line 1", "cloud", "local"]),
        ("kind: local\nworkers: many\n", ["line 2", "workers"]),
        ("kind: address\naddress: 'tcp://127.0.0.1:1'\n", ["insecure: true"]),
        (
            "kind: address\naddress: 'tcp://127.0.0.1:1'\ninsecure: true\nconnect_timeout: 1\n",
            ["tcp://127.0.0.1:1", "is it running"],
        ),
    ],
)
def test_a_bad_cluster_is_one_line_and_nothing_is_written(
    cluster: str | None, words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    file = tmp_path / "cluster.yaml"
    if cluster is not None:
        file.write_text(cluster)
    line = refused(
        "run", tmp_path / "small.yaml", "--out", tmp_path / "out", "--cluster", file
    )  # fmt: skip
    assert all(word in line for word in words), line
    assert not (tmp_path / "out").exists()


def test_the_store_of_another_sweep_is_left_alone(home: Path) -> None:
    before = snapshot(home / "out")
    other = home / "other.yaml"
    other.write_text(SPEC.replace("name: small", "name: other"))
    line = refused("run", other, "--out", home / "out")
    assert "'small'" in line
    assert "--out" in line
    assert snapshot(home / "out") == before


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("...")
    line = refused("run", tmp_path / "small.yaml", "--out", tmp_path / "out")
    assert "thesis.tex" in line
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("command", ["status", "verify", "report"])
def test_a_damaged_part_is_named_and_left_alone(command: str, home: Path) -> None:
    part = min((home / "out" / "rows").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-100])
    before = snapshot(home / "out" / "rows")
    line = refused(command, home / "out")
    assert f"{part.name} is damaged" in line
    assert f"'treesweep resume {home / 'out'}'" in line
    assert snapshot(home / "out" / "rows") == before


def test_what_was_in_a_damaged_part_is_computed_again(home: Path) -> None:
    out = home / "out"
    wanted = read_results(out).drop(columns=UNEQUAL).sort_values("key", ignore_index=True)
    part = min((out / "rows").glob("*.parquet"))
    damaged = part.read_bytes()[:-100]
    part.write_bytes(damaged)
    (out / "plan.parquet").write_bytes((out / "plan.parquet").read_bytes()[:-9])
    assert "'treesweep resume" in refused("status", out)
    result = run("resume", out, "--cluster", home / "cluster.yaml")
    assert result.exit_code == 0, result.output
    assert f"it is now damaged/{part.name}" in " ".join(result.stdout.split())
    assert (out / "damaged" / part.name).read_bytes() == damaged
    found = read_results(out).drop(columns=UNEQUAL).sort_values("key", ignore_index=True)
    pd.testing.assert_frame_equal(found, wanted)


@pytest.mark.parametrize("command", ["resume", "status", "verify", "report"])
def test_what_is_no_sweep_is_named(command: str, tmp_path: Path) -> None:
    assert "nowhere" in refused(command, tmp_path / "nowhere")
    assert str(tmp_path) in refused(command, tmp_path)


LONG = """\
name: long
datasets: [nursery]
encodings: [onehot]
lambdas: [0.001, 0.0005]
solvers: [branches]
"""


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_on_a_terminal(presses: int, tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(LONG)
    (tmp_path / "cluster.yaml").write_text(LOCAL)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [str(SCRIPT), "run", "long.yaml", "--out", "out", "--cluster", "cluster.yaml"],
        cwd=tmp_path, stdout=theirs, stderr=theirs, start_new_session=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(theirs)
    shown, waiting_for = b"", [b"1 running", b"stopping"][:presses]
    while chunk := _read(ours):
        shown += chunk
        if waiting_for and waiting_for[0] in shown:
            # The first search is handed out; it should be on its way.
            if waiting_for.pop(0) == b"1 running":
                time.sleep(3)
                alive = json.loads(run("status", tmp_path / "out", "--json").stdout)
            process.send_signal(signal.SIGINT)
    os.close(ours)
    assert process.wait(timeout=PATIENCE) == 130
    assert (alive["live"], alive["running"], alive["workers"]) == (True, 1, 1)
    text = shown.decode()
    assert "Traceback" not in text
    assert "0/2 done" in text
    assert "stopping" in text
    found = json.loads(run("status", tmp_path / "out", "--json").stdout)
    assert (found["live"], found["total"], found["done"]) == (False, 2, 0)
    if presses == 1:
        assert "Go on with: treesweep resume out" in text
        assert found["unfinished"] >= 1


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""


PATHS = """\
name: paths
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.05, 0.02, 0.01]
solvers: [cart, branches, {solver: branches, lam: path, proof: true}]
"""


def test_paths_and_proofs_are_planned_run_and_verified(tmp_path: Path) -> None:
    (tmp_path / "paths.yaml").write_text(PATHS)
    (tmp_path / "cluster.yaml").write_text(LOCAL)
    planned = run("run", tmp_path / "paths.yaml", "--dry-run")
    lines = [" ".join(line.split()) for line in planned.stdout.splitlines()]
    assert "monks-1 onehot cart 0.05 … 0.01 3" in lines
    assert any(line.endswith("path from 0.01 1") for line in lines)
    ran = run(
        "run", tmp_path / "paths.yaml", "--out", tmp_path / "out",
        "--cluster", tmp_path / "cluster.yaml",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.output
    plain, proven = run("verify", tmp_path / "out"), run("verify", tmp_path / "out", "--proof")
    assert (plain.exit_code, proven.exit_code) == (0, 0)
    assert plain.stdout.startswith("7 rows checked, ")
    assert plain.stdout.endswith(
        " scored anew: all is well. Taken on trust: 4 lower bounds that no checked certificate "
        "proves, and how, when and where searches ran.\n"
    )
    assert proven.stdout.endswith(
        " scored anew, 1 proof checked: all is well. Taken on trust: 3 lower bounds that no "
        "checked certificate proves, and how, when and where searches ran.\n"
    )
    assert "checking the certificate of" in proven.stderr
    (proof,) = (tmp_path / "out" / "proofs").iterdir()
    proof.write_bytes(proof.read_bytes()[:-9] + b"dishonest")
    found = run("verify", tmp_path / "out", "--proof")
    assert found.exit_code == 1
    assert "λ = path from 0.01" in found.stdout
    assert "is damaged" in found.stdout
    proof.unlink()
    assert "is not there" in run("verify", tmp_path / "out").stdout
