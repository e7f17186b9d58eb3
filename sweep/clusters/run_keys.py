"""Certificates that are made for one run, and thrown away with it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from distributed import Security

from sweep.clusters.tls import CA, CLIENT, NODE, make_certificates

_DAYS = 365


def security_in(folder: Path) -> Security:
    """Make certificates in a new folder, that only this user may enter; the CA's key is not kept.

    Whoever has such a certificate may join the cluster of this run, and nobody else.
    """
    make_certificates(folder, days=_DAYS)
    (folder / f"{CA}.key").unlink()
    return _security({role: _files(folder, role) for role in (NODE, CLIENT)}, folder / f"{CA}.pem")


def security_in_memory() -> Security:
    """The same, as text and not in files."""
    with tempfile.TemporaryDirectory(prefix="treesweep-") as place:
        folder = Path(place) / "keys"
        security_in(folder)
        pairs = {
            role: {name: Path(path).read_text() for name, path in _files(folder, role).items()}
            for role in (NODE, CLIENT)
        }
        return _security(pairs, (folder / f"{CA}.pem").read_text())


def _files(folder: Path, role: str) -> dict[str, str]:
    return {"cert": str(folder / f"{role}.pem"), "key": str(folder / f"{role}.key")}


def _security(pairs: dict[str, dict[str, str]], authority: Path | str) -> Security:
    roles = {"scheduler": NODE, "worker": NODE, "client": CLIENT}
    fields = {
        f"tls_{role}_{name}": value
        for role, pair in roles.items()
        for name, value in pairs[pair].items()
    }
    return Security(require_encryption=True, tls_ca_file=str(authority), **fields)
