"""TLS certificates for a cluster. Only who holds one can connect.

A certificate authority (CA) signs one certificate for the machines and one for those who submit
work. Dask asks both sides of a connection for a certificate of that CA. It does not compare host
names.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from distributed import Security

from solver.errors import InputError

Key: TypeAlias = ec.EllipticCurvePrivateKey

MOST_DAYS = 3650
"""The longest validity of a certificate."""

CA, NODE, CLIENT = "ca", "node", "client"

_HOST = re.compile(r"(\*\.)?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9-]+)*\.?")
_SKEW = dt.timedelta(hours=1)


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: Key


def make_certificates(
    folder: Path,
    hosts: Sequence[str] = (),
    *,
    days: int = 365,
    authority: Path | None = None,
) -> None:
    """Write ``ca.pem``, ``node.pem``, ``client.pem`` and the key of each to a new folder.

    The folder has mode 700, the keys have mode 600. The folder appears complete or not at all.
    Raises InputError if the folder is not empty, a host's name is invalid, or the CA cannot be
    used.

    Parameters
    ----------
    folder : Path
        Must be empty or not exist.
    hosts : sequence of str
        Names and addresses of the machines. They are written into the node's certificate.
    days : int
        How long the certificates and a new CA are valid.
    authority : Path, optional
        The folder of an existing CA: ``ca.pem`` and ``ca.key``. By default a new CA is made, and
        its key is written to ``folder``.
    """
    if not 1 <= days <= MOST_DAYS:
        raise InputError(f"certificates hold from 1 to {MOST_DAYS} days, not {days}")
    names = [_general_name(host) for host in hosts]
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"{folder} is there already and nothing in it is overwritten; choose a new folder"
        )
    now = dt.datetime.now(dt.UTC)
    end = now + dt.timedelta(days=days)
    ca = _new_ca(now, end) if authority is None else read_authority(authority, now)
    end = min(end, ca.certificate.not_valid_after_utc)
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    # A client's certificate cannot be used to impersonate the scheduler.
    pairs = {
        NODE: _signed(ca, "treesweep node", both, names, now, end),
        CLIENT: _signed(ca, "treesweep client", both[1:], [], now, end),
    }
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))  # mode 700
    try:
        _write_certificate(temporary / f"{CA}.pem", ca.certificate)
        if authority is None:
            _write_key(temporary / f"{CA}.key", ca.key)
        for name, pair in pairs.items():
            _write_certificate(temporary / f"{name}.pem", pair.certificate)
            _write_key(temporary / f"{name}.key", pair.key)
        os.rename(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def security_in(folder: Path) -> Security:
    """Write certificates for one run to a new folder. The CA's key is deleted.

    Only who holds one of these certificates can connect to the cluster of this run.
    """
    make_certificates(folder)
    (folder / f"{CA}.key").unlink()
    files = {
        f"tls_{role}_{part}": str(folder / f"{name}.{suffix}")
        for role, name in (("scheduler", NODE), ("worker", NODE), ("client", CLIENT))
        for part, suffix in (("cert", "pem"), ("key", "key"))
    }
    return Security(require_encryption=True, tls_ca_file=str(folder / f"{CA}.pem"), **files)


def security_in_memory() -> Security:
    """Make the same certificates, in memory.

    Dask's ``Security.temporary()`` does not work between machines: its certificate is valid from
    this very second, and a machine whose clock is behind refuses it.
    """
    with tempfile.TemporaryDirectory(prefix="treesweep-") as place:
        security = security_in(Path(place) / "keys")
        for name in Security.__slots__:
            if name.endswith(("_file", "_cert", "_key")):
                setattr(security, name, Path(getattr(security, name)).read_text())
    return security


def read_authority(folder: Path, now: dt.datetime) -> Pair:
    """Read the CA of a folder.

    Raises InputError if it cannot be read, has expired, or its certificate and key do not match.
    """
    try:
        certificate = x509.load_pem_x509_certificate((folder / f"{CA}.pem").read_bytes())
        key = serialization.load_pem_private_key((folder / f"{CA}.key").read_bytes(), None)
        certificate.verify_directly_issued_by(certificate)
    except OSError as error:
        raise InputError(
            f"cannot read the CA: {error.filename}: {error.strerror}; name the folder that has "
            f"{CA}.pem and {CA}.key"
        ) from None
    except (ValueError, TypeError, UnsupportedAlgorithm, InvalidSignature):
        raise InputError(f"the {CA}.pem or {CA}.key of {folder} is damaged, or no CA's") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != (
        certificate.public_key()
    ):
        raise InputError(f"{CA}.pem and {CA}.key of {folder} do not belong together")
    if certificate.not_valid_after_utc <= now:
        day = f"{certificate.not_valid_after_utc:%Y-%m-%d}"
        raise InputError(f"the CA of {folder} has expired on {day}; make a new one")
    return Pair(certificate, key)


def _new_ca(now: dt.datetime, end: dt.datetime) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("treesweep CA")
    usage = _usage(key_cert_sign=True, crl_sign=True)
    built = (
        _builder(name, name, key, now, end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
    )
    return Pair(built.sign(key, hashes.SHA256()), key)


def _signed(
    ca: Pair,
    name: str,
    purposes: list[x509.ObjectIdentifier],
    hosts: list[x509.GeneralName],
    now: dt.datetime,
    end: dt.datetime,
) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.key.public_key())
    built = (
        _builder(_name(name), ca.certificate.subject, key, now, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(issuer, critical=False)
    )
    if hosts:
        built = built.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    return Pair(built.sign(ca.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: Key, now: dt.datetime, end: dt.datetime
) -> x509.CertificateBuilder:
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)  # clocks of different machines differ
        .not_valid_after(end)
        .add_extension(identifier, critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(**allowed: bool) -> x509.KeyUsage:
    names = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    )
    return x509.KeyUsage(**{name: allowed.get(name, False) for name in names})


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    if len(host) > 253 or not _HOST.fullmatch(host):
        raise InputError(f"{host!r} is no name or address of a machine; write e.g. node1.lab")
    return x509.DNSName(host)


def _write_certificate(path: Path, certificate: x509.Certificate) -> None:
    _write(path, certificate.public_bytes(serialization.Encoding.PEM), 0o644)


def _write_key(path: Path, key: Key) -> None:
    data = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    _write(path, data, 0o600)


def _write(path: Path, data: bytes, mode: int) -> None:
    # The file is created with its mode, so that others can never open a key.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
