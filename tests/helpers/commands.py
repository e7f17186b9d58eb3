"""How tests use the command line: in this process, or in one of its own with a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from pipelines.cli import treesweep

SCRIPT = Path(sys.executable).with_name("treesweep")


def run(*arguments: object) -> Any:
    return CliRunner().invoke(treesweep, [str(a) for a in arguments])


def refused(*arguments: object) -> str:
    """The one line that says why."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("treesweep: error: ")
    return str(line)


def n_done(out: Path) -> int | None:
    """Tasks of a sweep that are done, by ``status``; None while there is no plan."""
    result = run("status", out, "--json")
    if result.exit_code:
        assert "still making the plan" in result.output
        return None
    return int(json.loads(result.stdout)["done"])


class Terminal:
    """A terminal that a process writes its stderr to."""

    def __init__(self, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [str(SCRIPT), *arguments], stdout=subprocess.PIPE, stderr=theirs, text=True,
            env=os.environ | {"TERM": "xterm"},
        )  # fmt: skip
        os.close(theirs)
        self.shown = ""

    def read_until(self, words: str | None) -> None:
        """Read until words were shown, or to the end."""
        while words is None or words not in self.shown:
            try:
                chunk = os.read(self._ours, 4096)
            except OSError:
                chunk = b""
            if not chunk:
                assert words is None, f"{words!r} never came: {self.shown!r}"
                break
            self.shown += chunk.decode(errors="replace")

    def finish(self) -> str:
        """What it wrote to stdout."""
        # Both are read at once: it would wait for whoever leaves one of them unread.
        with ThreadPoolExecutor(1) as pool:
            stderr = pool.submit(self.read_until, None)
            try:
                stdout: str = self.process.communicate(timeout=120)[0]
            finally:
                self.process.kill()  # or the reader would wait for ever
            stderr.result(timeout=120)
        os.close(self._ours)
        return stdout
