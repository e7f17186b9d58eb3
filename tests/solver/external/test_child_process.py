"""Children that misbehave: each ends as a line that says what happened, within its limits."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from fractions import Fraction
from typing import Any

import psutil
import pytest

from solver import Limits, Problem, Status
from solver.errors import ClaimError, PeerError, UnsupportedError
from solver.external import child_process
from solver.external.base import MOST_ROWS, ExternalSolver
from solver.monitor import Monitor
from tests.helpers import PATIENCE, fake_peers
from tests.helpers.child_sides import NONSENSE

PROBLEM = Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]] * 2, [0, 0, 1, 1, 0, 0, 1, 0])
LAM = Fraction(1, 100)


def children() -> list[psutil.Process]:
    return [
        p
        for p in psutil.Process().children(recursive=True)
        if "child_script.py" in str(p.cmdline())
    ]


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Any:
    yield
    assert children() == []


def test_a_claim_is_kept_as_one_and_the_tree_is_scored_anew() -> None:
    found = fake_peers.FakePeer().solve(PROBLEM, LAM)
    assert (found.status, found.lower_bound, found.errors) == (Status.HEURISTIC, None, 1)
    assert found.objective == Fraction(1, 8) + LAM
    claim = found.extra["claim"]
    assert (claim["status"], claim["objective"], claim["lower_bound"]) == ("optimal", 0.125, 0.125)
    assert claim["note"] == "it says that its tree has the objective 0.125; it has 0.135"


def test_noise_on_both_outputs_is_no_answer() -> None:
    assert fake_peers.Chatty().solve(PROBLEM, LAM).errors == 1


def test_one_that_ignores_its_limit_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "GRACE", 0.1)
    found = fake_peers.Endless().solve(PROBLEM, LAM, Limits(seconds=0.2))
    assert (found.status, found.splits) == (Status.TIME_LIMIT, 0)
    assert "it did not keep its limit of 0.2 s" in found.extra["claim"]["note"]


def test_one_that_leaks_is_killed() -> None:
    found = fake_peers.Leaking().solve(PROBLEM, LAM, Limits(bytes=10**8))
    assert (found.status, found.splits) == (Status.MEMORY_LIMIT, 0)
    assert found.peak_bytes > 10**8
    assert "the limit is 100000000" in found.extra["claim"]["note"]


def test_stop_ends_it() -> None:
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()
    found = fake_peers.Endless().solve(PROBLEM, LAM, monitor=Monitor(stop=stop.is_set))
    assert (found.status, found.splits) == (Status.STOPPED, 0)


def test_a_crash_says_how() -> None:
    with pytest.raises(PeerError, match=r"^solver 'segfault': it died of signal SIGSEGV"):
        fake_peers.Segfault().solve(PROBLEM, LAM)


def test_an_exception_is_told_in_its_own_words() -> None:
    words = r"ended with exit code 1 and without an answer: ValueError: no tree today$"
    with pytest.raises(PeerError, match=words):
        fake_peers.Raising().solve(PROBLEM, LAM)


@pytest.mark.parametrize("number", range(len(NONSENSE)))
def test_nonsense_is_refused(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NONSENSE", str(number))
    with pytest.raises(PeerError, match=r"^solver 'nonsense': ") as caught:
        fake_peers.Nonsense().solve(PROBLEM, LAM)
    assert "\n" not in str(caught.value)


def test_a_tree_beyond_the_limits_is_a_false_claim() -> None:
    with pytest.raises(ClaimError, match="gives a tree of depth 2, the limit is 1"):
        fake_peers.TooDeep().solve(PROBLEM, LAM, Limits(depth=1))


def test_a_missing_package_makes_an_impossible_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_peers.FakePeer, "module", "no_such_module_of_anybody")
    message = r"needs the package json: pip install 'treesweep\[peers\]'"
    with pytest.raises(UnsupportedError, match=message):
        fake_peers.FakePeer().solve(PROBLEM, LAM)


def test_too_many_repeated_rows_are_refused() -> None:
    problem = Problem.from_codes([[0], [1], [0]], [0, 1, 1], weights=[MOST_ROWS, MOST_ROWS, 1])
    with pytest.raises(UnsupportedError, match=f"makes {2 * MOST_ROWS + 1} rows"):
        fake_peers.FakePeer().solve(problem, LAM)


def test_the_child_dies_with_its_parent() -> None:
    code = (
        "from tests.helpers.fake_peers import Endless\n"
        "from tests.solver.external.test_child_process import PROBLEM, LAM\n"
        "Endless().solve(PROBLEM, LAM)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code])
    try:
        deadline = time.monotonic() + PATIENCE
        while not (found := children()) and time.monotonic() < deadline:
            time.sleep(0.05)
        (child,) = found
    finally:
        parent.kill()
        parent.wait()
    child.wait(timeout=PATIENCE)
    assert not child.is_running()


def test_open_files_are_closed() -> None:
    # In a process of its own: here the remains of other tests may close files at any moment.
    code = """
import gc, os
from solver.errors import PeerError
from tests.helpers import PATIENCE, fake_peers
from tests.solver.external.test_child_process import PROBLEM, LAM

def solve(kind):
    try:
        kind().solve(PROBLEM, LAM)
    except PeerError:
        pass

solve(fake_peers.Chatty)
gc.collect()
before = len(os.listdir("/proc/self/fd"))
for kind in (fake_peers.Chatty, fake_peers.Segfault):
    solve(kind)
print(before, len(os.listdir("/proc/self/fd")))
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = told.stdout.split()
    assert before == after


def test_all_fakes_are_solvers() -> None:
    assert all(issubclass(kind, ExternalSolver) for kind in fake_peers.ALL)
