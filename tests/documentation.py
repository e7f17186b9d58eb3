"""Run the commands and the Python that README.md and docs/*.md show.

Each file gets a fresh directory that holds copies of examples/ and cluster.yaml, one shell for its
```console blocks, and afterwards one Python process for its ```python blocks. In a console block
the lines that begin with "$ " are commands. A command goes on after a backslash at the line's end
and up to the end of its here-document; it must exit with 0, or with N where it ends in "# exit N".

Not run, but listed: `make`, `git clone` and `cd`, and each block that follows the comment
<!-- not run: the reason -->.
"""

from __future__ import annotations

import argparse
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("examples", "cluster.yaml")
TAIL = 25

_FENCE = re.compile(r"^(?P<indent>\s*)(?P<ticks>`{3,}|~{3,})\s*(?P<language>[\w+-]*)")
_NOT_RUN = re.compile(r"^\s*<!--\s*not run:\s*(?P<reason>.+?)\s*-->\s*$")
_EXIT = re.compile(r"\s+#\s*exit\s+(?P<code>\d+)\s*$")
_HEREDOC = re.compile(r"(?<!<)<<-?\s*(['\"]?)(?P<word>\w+)\1")
_SET_UP = re.compile(r"^(make|git\s+clone|cd)(\s|$)")


class BadMarkdown(ValueError):
    """A file whose blocks cannot be told apart."""


@dataclass(frozen=True)
class Block:
    line: int  # of the first line inside the fence
    language: str
    lines: tuple[str, ...]
    not_run: str | None


@dataclass(frozen=True)
class Command:
    line: int
    text: str
    expected: int


@dataclass(frozen=True)
class Outcome:
    path: str
    line: int
    what: str
    verdict: str  # ok, FAILED or skipped
    detail: str
    seconds: float = 0.0
    output: str = field(default="", repr=False)


def find_blocks(text: str) -> list[Block]:
    """The fenced blocks of a Markdown text, in order."""
    blocks: list[Block] = []
    reason: str | None = None
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        opening = _FENCE.match(line)
        number += 1
        if opening is None:
            comment = _NOT_RUN.match(line)
            if comment:
                reason = comment["reason"]
            elif line.strip():
                reason = None
            continue
        start, ticks, indent = number, opening["ticks"], len(opening["indent"])
        closing = re.compile(rf"^\s*{re.escape(ticks[0])}{{{len(ticks)},}}\s*$")
        while number < len(lines) and not closing.match(lines[number]):
            number += 1
        if number == len(lines):
            raise BadMarkdown(f"line {start}: this block is never closed")
        inside = [row[indent:] if not row[:indent].strip() else row for row in lines[start:number]]
        blocks.append(Block(start + 1, opening["language"].lower(), tuple(inside), reason))
        reason = None
        number += 1
    return blocks


def find_commands(block: Block) -> list[Command]:
    """The commands of a console block, each with its further lines."""
    commands = []
    number = 0
    while number < len(block.lines):
        start, line = number, block.lines[number]
        number += 1
        if not line.startswith("$ "):
            continue
        first = line[2:].rstrip()
        expected = 0
        exit_code = _EXIT.search(first)
        if exit_code:
            expected, first = int(exit_code["code"]), first[: exit_code.start()]
        rows = [first]
        while rows[-1].endswith("\\") and number < len(block.lines):
            row = block.lines[number].rstrip().removeprefix("> ")
            exit_code = _EXIT.search(row)
            if exit_code:
                expected, row = int(exit_code["code"]), row[: exit_code.start()]
            rows.append(row)
            number += 1
        heredoc = _HEREDOC.search("\n".join(rows))
        while heredoc and number < len(block.lines):
            row = block.lines[number].removeprefix("> ")
            rows.append(row)
            number += 1
            if row.strip() == heredoc["word"]:
                break
        commands.append(Command(block.line + start, "\n".join(rows), expected))
    return commands


class Shell:
    """One bash that is fed command after command, so that what one sets the next one sees."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self.alive = True
        self._mark = f"check-docs-{uuid.uuid4().hex}"
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def run(self, command: str, timeout: float) -> tuple[int | None, str]:
        """The exit code (None: out of time, or the shell itself is gone) and what was printed."""
        assert self._process.stdin is not None
        line = f"eval -- {shlex.quote(command)} </dev/null; printf '\\n%s %d\\n' {self._mark} $?\n"
        printed: list[str] = []
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except BrokenPipeError:
            self.alive = False
            return None, "the shell has ended"
        deadline = time.monotonic() + timeout
        while True:
            try:
                row = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self.close()
                return None, "".join(printed) + f"\nstill running after {timeout:g} s"
            if row is None:
                self.alive = False
                return None, "".join(printed) + "\nthe command ended the shell"
            if row.startswith(self._mark):
                return int(row.split()[1]), "".join(printed).rstrip("\n")
            printed.append(row)

    def close(self) -> None:
        """End the shell and everything that it started."""
        self.alive = False
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        if self._process.stdin is not None:
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                pass


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    bin_directory = str(Path(sys.executable).parent)
    environment["PATH"] = bin_directory + os.pathsep + environment.get("PATH", os.defpath)
    environment["MPLBACKEND"] = "Agg"
    environment["COLUMNS"] = "100"
    environment.pop("PYTHONPATH", None)
    return environment


def _run_console(
    path: str, blocks: Sequence[Block], directory: Path, timeout: float
) -> list[Outcome]:
    outcomes: list[Outcome] = []
    shell: Shell | None = None
    try:
        for block in blocks:
            for command in find_commands(block):
                shown = command.text.splitlines()[0]
                skipped = block.not_run
                if skipped is None and _SET_UP.match(command.text):
                    skipped = "set-up"
                if skipped is not None:
                    outcomes.append(Outcome(path, command.line, shown, "skipped", skipped))
                    continue
                if shell is None:
                    shell = Shell(directory, _environment())
                if not shell.alive:
                    detail = "the shell ended at an earlier command"
                    outcomes.append(Outcome(path, command.line, shown, "FAILED", detail))
                    continue
                start = time.monotonic()
                code, output = shell.run(command.text, timeout)
                seconds = time.monotonic() - start
                if code == command.expected:
                    verdict, detail = "ok", f"exit {code}"
                elif code is None:
                    verdict, detail = "FAILED", output.splitlines()[-1]
                else:
                    verdict, detail = "FAILED", f"exit {code}, not {command.expected}"
                outcomes.append(
                    Outcome(path, command.line, shown, verdict, detail, seconds, output)
                )
    finally:
        if shell is not None:
            shell.close()
    return outcomes


def _run_python(
    path: str, blocks: Sequence[Block], directory: Path, timeout: float
) -> list[Outcome]:
    outcomes: list[Outcome] = []
    source: list[str] = []
    for block in blocks:
        what = f"python, {len(block.lines)} lines"
        if block.not_run is not None:
            outcomes.append(Outcome(path, block.line, what, "skipped", block.not_run))
            continue
        # Each line stays at its own number, so that a traceback points into the Markdown.
        source += [""] * (block.line - 1 - len(source))
        source += block.lines
    if not source:
        return outcomes
    first = next(number for number, line in enumerate(source, 1) if line.strip())
    count = sum(block.not_run is None for block in blocks)
    script = directory / (re.sub(r"\W", "_", Path(path).stem) + "_blocks.py")
    script.write_text("\n".join(source) + "\n", encoding="utf-8")
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, script.name],
        cwd=directory,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=timeout)
        code: int | None = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        code = None
    detail = f"exit {code}" if code is not None else f"still running after {timeout:g} s"
    verdict = "ok" if code == 0 else "FAILED"
    what = f"python, {count} block{'s' if count != 1 else ''}"
    seconds = time.monotonic() - start
    outcomes.append(Outcome(path, first, what, verdict, detail, seconds, output))
    return outcomes


def check_file(file: Path, root: Path = ROOT, timeout: float = 300.0) -> list[Outcome]:
    """Run what one Markdown file shows."""
    path = str(file.relative_to(root)) if file.is_relative_to(root) else str(file)
    try:
        blocks = find_blocks(file.read_text(encoding="utf-8"))
    except BadMarkdown as error:
        return [Outcome(path, 0, "the file", "FAILED", str(error))]
    console = [block for block in blocks if block.language == "console"]
    python = [block for block in blocks if block.language == "python"]
    with tempfile.TemporaryDirectory(prefix="check-docs-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        for copied in COPIED:
            original = root / copied
            if original.is_dir():
                shutil.copytree(original, directory / copied)
            elif original.exists():
                shutil.copy2(original, directory / copied)
        return [
            *_run_console(path, console, directory, timeout),
            *_run_python(path, python, directory, timeout),
        ]


def format_table(outcomes: Sequence[Outcome]) -> str:
    """One line for each outcome, in columns."""
    rows = [("where", "what", "result", "seconds", "")]
    for outcome in outcomes:
        what = outcome.what if len(outcome.what) <= 60 else outcome.what[:59] + "…"
        seconds = "" if outcome.verdict == "skipped" else f"{outcome.seconds:.1f}"
        where = f"{outcome.path}:{outcome.line}"
        rows.append((where, what, outcome.verdict, seconds, outcome.detail))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(
            [
                row[0].ljust(widths[0]),
                row[1].ljust(widths[1]),
                row[2].ljust(widths[2]),
                row[3].rjust(widths[3]),
                row[4],
            ]
        ).rstrip()
        for row in rows
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run what the documentation shows.")
    parser.add_argument("files", nargs="*", type=Path, help="default: README.md and docs/*.md")
    parser.add_argument("--root", type=Path, default=ROOT, help="where the examples are")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one command")
    parser.add_argument("--jobs", type=int, default=2, help="files that are run side by side")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    files = [file.resolve() for file in options.files]
    if not files:
        files = [file for file in [root / "README.md"] if file.exists()]
        files += sorted((root / "docs").glob("*.md"))
    for file in files:
        if not file.is_file():
            print(f"{file}: no such file", file=sys.stderr)
            return 2
    with ThreadPoolExecutor(options.jobs) as pool:
        checked = pool.map(lambda file: check_file(file, root, options.timeout), files)
        outcomes = [outcome for found in checked for outcome in found]
    if outcomes:
        print(format_table(outcomes))
    failures = [outcome for outcome in outcomes if outcome.verdict == "FAILED"]
    for outcome in failures:
        print(f"\n{outcome.path}:{outcome.line}: {outcome.what}\n  {outcome.detail}")
        for line in outcome.output.splitlines()[-TAIL:]:
            print(f"  | {line}")
    ran = sum(outcome.verdict != "skipped" for outcome in outcomes)
    skipped = len(outcomes) - ran
    print(f"\nRan {ran} from {len(files)} files: {len(failures)} failed; {skipped} were not run.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
