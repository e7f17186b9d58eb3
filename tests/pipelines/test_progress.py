"""The live display and its plain lines."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys

import pytest
from rich.console import Console

from pipelines.progress import (
    Figures,
    LiveDisplay,
    LogDisplay,
    Pace,
    describe,
    make_display,
    show_bytes,
    show_seconds,
)


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


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**40 * 3, "3 TiB")]
)
def test_sizes_in_binary_units(size: int, text: str) -> None:
    assert show_bytes(size) == text


def test_pace_is_that_of_the_last_seconds() -> None:
    pace = Pace(window=10)
    for second in range(100):
        pace.add(second, second * 50)
    for second in range(100, 120):
        pace.add(second, 99 * 50 + (second - 99) * 2)
    assert pace.rate == pytest.approx(2)
    assert pace.left(20) == pytest.approx(10)


def test_pace_knows_nothing_before_a_task_has_ended() -> None:
    pace = Pace()
    assert pace.rate is None
    pace.add(0, 0)
    pace.add(5, 0)
    assert (pace.rate, pace.left(3)) == (None, None)


def test_everything_is_described() -> None:
    pace = Pace()
    pace.add(0, 0)
    pace.add(10, 20)
    figures = Figures(
        total=100, stored=30, done=20, failed=3, running=4, worst_gap=0.0125, workers=2,
        memory=2**29,
    )  # fmt: skip
    assert describe(figures, pace) == [
        "50/100 done", "3 failed", "4 running", "2/s", "25 s left", "worst gap 0.0125",
        "2 workers", "512 MiB",
    ]  # fmt: skip


def test_plain_lines_come_every_few_seconds_and_at_the_end() -> None:
    stream, clock = io.StringIO(), Clock()
    with LogDisplay("first-look", stream, interval=5, clock=clock) as display:
        for second in range(12):
            clock.now = float(second)
            display.show(Figures(total=12, done=second, running=1, workers=1))
        display.note("worker lost")
    lines = stream.getvalue().splitlines()
    assert [line.split(": ", 1)[1].split(",")[0] for line in lines] == [
        "0/12 done", "5/12 done", "10/12 done", "worker lost", "11/12 done",
    ]  # fmt: skip
    assert all(line[2] == ":" and " first-look: " in line for line in lines)
    assert "\x1b" not in stream.getvalue()


def test_a_reader_that_leaves_does_not_stop_the_sweep() -> None:
    read, write = os.pipe()
    os.close(read)
    stream = os.fdopen(write, "w")
    display = LogDisplay("x", stream, interval=0)
    display.show(Figures(total=2, done=1))
    display.show(Figures(total=2, done=2))
    os.dup2(os.open(os.devnull, os.O_WRONLY), write)
    stream.close()


def test_live_display_shows_name_bar_and_figures() -> None:
    stream, clock = io.StringIO(), Clock()
    console = Console(file=stream, force_terminal=True, width=100, color_system=None)
    with LiveDisplay("first-look", console, clock) as display:
        display.show(Figures(total=10, done=0, running=2, workers=2))
        clock.now = 4.0
        display.show(Figures(total=10, done=4, failed=1, running=2, worst_gap=0.02, workers=2))
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
        "from pipelines.progress import *\n"
        "with make_display('demo') as display:\n"
        "    display.show(Figures(total=4, done=1, failed=1, running=1, workers=1))\n"
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
    assert process.wait(timeout=60) == 0, text
    assert f"kind {kind}" in text
    assert "1/4 done" in text
    assert ("\x1b[1;31m" in text) is coloured
