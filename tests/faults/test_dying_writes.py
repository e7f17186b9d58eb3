"""The driver is killed before each step of writing in turn; nothing is torn or lost."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.chaos import dying_driver, process_roles
from tests.faults.chaos.compare_stores import Damage, Ledger, compare, results
from tests.faults.chaos.processes import Processes

pytestmark = pytest.mark.faults

SPEC = """
name: dying
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2, 0.1]
solvers: [cart, {solver: branches, proof: true}]
"""

NEVER = 10**9
PARTS = 4
"""The steps are dealt out to so many tests, since each driver waits most of its time."""


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC)
    found = Processes(tmp_path, spec, tmp_path / "out")
    found.mend()
    yield found
    found.close()


def drive(processes: Processes, out: Path, at: int) -> int | None:
    """Run or resume; the exit code."""
    where = (processes.folder / "address").read_text()
    process = processes.start(dying_driver.drive, processes.spec, out, where, at, processes.journal)
    process.join(300)
    return process.exitcode


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_driver_may_die_before_any_step_of_writing(
    processes: Processes, tmp_path: Path, part: int
) -> None:
    assert drive(processes, tmp_path / "quiet", NEVER) == 0
    quiet = results(tmp_path / "quiet")
    assert len(quiet) == 4
    assert "00000001" not in (tmp_path / "quiet" / "rows").resolve().name  # it was compacted
    died = 0
    for at in range(1 + part, 1000, PARTS):
        out = tmp_path / str(at)
        code = drive(processes, out, at)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        died += 1
        damage, ledger = Damage(), Ledger()
        if (out / process_roles.MANIFEST).exists():
            ledger.look(out, damage)  # it can be read as it is
        assert drive(processes, out, NEVER) == 0, processes.journal.read_text()
        ledger.look(out, damage)
        compare(quiet, out, damage, verify=False)
        assert not damage, (at, damage)
        left = [path for path in out.rglob("*.tmp") if ".drivers" not in path.parts]
        assert not left  # a half-written heartbeat goes when it is old, see the lease
    assert died >= 10
