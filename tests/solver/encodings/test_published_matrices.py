"""The published matrices are rebuilt cell by cell from the raw tables."""

from __future__ import annotations

import pandas as pd
import pytest

from solver.encodings import fit_encoder
from solver.problem.problem import Problem
from solver.problem.target import read_labels

ENCODING_OF = {
    "o": "categorical",
    "full": "onehot",
    "f": "onehot-drop-first",
    "l": "onehot-drop-last",
}
# Their files have the class first, and whole rows were mirrored.
MIRRORED = ("mushroom", "lymphography", "balance-scale")
MATRICES = [
    f"{name}-{suffix}"
    for name, suffixes in {
        "monks-1": "o full f l",
        "monks-2": "o full f l",
        "monks-3": "o full f l",
        "tic-tac-toe": "o full f",
        "car": "o full f",
        "nursery": "o full f",
        "mushroom": "o full f",
        "kr-vs-kp": "full",
        "zoo": "o full f",
        "lymphography": "o full f",
        "balance-scale": "o full f",
    }.items()
    for suffix in suffixes.split()
]


def raw_table(folder, name: str) -> pd.DataFrame:
    part = "-train" if name.startswith("monks") else ""
    table = pd.read_parquet(folder / "categorical" / f"{name}{part}.parquet")
    if name in MIRRORED:
        features = list(table.columns[:-1])
        table = table[[*reversed(features), "target"]]
    return table


def test_every_published_matrix_is_here(shared_data):
    published = {path.stem for path in (shared_data / "encoded").glob("*.parquet")}
    assert published == set(MATRICES)


@pytest.mark.parametrize("matrix", MATRICES)
def test_matrix(shared_data, matrix):
    name, suffix = matrix.rsplit("-", 1)
    published = pd.read_parquet(shared_data / "encoded" / f"{matrix}.parquet")
    table = raw_table(shared_data, name)
    features = table.drop(columns="target")
    labels, target = read_labels(table["target"])
    encoder = fit_encoder(ENCODING_OF[suffix], features, target, n_classes=len(labels))
    codes = encoder.transform(features)
    assert [test.name for test in encoder.tests] == list(published.columns[:-1])
    assert codes.shape == (len(published), published.shape[1] - 1)
    assert (codes == published.drop(columns="target").to_numpy()).all()
    assert (target == published["target"].to_numpy()).all()

    problem = Problem.from_table(table, "target", ENCODING_OF[suffix])
    rows = published.drop(columns="target")
    assert problem.n_rows == problem.total_weight == len(table)
    assert len(problem.codes) == len(rows.drop_duplicates())
    assert problem.preparation.collapsed == len(rows) - len(problem.codes)
    constant = rows.columns[rows.nunique() == 1]
    assert problem.preparation.constant == tuple(constant)
    assert problem.n_features == rows.shape[1] - len(constant) - len(problem.preparation.duplicate)


def test_what_preparing_mushroom_reports(shared_data):
    table = raw_table(shared_data, "mushroom")
    full = Problem.from_table(table, "target", "onehot").preparation
    assert full.constant == ("veil-type=p",)
    assert full.without_feature == ()
    assert full.duplicate["gill-size=n"] == "gill-size=b"
    assert len(full.duplicate) == 11
    first = Problem.from_table(table, "target", "onehot-drop-first").preparation
    assert first.constant == ()
    assert first.without_feature == ("veil-type",)
