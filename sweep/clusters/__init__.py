"""Where a sweep runs: the models of ``cluster.yaml``, one module for each kind of cluster.

``base`` holds the contract that the engine uses. ``load`` reads a file and opens its cluster.
``liveness`` ends a sweep that has no workers.

Here: starting, reaching and admitting workers.
Not here: who is given which task (``sweep.graph``).
"""

from sweep.clusters.base import Cluster
from sweep.clusters.existing_scheduler import Address
from sweep.clusters.local import Local, cores
from sweep.clusters.open_cluster import check_cluster, load_cluster, open_cluster, reach_cluster
from sweep.clusters.slurm_config import Slurm
from sweep.clusters.ssh_config import Ssh

__all__ = [
    "Address",
    "Cluster",
    "Local",
    "Slurm",
    "Ssh",
    "check_cluster",
    "cores",
    "load_cluster",
    "open_cluster",
    "reach_cluster",
]
