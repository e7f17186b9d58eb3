"""A cluster over TLS, with real processes: who is let in, and who is not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from solver.errors import InputError
from sweep.clusters import load_cluster, open_cluster
from sweep.clusters.tls import make_certificates
from tests.helpers import PATIENCE, wait_until
from tests.helpers.dask_processes import Lab, n_workers


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lab")
    make_certificates(folder / "certs", ["127.0.0.1"])
    found = Lab(folder, folder / "certs")
    found.worker("right")
    yield found
    found.close()


@pytest.fixture(scope="module")
def others(lab: Lab) -> Path:
    """Certificates of another CA."""
    make_certificates(lab.folder / "others", ["127.0.0.1"])
    return lab.folder / "others"


def refusal(lab: Lab, folder: Path) -> str:
    """Why a client with the certificates of a folder does not get through."""
    with pytest.raises(InputError) as caught:
        with open_cluster(lab.config(folder, connect_timeout=5.0)):
            pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_whoever_has_a_certificate_of_the_ca_gets_in(lab: Lab) -> None:
    with open_cluster(lab.config()) as client:
        assert client.scheduler.address.startswith("tls://")
        assert n_workers(client) == 1
        assert client.submit(sum, [1, 2]).result(timeout=PATIENCE) == 3


def test_a_client_of_another_ca_is_refused(lab: Lab, others: Path) -> None:
    assert "certificate" in refusal(lab, others)


def test_a_client_that_trusts_us_but_is_not_trusted_is_refused(
    lab: Lab, others: Path, tmp_path: Path
) -> None:
    for name in ("client.pem", "client.key"):
        shutil.copy2(others / name, tmp_path / name)
    shutil.copy2(lab.folder / "certs" / "ca.pem", tmp_path / "ca.pem")
    assert "certificate" in refusal(lab, tmp_path)


def test_a_scheduler_of_another_ca_is_refused(lab: Lab, others: Path, tmp_path: Path) -> None:
    """Our own certificate is right; whoever answers at the address is not the lab's scheduler."""
    for name in ("client.pem", "client.key"):
        shutil.copy2(lab.folder / "certs" / name, tmp_path / name)
    shutil.copy2(others / "ca.pem", tmp_path / "ca.pem")
    assert "certificate" in refusal(lab, tmp_path)


def test_a_client_without_tls_is_refused(lab: Lab, tmp_path: Path) -> None:
    plain = tmp_path / "cluster.yaml"
    address = lab.address.replace("tls://", "tcp://")
    plain.write_text(f"kind: address\naddress: {address}\ninsecure: true\nconnect_timeout: 3\n")
    with pytest.raises(InputError, match=r"cannot reach a Dask scheduler at tcp://.* tls://"):
        with open_cluster(load_cluster(plain)):
            pass


def test_a_worker_of_another_ca_cannot_join(lab: Lab, others: Path) -> None:
    process = lab.worker("wrong", certificates=others, join=False)
    with open_cluster(lab.config()) as client:
        wait_until(lambda: "certificate verify failed" in lab.log("wrong"))
        assert n_workers(client) == 1
        assert "Registered to" not in lab.log("wrong")
    process.terminate()


def test_keys_that_others_can_read_are_refused(lab: Lab, tmp_path: Path) -> None:
    files = tmp_path / "certs"
    shutil.copytree(lab.folder / "certs", files)
    text = (
        f"kind: address\naddress: {lab.address}\nsecurity:\n  ca_file: {files}/ca.pem\n"
        f"  cert: {files}/client.pem\n  key: {files}/client.key\n"
    )
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    assert load_cluster(path).kind == "address"
    (files / "client.key").chmod(0o640)
    with pytest.raises(InputError) as caught:
        load_cluster(path)
    assert "line 6: security.key: the private key" in str(caught.value)
    assert f"can be read by other users (mode 640); run: chmod 600 {files}/client.key" in str(
        caught.value
    )


def test_files_that_are_no_certificates_are_one_line(lab: Lab, tmp_path: Path) -> None:
    files = tmp_path / "certs"
    shutil.copytree(lab.folder / "certs", files)
    for name in ("client.key", "client.pem", "ca.pem"):
        (files / name).write_text("no key at all")
        assert "certificate" in refusal(lab, files)
