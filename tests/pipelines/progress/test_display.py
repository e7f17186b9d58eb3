"""The live display and its plain lines."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from pipelines.progress.display import (
    LiveDisplay,
    LogDisplay,
    describe,
    describe_failure,
    describe_outcome,
    make_display,
    show_seconds,
)
from sweep.events import Outcome, Progress
from tests.helpers import PATIENCE


def at(done: int, total: int, **more: Any) -> Progress:
    """A moment of a sweep."""
    values: dict[str, Any] = {
        "running": 1,
        "seconds": 1.0,
        "eta": None,
        "worst_gap": None,
        "workers": 1,
    }
    values |= {"active": True, "answered": 0, "failed": 0, "rate": 0.0, "memory": 0}
    values |= {"total": total, "done": done, **more}
    return Progress(**values)


def failure(number: int) -> dict[str, Any]:
    """A row of a run that failed."""
    return {
        "status": "error", "error": f"Traceback\n  x\nMemoryError: no. {number}", "fold": 2,
        "dataset": "car", "encoding": "onehot", "lam_label": "2/n", "solver": "branches",
        "solver_options": "{}",
    }  # fmt: skip


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (59.6, "1 min 00 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 05 min"),
        (400 * 3600, "16 days"),
    ],
)
def test_seconds_as_a_person_says_them(seconds: float, text: str) -> None:
    assert show_seconds(seconds) == text


def test_everything_is_described() -> None:
    progress = at(
        50, 100, answered=30, failed=3, running=4, rate=2.0, eta=25.0, worst_gap=0.0125,
        workers=2, memory=2**29,
    )  # fmt: skip
    assert describe(progress) == [
        "50/100 done", "3 failed", "4 running", "2/s", "25 s left", "worst gap 0.0125",
        "2 workers", "512 MiB",
    ]  # fmt: skip


def test_what_is_not_known_is_not_shown() -> None:
    assert describe(at(0, 7)) == ["0/7 done", "1 running", "1 worker"]


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (
            Outcome(9, 9, 0, 0, 0, 0, False, 1.0),
            "Nothing to do: all 9 tasks were answered before.",
        ),
        (
            Outcome(1, 1, 0, 0, 0, 0, False, 1.0),
            "Nothing to do: the 1 task was answered before.",
        ),
        (
            Outcome(1, 0, 1, 0, 0, 0, False, 1.0),
            "1 task run in 1 s, none failed.",
        ),
        (
            Outcome(9, 2, 4, 1, 2, 6, True, 90.0),
            "Interrupted: 4 tasks run in 1 min 30 s, 1 failed, 2 hit a limit, 2 answered before, "
            "3 not run, 6 cannot be run (see --dry-run).",
        ),
    ],
)
def test_an_outcome_in_a_sentence(outcome: Outcome, text: str) -> None:
    assert describe_outcome(outcome) == text


def test_plain_lines_come_every_few_seconds_and_at_the_end() -> None:
    stream, clock = io.StringIO(), Clock()
    with LogDisplay("first-look", stream, interval=5, clock=clock) as display:
        for second in range(12):
            clock.now = float(second)
            display.progress(at(second, 12))
        display.note("worker lost")
    lines = stream.getvalue().splitlines()
    assert [line.split(": ", 1)[1].split(",")[0] for line in lines] == [
        "0/12 done", "5/12 done", "10/12 done", "worker lost", "11/12 done",
    ]  # fmt: skip
    assert all(line[2] == ":" and " first-look: " in line for line in lines)
    assert "\x1b" not in stream.getvalue()


def test_only_the_first_failures_are_named() -> None:
    stream = io.StringIO()
    with LogDisplay("x", stream) as display:
        for number in range(20):
            display.finished(pa.RecordBatch.from_pylist([failure(number)]))
        display.finished(pa.RecordBatch.from_pylist([{"error": None}]))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 6
    assert lines[0].endswith("x: error: car, onehot, λ = 2/n, branches, fold 2: MemoryError: no. 0")
    assert "further failures" in lines[5]


def test_the_failure_of_a_path_says_so() -> None:
    row = {**failure(1), "solver_options": '{"lam":"path"}'}
    assert "λ = path from 2/n" in describe_failure(row)


def test_a_reader_that_leaves_does_not_stop_the_sweep() -> None:
    read, write = os.pipe()
    os.close(read)
    stream = os.fdopen(write, "w")
    display = LogDisplay("x", stream, interval=0)
    display.progress(at(1, 2))
    display.progress(at(2, 2))
    with pytest.raises(BrokenPipeError):  # the reader really was gone
        os.write(write, b"x")
    os.dup2(os.open(os.devnull, os.O_WRONLY), write)
    stream.close()


def test_live_display_shows_name_bar_and_figures() -> None:
    stream, clock = io.StringIO(), Clock()
    console = Console(file=stream, force_terminal=True, width=100, color_system=None)
    with LiveDisplay("first-look", console, clock) as display:
        display.progress(at(0, 10))
        clock.now = 4.0
        display.progress(at(4, 10, failed=1, rate=1.0, eta=6.0, worst_gap=0.02, workers=2))
        display.note("worker lost [1]")
    text = stream.getvalue()
    for words in ("first-look", "━", "40%", "4/10 done", "1 failed", "1/s", "6 s left",
                  "worst gap 0.02", "2 workers", "worker lost [1]"):  # fmt: skip
        assert words in text


def test_the_kind_of_display_follows_the_stream() -> None:
    assert isinstance(make_display("x", io.StringIO()), LogDisplay)


@pytest.mark.parametrize(
    ("environment", "kind", "coloured"),
    [
        ({"TERM": "xterm-256color"}, "LiveDisplay", True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "LiveDisplay", False),
        ({"TERM": "dumb"}, "LogDisplay", False),
    ],
)
def test_on_a_real_terminal(environment: dict[str, str], kind: str, coloured: bool) -> None:
    code = (
        "from pipelines.progress.display import *\n"
        "from sweep.events import Progress\n"
        "with make_display('demo') as display:\n"
        "    display.progress(Progress(True, 4, 0, 1, 1, 1, 1.0, 1.0, 3.0, None, 1, 0))\n"
        "    print('kind', type(display).__name__)\n"
    )
    ours, theirs = pty.openpty()
    keep = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "TERM")}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=theirs, stderr=theirs, env=keep | environment
    )
    os.close(theirs)
    text = ""
    while True:
        try:
            chunk = os.read(ours, 4096)
        except OSError:
            break
        if not chunk:
            break
        text += chunk.decode()
    os.close(ours)
    assert process.wait(timeout=PATIENCE) == 0, text
    assert f"kind {kind}" in text
    assert "1/4 done" in text
    assert ("\x1b[1;31m" in text) is coloured


def test_shards_are_told_of_only_where_there_are_some() -> None:
    assert "shards 3/8" in describe(at(0, 1, shards_done=3, shards=8))
    assert not any("shards" in part for part in describe(at(0, 1)))
