"""
A sweep on a Dask cluster
=========================

A sweep runs wherever a Dask scheduler runs. Here we start the scheduler on this
machine; it may also run on another machine.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from distributed import LocalCluster

import treesweep

SPEC = {
    "name": "on-dask",
    "datasets": "balance-scale",
    "encodings": "onehot",
    "lambdas": [0.05, 0.02, 0.01],
    "solvers": ["branches", "cart"],
    "limits": {"seconds": 10, "depth": 4},
}


def main() -> None:
    """Start a cluster, sweep on it, and draw the times of the tasks of each worker."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as dask,
        tempfile.TemporaryDirectory() as place,
    ):
        # Without TLS every user of this machine could run code in the workers: only for a demo.
        cluster = treesweep.Address(address=dask.scheduler_address, insecure=True)
        results = treesweep.run_sweep(SPEC, Path(place) / "out", cluster, progress=False)
        rows = results.frame
    print(rows[["solver", "lam", "status", "splits", "objective_exact"]].to_string(index=False))
    figure, axes = plt.subplots(figsize=(7, 2.5), layout="constrained")
    begin = rows["started"].min()
    lanes = {worker: i for i, worker in enumerate(sorted(rows["worker"].unique()))}
    for row in rows.itertuples():
        start = (row.started - begin).total_seconds()
        width = max((row.finished - row.started).total_seconds(), 0.01)
        axes.barh(lanes[row.worker], width, left=start, height=0.5, edgecolor="white")
    axes.set_yticks(list(lanes.values()), [f"worker {i + 1}" for i in lanes.values()])
    axes.set(xlabel="seconds since the first task began")
    plt.show()


# %%
# To run the sweep on other machines, change only the cluster.
# ``treesweep.Ssh(hosts=["lab1", "lab2"])`` starts workers on two machines, and
# ``treesweep.Slurm(jobs=4, …)`` submits workers as jobs of a queue.

if __name__ == "__main__":
    main()
