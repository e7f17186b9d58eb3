"""Workers whose time is over, while there is no other one that could take what they have."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from distributed import Client

from sweep.worker.checkpointing import WORTH
from tests.helpers import wait_until
from tests.helpers.dask_processes import Lab, leave
from tests.helpers.drivers import FAULTY, Drive

pytestmark = pytest.mark.faults

COUNT = """
name: count
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.4, 0.3]
solvers: [{solver: counter, options: {steps: 20}}]
"""


def test_the_only_worker_leaves_when_another_one_has_come(tmp_path: Path) -> None:
    lab = Lab(tmp_path, settings={**FAULTY, "TREESWEEP_TEST_SCRATCH": str(tmp_path)})
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(f"kind: address\naddress: {lab.address}\ninsecure: true\n")
    drive = Drive(tmp_path, str(cluster))
    drive.hold()
    try:
        first = lab.worker("first")
        with drive.start("run", COUNT) as run, Client(lab.address) as client:
            steps = tmp_path / "steps"
            drive.wait_until_held(1)
            time.sleep(1.5 * WORTH)  # so that its state is kept
            client.run(leave)
            wait_until(lambda: [*(drive.out / "states").glob("*.npz")])
            lab.worker("second")
            wait_until(lambda: first.poll() is not None, lambda: lab.log("first"))
            drive.release()
            out, err = run.communicate()
            assert run.returncode == 0, err
    finally:
        lab.close()
    assert "leaves, its time is over" in out
    rows = drive.rows()
    assert set(rows["status"]) == {"optimal"}
    assert set(rows["iterations"]) == {20}
    assert (rows["attempt"] == 1).all()
    assert (tmp_path / "from-10").exists()
    assert steps.stat().st_size == 2 * 20  # nothing was lost
