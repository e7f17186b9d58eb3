"""The 32 rows published with BRANCHES, on the matrices of its experiments."""

import csv

import pandas as pd
import pytest

import solver
from solver.limits import Limits
from tests.helpers import ROOT

PUBLISHED = ROOT.parent / "shared" / "data" / "published-branches.csv"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PUBLISHED.exists(), reason="the shared data folder is not there"),
]

ROWS = list(csv.DictReader(PUBLISHED.open())) if PUBLISHED.exists() else []

# Complementary one-hot columns are one feature here, and bounds prune more: zoo-full takes a
# fifth of the reference's iterations.
FEWER_ITERATIONS = {("zoo", "full")}

NODES = {
    "car-full": 400_000,
    "lymphography-full": 400_000,
    "lymphography-f": 800_000,
    "balance-scale-full": 800_000,
}
"""Nodes after which the paper's search has a tree as good as the published one that it could not
prove; the others of these rows need fewer than 20,000."""


def row_name(row: dict[str, str]) -> str:
    return f"{row['dataset']}-{row['encoding']}"


def solve_row(row: dict[str, str], mode: str, limits: Limits) -> solver.Solution:
    table = pd.read_parquet(PUBLISHED.parent / "encoded" / f"{row_name(row)}.parquet")
    codes, target = table.drop(columns="target").to_numpy(), table["target"].to_numpy()
    problem = solver.Problem.from_codes(codes, target)
    return solver.solve(problem, row["lambda"], limits=limits, mode=mode)


@pytest.mark.parametrize("row", ROWS, ids=row_name)
@pytest.mark.parametrize("mode", ["full", "paper"])
def test_row(row, mode):
    proven = row["proven_optimal"] == "yes"
    if mode == "full":
        limits = Limits(bytes=2 * 2**30)
    elif proven:
        limits = Limits(bytes=6 * 2**30)
    else:
        limits = Limits(nodes=NODES.get(row_name(row), 20_000), bytes=6 * 2**30)
    solution = solve_row(row, mode, limits)
    ours, published = float(1 - solution.objective), float(row["h_lambda"])
    assert float(1 - solution.lower_bound) >= published - 5e-7
    if mode == "full":  # proves also what the paper left open
        assert solution.status == "optimal"
    if not proven:
        assert ours >= published - 5e-7
        return
    assert solution.status == "optimal"
    assert round(ours, 6) == published
    assert solution.splits == int(row["splits"])
    if mode == "paper":
        factor = solution.iterations / int(row["iterations"])
        assert factor < 3
        assert factor > 1 / 3 or (row["dataset"], row["encoding"]) in FEWER_ITERATIONS
