"""Exit codes and the one line on stderr."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from pipelines.cli import treesweep
from pipelines.cli.command_group import App, ExitCode
from solver.errors import ClaimError, InputError, PeerError, UnsupportedError
from tests.helpers import PATIENCE

SCRIPT = Path(sys.executable).with_name("treesweep")


def run_body(body: Callable[[], Any]) -> Any:
    """Run a group with the single command ``do``."""
    app = App(name="app")
    app.add_command(click.Command("do", callback=body))
    return CliRunner().invoke(app, ["do"])


def raising(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


@pytest.mark.parametrize("error", [ClaimError("it claims"), PeerError("it claims")])
def test_a_solver_that_fails_is_one_line(error: Exception) -> None:
    result = run_body(raising(error))
    assert (result.exit_code, result.stderr) == (1, "treesweep: error: it claims\n")


@pytest.mark.parametrize("code", list(ExitCode))
def test_a_command_returns_its_exit_code(code: ExitCode) -> None:
    assert run_body(lambda: code).exit_code == code


def test_a_command_that_returns_nothing_is_done() -> None:
    assert run_body(lambda: None).exit_code == 0


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("λ = -1 is negative"), "λ = -1 is negative"),
        (UnsupportedError("cannot\ndo   this"), "cannot do this"),
        (OSError(errno.ENOSPC, "No space left on device", "x/y"), "x/y: No space left on device"),
        (OSError(errno.EROFS, "Read-only file system"), "Read-only file system"),
        (
            click.BadParameter("'x' is not KEY=VALUE"),
            "Invalid value: 'x' is not KEY=VALUE; see 'app do --help'",
        ),
    ],
)
def test_bad_input_is_one_line(error: Exception, line: str) -> None:
    result = run_body(raising(error))
    assert result.exit_code == 2
    assert result.stderr == f"treesweep: error: {line}\n"
    assert result.stdout == ""


@pytest.mark.parametrize("error", [ValueError("a bug"), OSError(errno.EBADF, "bad"), KeyError("k")])
def test_a_bug_keeps_its_traceback(error: Exception) -> None:
    result = run_body(raising(error))
    assert result.exception is error


def test_an_interrupt_is_130() -> None:
    result = run_body(raising(KeyboardInterrupt()))
    assert (result.exit_code, result.stderr.strip()) == (130, "treesweep: interrupted")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nonsense"], ["--nonsense", "treesweep --help"]),
        (["nonsense"], ["nonsense", "treesweep --help"]),
        (["solve"], ["DATA", "treesweep solve --help"]),
        (["solve", "car", "--lam"], ["--lam", "treesweep --help"]),
        (["solve", "car", "--lam", "0.1", "--max-depth", "x"], ["--max-depth", "'x'"]),
        (["status", "--jso", "x"], ["did you mean '--json'? See 'treesweep status --help'"]),
    ],
)
def test_usage_errors_are_one_line(arguments: list[str], words: list[str]) -> None:
    result = CliRunner().invoke(treesweep, arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("treesweep: error: ")
    assert all(word.lower() in line.lower() for word in words)


def test_version() -> None:
    result = CliRunner().invoke(treesweep, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith("treesweep 0.")


def test_help_is_quick_and_imports_little() -> None:
    code = (
        "import sys; sys.argv = ['treesweep', '--help']\n"
        "from pipelines.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'numpy', 'pandas', 'numba', 'sklearn', 'dask', 'rich', 'pydantic'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        # Half a second when nothing else runs; the imports above are the real check.
        "import time; assert time.process_time() < 5\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "solve" in done.stdout


def test_a_reader_that_leaves_is_no_traceback() -> None:
    read, write = os.pipe()
    process = subprocess.Popen(
        [str(SCRIPT), "--help"], stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)
    os.close(read)
    _, stderr = process.communicate(timeout=PATIENCE)
    assert stderr == ""
    assert process.returncode == ExitCode.BROKEN_PIPE


@pytest.fixture(scope="module")
def polish(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table of Polish words, and a tree for it."""
    folder = tmp_path_factory.mktemp("polish")
    (folder / "t.csv").write_text("city,y\n" + "Łódź,ł\nBonn,n\n" * 3, encoding="utf-8")
    save = ["--save", str(folder / "tree.json")]
    arguments = ["solve", str(folder / "t.csv"), "--target", "y", "--lam", "0.01", *save]
    assert CliRunner().invoke(treesweep, arguments).exit_code == 0
    return folder


def said(folder: Path, charset: str, *arguments: str) -> str:
    """What a command writes to a pipe where the terminal has a charset."""
    done = subprocess.run(
        [SCRIPT, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": charset, "PYTHONUTF8": "0"},
        capture_output=True,
        check=True,
    )
    return done.stdout.decode("utf-8")


@pytest.mark.parametrize("charset", ["cp1252", "ascii", "latin-1:strict"])
def test_pipes_get_utf_8_whatever_the_charset_of_the_terminal(charset: str, polish: Path) -> None:
    sql = said(polish, charset, "show", "tree.json", "--format", "sql")
    assert "'ł'" in sql
    assert "\\" not in sql


def test_files_are_utf_8_whatever_the_charset_of_the_terminal(polish: Path) -> None:
    said(polish, "ascii", "solve", "t.csv", "--target", "y", "--lam", "0.01", "--save", "own.json")
    assert (polish / "own.json").read_bytes() == (polish / "tree.json").read_bytes()
    assert said(polish, "ascii", "predict", "own.json", "t.csv").split()[1:] == ["ł", "n"] * 3
