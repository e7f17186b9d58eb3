"""Programs that start workers of their own: what they must be like, and who says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from solver.errors import InputError
from sweep.clusters import Local, main_guard, open_cluster
from tests.helpers import PATIENCE, environment

SPEC = """
name: small
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2]
solvers: [cart]
"""

CALL = f"""
from sweep.clusters import Local
from sweep.graph.engine import run_sweep
from sweep.spec.spec import parse_spec

def go():
    print("ran", run_sweep(parse_spec({SPEC!r}), "out", Local(workers=1)).ran)

"""


def program(folder: Path, text: str, *, from_stdin: bool = False) -> tuple[str, str]:
    """What a program prints, and the last line of what it complains about."""
    path = folder / "program.py"
    path.write_text(CALL + text)
    done = subprocess.run(
        [sys.executable, "-" if from_stdin else str(path)],
        input=path.read_text() if from_stdin else "",
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(),
        timeout=PATIENCE,
    )
    return done.stdout, (done.stderr.strip().splitlines() or [""])[-1]


def test_a_program_without_a_guard_is_told_to_have_one(tmp_path: Path) -> None:
    out, error = program(tmp_path, "go()\n")
    assert out == ""
    assert error == f"solver.errors.InputError: {main_guard.NO_GUARD}"
    assert program(tmp_path, 'if __name__ == "__main__":\n    go()\n') == ("ran 1\n", "")


def test_a_program_from_standard_input_is_told_to_be_a_file(tmp_path: Path) -> None:
    out, error = program(tmp_path, "go()\n", from_stdin=True)
    assert out == ""
    assert "the program is read from <stdin>" in error
    assert not (tmp_path / "out").exists()


def test_a_daemonic_process_is_named(tmp_path: Path) -> None:
    out, error = program(
        tmp_path,
        'import multiprocessing\n\nif __name__ == "__main__":\n'
        '    process = multiprocessing.Process(target=go, daemon=True, name="Demon-7")\n'
        "    process.start()\n    process.join()\n",
    )
    assert out == ""
    assert "Demon-7 is a daemonic process, which may start no workers" in error
    assert not (tmp_path / "out").exists()


def test_threads_and_coroutines_may_run_sweeps(tmp_path: Path) -> None:
    out, error = program(
        tmp_path,
        "import asyncio, threading\n\nasync def main():\n    go()\n\n"
        'if __name__ == "__main__":\n'
        "    thread = threading.Thread(target=go)\n    thread.start()\n    thread.join()\n"
        "    asyncio.run(main())\n",
    )
    assert (out, error) == ("ran 1\nran 0\n", "")


def test_without_a_program_there_is_nothing_to_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    main = sys.modules["__main__"]
    monkeypatch.delattr(main, "__file__", raising=False)  # as in a notebook
    main_guard.check_main()
    monkeypatch.setattr(main, "__file__", "<stdin>", raising=False)
    with pytest.raises(InputError, match="read from <stdin>"):
        Local().reach()
    with pytest.raises(InputError, match="read from <stdin>"), open_cluster(Local()):
        pass
