"""Tests of sweep/clusters/tls.py and of private keys in sweep/clusters/validators.py."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from solver.errors import InputError
from sweep.clusters.tls import make_certificates
from sweep.clusters.validators import exposed


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab") / "certs"
    before = os.umask(0)  # the modes are not left to the umask
    try:
        make_certificates(folder, ["n1.lab", "10.0.0.5", "::1"], days=30)
    finally:
        os.umask(before)
    return folder


def test_only_the_owner_can_read_the_keys(made: Path) -> None:
    keys = {"ca.key", "node.key", "client.key"}
    assert {p.name for p in made.iterdir()} == keys | {"ca.pem", "node.pem", "client.pem"}
    assert mode(made) == 0o700
    assert {mode(made / key) for key in keys} == {0o600}


def test_what_the_certificates_say(made: Path) -> None:
    ca, node, client = (load(made / f"{name}.pem") for name in ("ca", "node", "client"))
    node.verify_directly_issued_by(ca)
    client.verify_directly_issued_by(ca)
    names = node.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["n1.lab"]
    addresses = [ipaddress.ip_address("10.0.0.5"), ipaddress.ip_address("::1")]
    assert names.get_values_for_type(x509.IPAddress) == addresses
    purposes = client.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert ca.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not node.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    left = client.not_valid_after_utc - dt.datetime.now(dt.UTC)
    assert dt.timedelta(days=29) < left <= dt.timedelta(days=30)


def handshake(server: Path, client: Path, ca: Path) -> None:
    """Both sides ask for a certificate, as Dask does, and strictly, as Python 3.13 does."""
    contexts = []
    for purpose, pair in ((ssl.Purpose.CLIENT_AUTH, server), (ssl.Purpose.SERVER_AUTH, client)):
        context = ssl.create_default_context(purpose, cafile=str(ca))
        context.load_cert_chain(f"{pair}.pem", f"{pair}.key")
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        contexts.append(context)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    there = contexts[0].wrap_bio(to_server, to_client, server_side=True)
    here = contexts[1].wrap_bio(to_client, to_server)
    left = {there, here}
    for _ in range(10):
        for side in list(left):
            try:
                side.do_handshake()
                left.discard(side)
            except ssl.SSLWantReadError:
                pass
    assert not left


def test_the_certificates_serve_for_tls_and_those_of_another_ca_do_not(
    made: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    make_certificates(other)
    handshake(made / "node", made / "client", made / "ca.pem")
    handshake(made / "node", made / "node", made / "ca.pem")  # a worker and the scheduler
    for server, client in [
        (other / "node", made / "client"),
        (made / "node", other / "client"),
        (made / "client", made / "client"),  # who submits is no scheduler
    ]:
        with pytest.raises(ssl.SSLError):
            handshake(server, client, made / "ca.pem")


def test_more_certificates_of_the_same_ca(made: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    make_certificates(more, days=3650, authority=made)
    assert not (more / "ca.key").exists()
    assert (more / "ca.pem").read_bytes() == (made / "ca.pem").read_bytes()
    handshake(made / "node", more / "client", made / "ca.pem")
    # None outlives its CA.
    assert load(more / "node.pem").not_valid_after_utc == load(made / "ca.pem").not_valid_after_utc


def test_nothing_is_overwritten(made: Path, tmp_path: Path) -> None:
    before = {p.name: p.read_bytes() for p in made.iterdir()}
    with pytest.raises(InputError, match="is there already and nothing in it is overwritten"):
        make_certificates(made)
    assert {p.name: p.read_bytes() for p in made.iterdir()} == before
    empty = tmp_path / "empty"
    empty.mkdir(mode=0o755)
    make_certificates(empty)
    assert mode(empty) == 0o700
    assert [p.name for p in tmp_path.iterdir()] == ["empty"]  # and nothing beside


@pytest.mark.parametrize("host", ["a b", "", "-a", "a" * 300, "n1/../x", "ü.lab", "1.2.3.4/8"])
def test_what_is_no_host_is_refused(host: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no name or address of a machine"):
        make_certificates(tmp_path / "certs", [host])
    assert not (tmp_path / "certs").exists()


@pytest.mark.parametrize("days", [0, -1, 3651])
def test_days_have_bounds(days: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="certificates hold from 1 to 3650 days"):
        make_certificates(tmp_path / "certs", days=days)


def test_an_authority_that_is_none_is_refused(made: Path, tmp_path: Path) -> None:
    other, new = tmp_path / "other", tmp_path / "new"
    with pytest.raises(InputError, match=r"cannot read the CA: .*ca\.pem: No such file"):
        make_certificates(new, authority=other)
    make_certificates(other)
    (other / "ca.key").write_bytes((made / "ca.key").read_bytes())
    with pytest.raises(InputError, match="do not belong together"):
        make_certificates(new, authority=other)
    (other / "ca.key").write_text("no key")
    with pytest.raises(InputError, match="is damaged, or no CA's"):
        make_certificates(new, authority=other)
    assert not new.exists()


@pytest.mark.parametrize(
    "rights, fine",
    [
        (0o600, True),
        (0o400, True),
        (0o640, False),
        (0o604, False),
        (0o660, False),
        (0o601, False),
    ],
)
def test_keys_that_others_can_read_are_exposed(tmp_path: Path, rights: int, fine: bool) -> None:
    key = tmp_path / "a.key"
    key.touch()
    key.chmod(rights)
    found = exposed(key)
    if fine:
        assert found is None
    else:
        assert found is not None
        assert f"(mode {rights:o}); run: chmod 600 {key}" in found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_keys_of_other_users_are_no_keys_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "a.key"
    key.touch(0o600)
    os.chown(key, 65534, 65534)
    found = exposed(key)
    assert found is not None
    assert "belongs to another user" in found
    assert exposed(tmp_path / "none.key") is None
