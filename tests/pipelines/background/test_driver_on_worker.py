"""``treesweep submit --on-cluster``: a driver on a worker's machine."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest
from distributed import LocalCluster

from pipelines.background import driver_on_worker
from pipelines.background.driver_on_worker import Launched, await_launched
from sweep.clusters.tls import make_certificates
from sweep.store.read_results import read_results
from tests.helpers import wait_until
from tests.helpers.commands import n_done, refused, run
from tests.helpers.dask_processes import CAN_HIDE, Lab, hidden

SPEC = """
name: away
datasets: [monks-1, {path: own/t.csv, target: y}]
encodings: [onehot]
lambdas: {from: 0.3, to: 0.05, count: 6}
solvers: [branches]
"""

SMALL = "{name: small, datasets: monks-1, encodings: onehot, lambdas: 0.05, solvers: cart}"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    make_certificates(tmp_path / "certs")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "t.csv").write_text("a,b,y\n" + "p,q,0\nq,q,1\np,p,1\nq,p,0\n" * 5)
    (tmp_path / "sweep.yaml").write_text(SPEC)
    found = Lab(tmp_path, tmp_path / "certs")
    files = {"ca_file": "ca.pem", "cert": "client.pem", "key": "client.key"}
    security = {name: str(tmp_path / "certs" / file) for name, file in files.items()}
    config = {"kind": "address", "address": found.address, "security": security}
    (tmp_path / "cluster.yaml").write_text(json.dumps(config))
    yield found
    found.close()


def submit(folder: Path) -> list[object]:
    return ["submit", folder / "sweep.yaml", "--out", folder / "out",
            "--cluster", folder / "cluster.yaml", "--on-cluster"]  # fmt: skip


@pytest.mark.slow
def test_a_driver_on_the_machine_of_a_worker_runs_the_sweep(tmp_path: Path, lab: Lab) -> None:
    cache = tmp_path / "cache"
    worker = lab.worker("one", environment={"TREESWEEP_CACHE": str(cache)})
    result = run(*submit(tmp_path))
    assert result.exit_code == 0, result.output
    out = tmp_path / "out"
    found = re.search(r"Process (\d+) on (\S+) runs the sweep", result.output)
    if found:  # else it was quicker than this
        try:
            driver = psutil.Process(int(found[1]))
            assert os.getsid(driver.pid) == driver.pid != os.getsid(worker.pid)
        except (psutil.NoSuchProcess, ProcessLookupError):
            pass
    wait_until(lambda: n_done(out) == 12, (out / "driver.log").read_text)
    assert set(read_results(out)["status"]) == {"optimal"}
    (config,) = (cache / "drivers").rglob("cluster.yaml")
    assert stat.S_IMODE(config.parent.stat().st_mode) == 0o700
    # With the certificates of the worker, not with ours.
    assert json.loads(config.read_text())["security"]["key"] == str(tmp_path / "certs" / "node.key")
    assert not list(out.glob(".probe*"))
    # No key was copied anywhere, nor shown.
    written = [p for folder in (out, cache) for p in folder.rglob("*") if p.is_file()]
    written += tmp_path.glob("*.log")
    for key in (tmp_path / "certs").glob("*.key"):
        secret = key.read_bytes().splitlines()[1]
        assert secret not in result.output.encode()
        assert not [path for path in written if secret in path.read_bytes()]


@pytest.mark.slow
@pytest.mark.skipif(not CAN_HIDE, reason="hiding a folder takes root and unshare")
def test_what_the_worker_does_not_see_is_said_before(tmp_path: Path, lab: Lab) -> None:
    (tmp_path / "out").mkdir()
    lab.worker("one", wrap=hidden(tmp_path / "own"))
    said = refused(*submit(tmp_path))
    assert f"there is no file '{tmp_path}/own/t.csv' there; put it on a shared disk" in said
    lab.close()
    (tmp_path / "two").mkdir()
    other = Lab(tmp_path / "two", tmp_path / "certs")
    try:
        text = (tmp_path / "cluster.yaml").read_text().replace(lab.address, other.address)
        (tmp_path / "cluster.yaml").write_text(text)
        assert "no worker that could start the driver" in refused(*submit(tmp_path))
        other.worker("two", wrap=hidden(tmp_path / "out"))
        said = refused(*submit(tmp_path))
        assert f"{tmp_path}/out is another folder there; choose one on a shared disk" in said
        assert not list((tmp_path / "out").iterdir())
    finally:
        other.close()


@pytest.fixture
def near(tmp_path: Path) -> Iterator[LocalCluster]:
    """A scheduler of this process, and a ``cluster.yaml`` that names it."""
    (tmp_path / "sweep.yaml").write_text(SMALL)
    with LocalCluster(
        n_workers=0, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
        dashboard_address=None, local_directory=str(tmp_path / "scratch"),
    ) as found:  # fmt: skip
        config = {"kind": "address", "address": found.scheduler_address, "insecure": True}
        (tmp_path / "cluster.yaml").write_text(json.dumps(config))
        yield found


def test_a_refused_driver_leaves_nothing_behind(tmp_path: Path, near: LocalCluster) -> None:
    words = submit(tmp_path)
    words[words.index("--out") + 1] = tmp_path / "new" / "out"
    assert "the cluster has no worker that could start the driver; start a worker, then" in refused(
        *words
    )
    assert not (tmp_path / "new").exists()
    near.scale(1)
    with near.get_client() as client:
        client.wait_for_workers(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver_on_worker, "refusal_here", lambda *more: "no such folder")
        assert "cannot start the driver: no such folder" in refused(*words)
    assert not (tmp_path / "new").exists()
    (tmp_path / "new" / "out").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver_on_worker, "refusal_here", lambda *more: "no such folder")
        refused(*words)
    assert not list((tmp_path / "new" / "out").iterdir())


def test_a_finished_sweep_needs_no_worker(tmp_path: Path, near: LocalCluster) -> None:
    near.scale(1)
    ran = run("run", *submit(tmp_path)[1:-1])
    assert ran.exit_code == 0, ran.output
    near.scale(0)
    wait_until(lambda: not near.scheduler.workers, lambda: "the worker is still there")
    for words in (submit(tmp_path), submit(tmp_path)[:4]):
        result = run(*words)
        assert result.exit_code == 0, result.output
        assert result.stdout == (
            "Nothing to do: the 1 task was answered before. "
            f"Report: treesweep report {tmp_path / 'out'}\n"
        )
    (tmp_path / "sweep.yaml").write_text(SMALL.replace("0.05", "0.06"))
    before = (tmp_path / "out" / "sweep.yaml").read_text()
    assert "the cluster has no worker" in refused(*submit(tmp_path))
    assert (tmp_path / "out" / "sweep.yaml").read_text() == before


@pytest.mark.parametrize("code", [0, 1])
def test_a_driver_that_has_ended_gives_its_exit_code(code: int) -> None:
    found = Launched("a", "host", 1, "log")
    client = SimpleNamespace(run=lambda *how, workers: {"a": (code, "")})
    assert await_launched(cast(Any, client), found, "out", 1.0) == code


def test_other_clusters_do_not_go_on(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(SPEC)
    (tmp_path / "cluster.yaml").write_text("kind: local\n")
    assert "--on-cluster needs a --cluster of kind 'address'" in refused(*submit(tmp_path))
