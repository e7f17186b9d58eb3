"""How workers end is told in words."""
# ruff: noqa: E501  a message is easier to read on one line

from __future__ import annotations

import pytest

from sweep.worker.exits import MEMORY_TOPIC, End, hear_memory
from sweep.worker.worker_process import MEMORY_EXIT, TIME_EXIT


@pytest.mark.parametrize(
    "end, words, foreign",
    [
        (End(-9), "was killed by signal 9 (SIGKILL)", False),
        (End(-11), "was killed by signal 11 (SIGSEGV)", False),
        (End(-15), "was killed by signal 15 (SIGTERM)", True),
        (End(-63), "was killed by signal 63 (not known here)", False),
        (End(3), "ended with exit code 3", False),
        (End(0), "was asked to end, and did (exit code 0)", True),
        (End(255), "ended because its nanny was gone (exit code 255)", True),
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


def test_the_event_of_dask_is_read() -> None:
    found = hear_memory({"worker": "tcp://a:1", "pid": 5, "rss": 7})
    assert found == {"kind": MEMORY_TOPIC, "worker": "tcp://a:1", "used": 7}
