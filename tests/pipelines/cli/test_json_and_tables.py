"""Streams that the shell has closed, readers that leave, and arguments that are no text."""

from __future__ import annotations

import itertools
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from pipelines.cli import treesweep
from pipelines.cli.command_group import ExitCode
from tests.helpers import PATIENCE
from tests.helpers.commands import SCRIPT, refused

SPEC = """\
name: small
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2]
solvers: [cart]
"""

COMMANDS = {
    "inspect": ("inspect monks-1", 0),
    "init": ("init monks-1", 0),
    "run": ("run small.yaml --out fresh --cluster one.yaml", 0),
    "resume": ("resume out", 0),
    "submit": ("submit small.yaml --out out --cluster one.yaml", 0),
    "stop": ("stop out", 2),
    "status": ("status out", 0),
    "report": ("report out", 0),
    "verify": ("verify out", 0),
    "reproduce": ("reproduce --list", 0),
    "compare": ("compare out out", 0),
    "solve": ("solve monks-1 --encoding onehot --lam 0.2 --solver cart --save tree.json", 0),
    "path": ("path monks-1 --encoding onehot --lam-min 0.2", 0),
    "rashomon": ("rashomon monks-1 --lam 0.2", 0),
    "predict": ("predict out/tree.json table.csv", 2),
    "show": ("show out/tree.json", 2),
    "datasets": ("datasets", 0),
    "encodings": ("encodings", 0),
    "solvers": ("solvers", 0),
    "warmup": ("warmup cart", 0),
    "cluster": ("cluster check one.yaml", 0),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a spec and its finished sweep, which was run without any stream."""
    home = tmp_path_factory.mktemp("streams")
    (home / "small.yaml").write_text(SPEC)
    (home / "one.yaml").write_text("kind: local\nworkers: 1\n")
    assert shell(home, "run small.yaml --out out --cluster one.yaml", "<&- >&- 2>&-") == (0, "", "")
    return home


def shell(home: Path, arguments: str, streams: str) -> tuple[int, str, str]:
    command = f"{shlex.quote(str(SCRIPT))} {arguments} {streams}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        cwd=home,
        timeout=PATIENCE,
    )
    return done.returncode, done.stdout, done.stderr


def test_every_command_is_tried() -> None:
    assert set(COMMANDS) == set(treesweep.commands)


BOTH = ">&- 2>&-"
SOME = ("encodings", "status", "stop")


# Closed streams are replaced before a command begins, so that one is as good as the other.
@pytest.mark.parametrize(
    "name, streams",
    [
        *itertools.product(SOME, [">&-", "2>&-", BOTH]),
        *(pytest.param(n, BOTH, marks=pytest.mark.slow) for n in COMMANDS if n not in SOME),
    ],
)
def test_a_closed_stream_changes_no_exit_code(home: Path, name: str, streams: str) -> None:
    arguments, code = COMMANDS[name]
    found, out, err = shell(home, arguments, streams)
    assert found == code, err
    assert "Traceback" not in out + err
    assert not (out if ">&-" in streams.split() else err)


# Where stderr goes is the same to all commands.
@pytest.mark.parametrize(
    ("arguments", "streams"),
    [
        *itertools.product(["encodings", "--help"], ["", "2>&1"]),
        ("status out", ""),
        ("verify out", "2>&1"),
    ],
)
def test_a_reader_that_leaves_early_ends_a_command_in_silence(
    home: Path, arguments: str, streams: str
) -> None:
    assert shell(home, arguments, f"{streams} | head -0") == (ExitCode.BROKEN_PIPE, "", "")


def test_a_full_disk_behind_a_stream_is_one_line(home: Path) -> None:
    code, _, err = shell(home, "encodings", ">/dev/full")
    assert (code, err) == (2, "treesweep: error: No space left on device\n")
    assert shell(home, "nonsense", "2>/dev/full") == (2, "", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "a\udcff.yaml"],
        ["run", "a.yaml", "--out", "o\udcff"],
        ["resume", "o\udcff"],
        ["status", "o\udcff"],
        ["report", "o\udcff"],
        ["verify", "o\udcff"],
        ["solve", "t\udcff.csv", "--target", "y", "--lam", "0.1"],
        ["solve", "monks-1", "--target", "\udcff", "--lam", "0.1"],
        ["path", "monks-1", "--save", "o\udcff"],
        ["predict", "tree.json", "t\udcff.csv"],
    ],
)
def test_arguments_that_no_file_could_hold_are_refused(arguments: list[str]) -> None:
    line = refused(*arguments)
    assert "is not text in UTF-8" in line
    assert r"\udcff" in line
    line.encode()


def test_names_that_no_file_could_hold_are_refused_before_anything_runs(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    for entry in (r'"a\ud800b"', r'{name: "a\ud800b", source: monks-1}'):
        path.write_text(SPEC.replace("monks-1", entry))
        for more in ([], ["--dry-run"]):
            line = refused("run", path, "--out", tmp_path / "out", *more)
            assert f"{path}, line 2: " in line
            assert "holds a lone surrogate" in line
    assert not (tmp_path / "out").exists()


def test_a_working_folder_that_is_no_text_is_refused(home: Path, tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/odd\xff"
    os.mkdir(odd)
    for arguments in (f"run {home}/small.yaml", "status ."):
        done = subprocess.run(
            [str(SCRIPT), *arguments.split()], capture_output=True, cwd=odd, timeout=PATIENCE
        )
        assert done.returncode == 2
        (line,) = done.stderr.decode().splitlines()
        assert line.startswith("treesweep: error: the folder ")
        assert "holds a lone surrogate" in line
