"""Tests of sweep/clusters: reading files, and the kinds that are there without any server."""
# ruff: noqa: E501  a message is easier to read on one line

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from solver.errors import InputError
from sweep.clusters import Address, Local, cores, load_cluster, local, open_cluster
from sweep.clusters.open_cluster import KINDS
from sweep.clusters.tls import make_certificates
from tests.helpers import ROOT


def write(folder: Path, text: str) -> Path:
    path = folder / "cluster.yaml"
    path.write_text(text)
    return path


def test_the_file_in_the_repository_is_local() -> None:
    assert load_cluster(ROOT / "cluster.yaml") == Local()


def test_all_keys_of_a_local_cluster(tmp_path: Path) -> None:
    text = "kind: local\nworkers: 2\nmemory_limit: 1GiB\nworker_timeout: 60\n"
    text += "dask:\n  distributed.comm.timeouts.connect: 30s\n  distributed: {worker: {memory: {terminate: 0.9}}}\n"
    found = load_cluster(write(tmp_path, text))
    assert isinstance(found, Local)
    assert (found.workers, found.memory_limit) == (2, 2**30)
    assert (
        found.settings().items()
        >= {
            "distributed.comm.timeouts.connect": "30s",
            "distributed.worker.memory.terminate": 0.9,
            "distributed.scheduler.worker-saturation": 1.0,
        }.items()
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ("kind: locl\n", "line 1: kind: 'locl' is no kind of cluster; write 'kind: local' or"),
        ("workers: 2\n", "the key 'kind' is missing"),
        ("kind: local\nworker: 2\n", "line 2: worker: unknown key 'worker' (did you mean 'workers'?)"),
        ("kind: local\nworkers: 0\n", "line 2: workers: input should be greater than or equal to 1"),
        ("kind: local\nworkers: two\n", "line 2: workers: expected a whole number, got 'two'"),
        ("kind: local\nmemory_limit: huge\n", "line 2: memory_limit: 'huge' is no amount of memory"),
        ("kind: local\nmemory_limit: 4\n", "line 2: memory_limit: 4 bytes are less than the 256 MiB of a worker"),
        ("kind: local\nmemory_limit: 100MiB\n", "memory_limit: 104857600 bytes are less than the 256 MiB"),
        ("kind: ssh\nhosts: [a]\nmemory_limit: 0\n", "line 3: memory_limit: 0 bytes are less than"),
        ("kind: slurm\njobs: 1\nmemory: 16\nwalltime: 02:00:00\n", "line 3: memory: 16 bytes are less than the"),
        ("kind: address\n", "the key 'address' is missing"),
        ("kind: address\naddress: localhost\n", "line 2: address: write tls://HOST:PORT or tcp://HOST:PORT"),
        ("kind: address\naddress: tcp://a:1\n", "line 2: address: tcp:// is not encrypted"),
        ("kind: address\naddress: tls://a:1\n", "line 2: address: tls:// needs the certificates"),
        ("kind: address\naddress: tls://a:1\nsecurity: {ca_file: no.pem, cert: b, key: c}\n", "line 3: security.ca_file: there is no file 'no.pem'"),
        ("- a\n", "expected 'key: value' lines"),
        ("kind: [local]\n", "line 1: kind: ['local'] is no kind of cluster"),
        ("kind: [local\n", "is not valid YAML"),
        ("", "is empty"),
    ],
)  # fmt: skip
def test_bad_files_name_line_key_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_cluster(write(tmp_path, text))
    assert message in str(caught.value)
    assert "cluster.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "setting",
    [
        "distributed.worker.preload: evil.py",
        "distributed.scheduler.preload: evil.py",
        "distributed.nanny.preload: evil.py",
        "distributed.client.preload: evil.py",
        "distributed.nanny.environ: {LD_PRELOAD: evil.so}",
        "distributed.nanny.pre-spawn-environ.LD_PRELOAD: evil.so",
        "distributed.scheduler.http.routes: [evil]",
        "distributed.worker.http.routes: evil",
        "logging-file-config: evil.ini",
        "logging: {version: 1}",
        "distributed.comm.ucx.environment: {A: b}",
        "distributed.worker.memory: [1]",
        "distributed: {worker: {preload: evil.py}}",
        "distributed.worker.memory-evil: 1",
    ],
)
def test_no_setting_can_run_code(tmp_path: Path, setting: str) -> None:
    with pytest.raises(InputError) as caught:
        load_cluster(write(tmp_path, f"kind: local\ndask:\n  {setting}\n"))
    assert "dask" in str(caught.value)


def test_an_unreachable_scheduler_is_one_line_soon() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        config = Address(kind="address", address=address, insecure=True, connect_timeout=1.0)
        with pytest.raises(InputError) as caught:
            with open_cluster(config):
                pass
    assert f"cannot reach a Dask scheduler at {address} within 1 s" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_local_cluster_has_processes_of_one_thread_and_listens_here_only() -> None:
    with open_cluster(Local(workers=2, memory_limit=2**30)) as client:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        assert len(workers) == 2
        assert all(address.startswith("tls://127.0.0.1:") for address in workers)
        assert {w["nthreads"] for w in workers.values()} == {1}
        assert {w["memory_limit"] for w in workers.values()} == {2**30}
        pids = set(client.run(os.getpid).values())
        assert len(pids | {os.getpid()}) == 3
        assert client.scheduler.address.startswith("tls://127.0.0.1:")


def test_workers_that_cannot_be_started_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise RuntimeError("Nanny failed\nto start.")

    monkeypatch.setattr(local, "LocalCluster", refuse)
    with pytest.raises(InputError, match=r"could not be started \(RuntimeError: Nanny failed to"):
        with open_cluster(Local(workers=1)):
            pass


def test_by_default_there_is_a_worker_a_core() -> None:
    assert cores() >= 1
    assert Local().workers is None


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_there_is_an_example_of_each_kind(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_certificates(tmp_path / "certs")
    monkeypatch.chdir(tmp_path)
    config = load_cluster(ROOT / "examples" / "clusters" / f"{kind}.yaml")
    assert config.kind == kind
    assert type(config) is KINDS[kind]
    assert len(config.dry_run()) > 40


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_page_shows_the_example(kind: str) -> None:
    page = (ROOT / "docs" / "guides" / "clusters.md").read_text()
    _, _, rest = page.partition(f"## `kind: {kind}`")
    section, _, _ = rest.partition("\n## ")
    example = (ROOT / "examples" / "clusters" / f"{kind}.yaml").read_text()
    for line in example.splitlines():
        assert line.partition("#")[0].rstrip() in section
