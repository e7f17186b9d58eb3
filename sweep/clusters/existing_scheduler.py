"""A Dask scheduler that somebody else has started."""

from __future__ import annotations

import ssl
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from distributed import Client, Security
from pydantic import Field, field_validator, model_validator

from solver.errors import InputError, one_line
from sweep.clusters.base import Cluster
from sweep.clusters.validators import PrivateKey
from sweep.clusters.worker_admission import check_workers
from sweep.spec.python_spec import FromPython
from sweep.spec.yaml_reader import problem


class Certificates(FromPython):
    """The certificate files for a ``tls://`` scheduler."""

    ca_file: str  #: certificate of the authority
    cert: str  #: certificate of this client
    key: PrivateKey  #: its private key, of mode 600

    @field_validator("ca_file", "cert")
    @classmethod
    def _is_there(cls, value: str) -> str:
        if not Path(value).is_file():
            raise problem(f"there is no file {value!r}")
        return value

    def security(self) -> Security:
        """The same for Dask's client."""
        return Security(
            require_encryption=True,
            tls_ca_file=self.ca_file,
            tls_client_cert=self.cert,
            tls_client_key=self.key,
        )


class Address(Cluster):
    """A Dask scheduler that somebody else has started.

    Examples
    --------
    >>> import treesweep
    >>> cluster = treesweep.Address(address="tcp://127.0.0.1:8786", insecure=True)
    >>> print(cluster.address)
    tcp://127.0.0.1:8786
    """

    kind: Literal["address"] = "address"
    address: str  #: ``tls://HOST:PORT``, or ``tcp://HOST:PORT`` with ``insecure: true``
    security: Certificates | None = None  #: the certificate files; needed for ``tls://``
    insecure: bool = False
    """Allow ``tcp://``: nothing is encrypted, and anyone who can reach the port can run code."""
    connect_timeout: float = Field(default=10.0, gt=0)  #: seconds to wait for the scheduler

    @model_validator(mode="after")
    def _is_safe(self) -> Address:
        scheme, _, rest = self.address.partition("://")
        if scheme not in ("tcp", "tls") or ":" not in rest:
            raise problem("write tls://HOST:PORT or tcp://HOST:PORT", "address")
        if scheme == "tls" and self.security is None:
            raise problem(
                "tls:// needs the certificates: security: {ca_file: …, cert: …, key: …}", "address"
            )
        if scheme == "tcp" and not self.insecure:
            raise problem(
                "tcp:// is not encrypted, and whoever reaches the port can run code; use tls://, "
                "or write 'insecure: true' if the network is yours alone",
                "address",
            )
        return self

    def open(self, stack: ExitStack) -> Client:
        """Connect to the scheduler."""
        try:
            client: Client = Client(
                self.address,
                timeout=self.connect_timeout,
                security=None if self.security is None else self.security.security(),
                set_as_default=False,
            )
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            raise InputError(self._complaint(error)) from None
        stack.enter_context(client)
        return client

    def dashboard(self, client: Client) -> str | None:
        """The address that the scheduler tells."""
        try:
            return client.dashboard_link or None
        except KeyError:
            return None

    def _complaint(self, error: Exception) -> str:
        """Say why the scheduler cannot be reached, and what may help."""
        why = one_line(error, 120)
        if isinstance(error, ssl.SSLError) or "SSL" in why:
            return (
                f"the scheduler at {self.address} and this side do not accept each other's "
                f"certificates; 'security' must name files of the CA that signed the scheduler's "
                f"certificate, and none may have expired ({why})"
            )
        hint = "" if self.security else ", and does it speak plain TCP, not tls://?"
        return (
            f"cannot reach a Dask scheduler at {self.address} within {self.connect_timeout:g} s; "
            f"is it running, and is the address right{hint or '?'} ({why})"
        )

    def reach(self) -> None:
        """Connect to the scheduler, compare its workers' versions with ours, and disconnect."""
        with ExitStack() as stack:
            check_workers(self.open(stack))

    def dry_run(self) -> str:
        """Show which scheduler would be used."""
        lock = "plain TCP, not encrypted" if self.security is None else "TLS"
        return f"nothing is started; the scheduler at {self.address} is used ({lock})"
