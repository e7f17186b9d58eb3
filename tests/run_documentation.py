"""Run what README.md and the pages of docs/ show: ``make docs-check``.

Each page has a folder of its own with copies of examples/ and cluster.yaml. There its console
blocks run command by command, and then its Python blocks as one program. In a console block the
lines that begin with "$ " are commands. A command goes on after a backslash at the line's end and
to the end of its here-document. It must exit with 0, or with N where it ends in "# exit N".
``treesweep`` is forked there from a process that has imported it, see
``tests/helpers/forked_treesweep.py``; that it starts by itself is tested by ``tests/test_wheel.py``
and, in Python blocks, by the workers of sweeps.

The notebook of examples/ is executed, too. Examples of the gallery run when the site is built.

Not run, but listed: `make`, `git clone` and `cd`, and each block that follows the comment
<!-- not run: the reason -->.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from nbclient import NotebookClient

from tests.helpers import ROOT, documentation_pages
from tests.helpers.forked_treesweep import forked_treesweep

COPIED = ("examples", "cluster.yaml")
LIMIT = 500.0
"""Seconds for a command, and for the Python of a page."""

_BLOCK = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<language>[\w+-]*).*\n"
    r"(?P<body>(?:.*\n)*?) *(?P=fence)[`~]* *$",
    re.M,
)
_FENCE = re.compile(r"^ *(?:```|~~~)", re.M)
_NOT_RUN = re.compile(r"<!--\s*not run:\s*(.+?)\s*-->\s*\Z")
_COMMAND = re.compile(
    r"^\$ (?P<text>(?:.*\\\n)*(?:"
    r".*(?<!<)<<\s*(?P<quote>['\"]?)(?P<word>\w+)(?P=quote).*\n(?:.*\n)*?(?P=word)"
    r"|.*?))(?:\s+#\s*exit\s+(?P<code>\d+))?\s*$",
    re.M,
)
_SET_UP = re.compile(r"(make|git\s+clone|cd)(\s|$)")


class Example(NamedTuple):
    """A command, or the Python of a page: what runs, its exit code, and why it does not run."""

    line: int
    shown: str
    command: list[str]
    code: int = 0
    not_run: str | None = None


def examples(text: str) -> Iterator[Example]:
    """What a page shows, its Python last.

    Raises
    ------
    ValueError
        If a block is never closed.
    """
    end, source = 0, ""
    for block in _BLOCK.finditer(text):
        between, end = (end, block.start()), block.end()
        comment = _NOT_RUN.search(text, *between)
        reason = comment[1] if comment else None
        if _FENCE.search(text, *between):
            raise ValueError("a block is never closed")
        line = text.count("\n", 0, block.start("body")) + 1
        body = re.sub(f"^{block['indent']}", "", block["body"], flags=re.M)
        if block["language"] == "console":
            for found in _COMMAND.finditer(body):
                why = reason or ("set-up" if _SET_UP.match(found["text"]) else None)
                at, command = line + body.count("\n", 0, found.start()), found["text"]
                code = int(found["code"] or 0)
                yield Example(at, command.split("\n")[0], ["bash", "-c", command], code, why)
        elif block["language"] == "python" and reason:
            yield Example(line, "python", [], 0, reason)
        elif block["language"] == "python":
            # Each line stays at its own number, so that a traceback points into the page.
            source += "\n" * (line - 1 - source.count("\n")) + body
    if _FENCE.search(text, end):
        raise ValueError("a block is never closed")
    if source:
        first = len(source) - len(source.lstrip("\n")) + 1
        yield Example(first, "python", [sys.executable, "blocks.py", source])


def environment(*programs: Path) -> dict[str, str]:
    """The variables of a command, which finds ``programs`` first, then ours."""
    own = [*map(str, programs), str(Path(sys.executable).parent)]
    path = os.pathsep.join([*own, os.environ.get("PATH", os.defpath)])
    settings = os.environ | {"PATH": path, "MPLBACKEND": "Agg", "COLUMNS": "100"}
    settings.pop("PYTHONPATH", None)
    return settings


def run(example: Example, folder: Path, seconds: float = LIMIT, *programs: Path) -> str:
    """Run it in a folder; what it printed. Fails if it ends in another way than it should."""
    *command, last = example.command
    if command[-1] == "blocks.py":  # a file: workers of a cluster import it
        (folder / "blocks.py").write_text(last, encoding="utf-8")
    else:
        command.append(last)
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment(*programs),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,  # a forked command joins it
    )
    ended = f"exit {example.code} was expected"
    try:
        output = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        ended = f"still running after {seconds:g} s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.returncode is None:
        output = process.communicate()[0]
    if process.returncode != example.code:
        pytest.fail(f"exit {process.returncode}, {ended}\n{output[-4000:]}", pytrace=False)
    return output.rstrip("\n")


def prepare(folder: Path, root: Path = ROOT) -> Path:
    """Copy what the pages use into a folder."""
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / name)
        elif (root / name).exists():
            shutil.copy2(root / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a page."""
    return cache(lambda page: prepare(tmp_path_factory.mktemp(Path(page).stem)))


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a ``treesweep`` that need not start."""
    with forked_treesweep(tmp_path_factory.mktemp("programs"), environment()) as folder:
        yield folder


def _parameters() -> Iterator[object]:
    for path in documentation_pages():
        page = str(path.relative_to(ROOT))
        for example in examples(path.read_text(encoding="utf-8")):
            where = f"{page}:{example.line}"
            skip = pytest.mark.skip(reason=f"{where}: {example.not_run}")
            marks = [skip] if example.not_run else []
            yield pytest.param(page, example, marks=marks, id=f"{where} {example.shown[:60]}")


@pytest.mark.parametrize("page, example", list(_parameters()))
def test_what_is_shown_runs(
    page: str, example: Example, folder_of: Callable[[str], Path], programs: Path
) -> None:
    run(example, folder_of(page), LIMIT, programs)


def test_the_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(prepare(tmp_path) / "examples" / "first-tree.ipynb", as_version=4)
    NotebookClient(notebook, timeout=LIMIT, kernel_name="python3").execute(cwd=str(tmp_path))
