"""The commands ``treesweep cluster certs`` and ``check``."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.cli.command_group import App, ExitCode
from pipelines.cli.json_and_tables import count

_FOLDER = click.Path(path_type=Path)


@click.group(cls=App)
def cluster() -> None:
    """Clusters that ``cluster.yaml`` describes."""


@cluster.command()
@click.argument("folder", type=_FOLDER, metavar="DIR")
@click.option(
    "--host", "hosts", multiple=True, metavar="NAME",
    help="Name or address of a machine, to be noted in its certificate; may be repeated.",
)  # fmt: skip
@click.option("--days", default=365, show_default=True, help="How long the certificates hold.")
@click.option(
    "--ca", type=_FOLDER, metavar="DIR2",
    help="Sign with the CA of this folder (ca.pem, ca.key), not with a new one.",
)  # fmt: skip
def certs(folder: Path, hosts: tuple[str, ...], days: int, ca: Path | None) -> None:
    """Make a CA and certificates for the scheduler, the workers and whoever submits.

    Whoever holds a certificate of the CA can run code on the cluster, and nobody else can reach
    it. DIR must be new.
    """
    from sweep.clusters.tls import make_certificates

    make_certificates(folder, hosts, days=days, authority=ca)
    scheduler = hosts[0] if hosts else "SCHEDULER"
    click.echo(_explained(folder.absolute(), scheduler, with_ca=ca is None))


@cluster.command()
@click.argument("file", type=_FOLDER, metavar="cluster.yaml")
@click.option("--dry-run", is_flag=True, help="Show what would be started, and start nothing.")
def check(file: Path, dry_run: bool) -> ExitCode:
    """Start a cluster or connect to it, list its machines, and close it again."""
    from solver.features.number_format import show_bytes
    from sweep.clusters import check_cluster, load_cluster

    config = load_cluster(file)
    if dry_run:
        click.echo(config.dry_run())
        return ExitCode.DONE
    hosts = check_cluster(config)
    for host in hosts:
        said = host.differs or "the same versions as here"
        click.echo(
            f"{host.host}: {count(host.workers, 'worker')}, {show_bytes(host.memory)}, {said}"
        )
    return ExitCode.FAILED if any(host.differs for host in hosts) else ExitCode.DONE


def _explained(folder: Path, scheduler: str, with_ca: bool) -> str:
    """The purpose of each file, and how to use it."""
    ca_key = (
        "\n  ca.key                   signs further certificates (--ca); no machine needs it: move "
        "it to\n                           a safe place off the cluster, or delete it"
    )
    files = "--tls-ca-file ca.pem --tls-cert node.pem --tls-key node.key"
    address = f"[{scheduler}]" if ":" in scheduler else scheduler
    return f"""\
Certificates are in {folder}:
  ca.pem                   tells certificates of this lab from others; goes everywhere
  node.pem, node.key       for the scheduler and the workers; copy them to each machine
  client.pem, client.key   for you, who submit sweeps{ca_key if with_ca else ""}

On the machines, in the folder with ca.pem, node.pem and node.key:
  DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=0 dask scheduler --port 8786 \\
    --dashboard-address 127.0.0.1:8787 {files}
  dask worker tls://{address}:8786 --nthreads 1 --nworkers 16 \\
    --dashboard-address 127.0.0.1:0 {files}

cluster.yaml:
  kind: address
  address: tls://{address}:8786
  security:
    ca_file: {folder / "ca.pem"}
    cert: {folder / "client.pem"}
    key: {folder / "client.key"}

Keep the keys (*.key) at mode 600: who can read one can run code on the cluster."""
