"""The built-in datasets equal the published ones, and stay what they are."""

from __future__ import annotations

import pandas as pd
import pytest
import sklearn.datasets

from sweep.datasets import BUILTINS, dataset_names, load_dataset

# A changed digest makes every stored result of the dataset unfindable.
DIGESTS = {
    "tic-tac-toe": "d32a9b206d0b81555831aa338c0a6e7fc4995188b253b473ba46d9db74f38032",
    "balance-scale": "4f40b7a6ef75b9e75373053db26b357a0ce7d105fade296d6707e7815e7e81a1",
    "balance-scale-2": "e564ede8eed42ed1dd6badd65506dae70bd48d05729c3107838b406a01b33b7a",
    "monks-1": "a032e5871e56a7101c3b36c6a7a2a8b1e64772f204bba032e8c9f97eeb52ff74",
    "monks-2": "cc0cd84b2757cd8caae95d53b30d09c82437ad05cdbc83e307132935e2724ab4",
    "monks-3": "aabe574774cf0643e2f2251f7d6d3b916896e890be6ab791ffd0af59d9e32c17",
    "car": "b5323418ec39ccb91cace185b1e3cdf6a4c03757671627ebe01886163de1f1fe",
    "nursery": "0ee9cc178e3f4fc7c839ddfeee51ab6fae709da846f6dcd699e79915ac5c7ecb",
    "iris": "053bca4c14c15cad8bd915e2f8f183147f2026c0b7bae3d4f36d5d0ddb7a65d0",
    "wine": "ea704f9647ab5c4ad348bd3fc1d69da048454be2edea6fa800ea633340ee91ce",
    "breast-cancer": "3b76ce068992bcd05318feb184eb14c36831170f7925f9fa8eb182b59884560f",
    "digits": "f33106650a9d4ac66cb4f0820d96b328df71e755eadecd372b60904e57825c81",
    "diabetes": "e934ab2e0bbffe16559a8de85741bb5bb6199b1edac62d0d5edd2aebfc3790c3",
}
PUBLISHED = {
    "tic-tac-toe": "tic-tac-toe",
    "balance-scale": "balance-scale",
    "monks-1": "monks-1-test",
    "monks-2": "monks-2-test",
    "monks-3": "monks-3-test",
    "car": "car",
    "nursery": "nursery",
}


def test_catalogue():
    assert [builtin.name for builtin in dataset_names()] == list(DIGESTS)
    for name, builtin in BUILTINS.items():
        assert name == builtin.name
        assert len(builtin.source.splitlines()) == 1


@pytest.mark.parametrize("name", DIGESTS)
def test_size_and_digest(name):
    dataset = load_dataset(name)
    builtin = BUILTINS[name]
    assert (dataset.name, dataset.target) == (name, "target")
    assert dataset.frame.shape == (builtin.rows, builtin.features + 1)
    assert list(dataset.frame.columns)[-1] == "target"
    assert len(dataset.classes) == builtin.classes
    assert not dataset.frame.isna().any().any()
    assert dataset.digest == DIGESTS[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_equals_the_published_table(shared_data, name):
    published = pd.read_parquet(shared_data / "categorical" / f"{PUBLISHED[name]}.parquet")
    made = load_dataset(name).frame
    names = list(published.columns)
    assert list(made.columns) == names
    left, right = (
        table.sort_values(names).reset_index(drop=True) for table in (made, published)
    )  # fmt: skip
    pd.testing.assert_frame_equal(left, right, check_dtype=False)
    if name != "tic-tac-toe":
        pd.testing.assert_frame_equal(made, published, check_dtype=False)


@pytest.mark.parametrize(
    "name, load",
    [
        ("iris", sklearn.datasets.load_iris),
        ("wine", sklearn.datasets.load_wine),
        ("breast-cancer", sklearn.datasets.load_breast_cancer),
        ("digits", sklearn.datasets.load_digits),
    ],
)
def test_equals_scikit_learn(name, load):
    bunch = load()
    dataset = load_dataset(name)
    assert list(dataset.frame.columns[:-1]) == list(bunch.feature_names)
    assert (dataset.frame.drop(columns="target").to_numpy() == bunch.data).all()
    assert dataset.frame["target"].tolist() == bunch.target_names[bunch.target].tolist()
    assert type(dataset.classes[0]) is (int if name == "digits" else str)
