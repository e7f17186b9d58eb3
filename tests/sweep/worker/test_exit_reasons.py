"""How workers end is told in words."""
# ruff: noqa: E501  a message is easier to read on one line

from __future__ import annotations

from typing import Any

import pytest

from sweep.worker.exit_reasons import End, told_ends
from sweep.worker.worker_watchdogs import MEMORY_EXIT, TIME_EXIT


@pytest.mark.parametrize(
    "end, words, foreign",
    [
        (End(-9), "was killed by signal 9 (SIGKILL)", False),
        (End(-11), "was killed by signal 11 (SIGSEGV)", False),
        (End(-15), "was killed by signal 15 (SIGTERM)", True),
        (End(-63), "was killed by signal 63 (not known here)", False),
        (End(3), "ended with exit code 3", False),
        (End(0), "was asked to end, and did (exit code 0)", True),
        (End(255), "ended, or its fork server did: how is not known (exit code 255)", True),
        (End(TIME_EXIT), "was ended by treesweep's guard of time (exit code 71)", False),
        (End(MEMORY_EXIT), "was ended by treesweep's guard of memory (exit code 70)", False),
        (End(-15, used=2**30), "was ended by its nanny: it used 1,024 MiB, near the worker's memory_limit", False),
        (End(-15, silent=True), "was ended by Dask: it sent no heartbeat for 'distributed.scheduler.worker-ttl'", False),
        (End(stimulus="odd-1"), "was removed: the scheduler removed it (odd-1); how its process ended is not known", False),
        (End(), "was removed: the scheduler removed it (it does not say why); how its process ended is not known", False),
    ],
)  # fmt: skip
def test_ends_in_words(end: End, words: str, foreign: bool) -> None:
    assert str(end) == words
    assert end.is_foreign is foreign


@pytest.mark.parametrize(
    "event, fields",
    [
        ({"pid": 5, "rss": 7}, {"used": 7}),
        ({"action": "remove-worker", "stimulus_id": "odd-1", "expected": True}, {"stimulus": "odd-1"}),
        ({"action": "worker-ttl-timed-out", "workers": ["a"]}, {"silent": True}),
        ({"kind": "worker-ended", "code": -9}, {"code": -9}),
        ({"kind": "guarded", "key": "k", "task": "k", "why": "w", "is_final": True},
         {"task": "k", "why": "w", "is_final": True}),
    ],
)  # fmt: skip
def test_what_events_tell_of_the_end_of_a_worker(
    event: dict[str, Any], fields: dict[str, Any]
) -> None:
    found = told_ends({"worker": "a", **event})
    assert found == {"a": fields}
    assert vars(End()).keys() >= fields.keys()


def test_other_events_tell_of_no_end() -> None:
    assert told_ends({"kind": "at", "worker": "a", "key": None}) == {}
    assert told_ends({"action": "add-worker", "worker": "a"}) == {}
