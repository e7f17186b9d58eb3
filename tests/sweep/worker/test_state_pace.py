"""How much of a search's time the writing of its states takes."""

from __future__ import annotations

from sweep.worker.state_pace import Pace


def test_writing_takes_its_share_of_the_time_and_no_more() -> None:
    pace, spent = Pace(0.05), 0.0
    for second in range(1, 1000):
        if pace.allows(10**9, second):
            took = 3.0 + second % 4
            spent += took
            pace.wrote(10**9, took)
        # What is written next is not known before; at most its time is above the share.
        assert spent <= 0.05 * second + 7
    assert spent > 0.04 * 1000
    assert not Pace(0.05).allows(10**9, 10)
    assert Pace(0.05).allows(10**4, 0.1)
