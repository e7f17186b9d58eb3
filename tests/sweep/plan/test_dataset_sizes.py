"""Datasets by size: some of their features, their rows repeated, one entry for several sizes."""

from __future__ import annotations

import pytest

from solver.errors import InputError
from sweep.datasets import load_dataset, parse_reference
from sweep.plan.plan import make_plan
from sweep.spec.spec import parse_spec

SPEC = """
name: sizes
datasets:
  - {name: monks-1, replicate: [1, 3]}
  - {name: small, source: monks-1, features: [a5, a1, a2], first: [1, 2], encodings: [categorical]}
  - monks-2
encodings: [onehot]
lambdas: [0.01]
solvers: [branches]
"""


def test_a_list_of_sizes_is_a_dataset_for_each() -> None:
    sweep = parse_spec(SPEC)
    assert [(d.name, d.replicate, d.first) for d in sweep.spec.datasets] == [
        ("monks-1 x1", 1, None),
        ("monks-1 x3", 3, None),
        ("small 1 feature", 1, 1),
        ("small 2 features", 1, 2),
        ("monks-2", 1, None),
    ]
    nodes = make_plan(sweep).nodes
    found = [(n.info.dataset, n.info.n_rows, n.n_features, n.encoding.name) for n in nodes]
    assert found == [
        ("monks-1 x1", 432, 17, "onehot"),
        ("monks-1 x3", 1296, 17, "onehot"),
        ("small 1 feature", 432, 1, "categorical"),
        ("small 2 features", 432, 2, "categorical"),
        ("monks-2", 432, 17, "onehot"),
    ]


def test_two_lists_are_a_grid() -> None:
    text = SPEC.replace("replicate: [1, 3]", "replicate: [1, 2], first: [5, 6]")
    names = [d.name for d in parse_spec(text).spec.datasets[:4]]
    assert names == [
        "monks-1 x1, 5 features", "monks-1 x1, 6 features",
        "monks-1 x2, 5 features", "monks-1 x2, 6 features",
    ]  # fmt: skip


def test_rows_are_repeated_as_a_whole_and_features_come_in_the_order_given() -> None:
    whole = load_dataset("monks-1").frame
    found = load_dataset({"name": "monks-1", "features": ["a5", "a1"], "replicate": 2})
    assert list(found.frame.columns) == ["a5", "a1", "target"]
    assert len(found.frame) == 2 * len(whole)
    for start in (0, len(whole)):
        part = found.frame.iloc[start : start + len(whole)].reset_index(drop=True)
        assert part.equals(whole[["a5", "a1", "target"]])


def test_sizes_that_change_nothing_are_the_same_table() -> None:
    plain = load_dataset("monks-1")
    assert load_dataset("monks-1", replicate=1).digest == plain.digest
    assert load_dataset("monks-1", first=6).digest == plain.digest
    assert load_dataset("monks-1", replicate=2).digest != plain.digest


def test_a_column_that_is_not_used_needs_no_override_and_one_that_is_keeps_it() -> None:
    columns = {"a1": "category", "a2": "category", "a3": "drop"}
    found = load_dataset({"name": "monks-1", "columns": columns, "features": ["a2", "a5"]})
    assert found.columns == {"a2": "category"}


def test_a_dataset_may_have_another_name() -> None:
    reference = parse_reference({"name": "mine", "source": "car"})
    assert load_dataset(reference).name == "mine"
    assert not reference.is_fetched
    fetched = parse_reference({"name": "mine", "source": "openml:61"})
    assert fetched.is_fetched
    assert parse_reference({"source": "car"}).name == "car"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"features": ["a9"]}, "no column 'a9' to use as a feature; it has 'a1'"),
        ({"features": ["target"]}, "no column 'target' to use as a feature"),
        ({"features": ["a1", "a1"]}, "names a column twice"),
        ({"features": ["a1"], "columns": {"a1": "drop"}}, "no column 'a1' to use"),
        ({"first": 7}, "has 6 features, not 7"),
        ({"replicate": 10**9}, "1000000000 copies of 432 rows do not fit into memory"),
        ({"replicate": 0}, "greater than or equal to 1"),
        ({"source": "cars"}, "there is no dataset 'cars'; did you mean car"),
        ({"source": "car", "path": "a.csv"}, "a path or a source, not both"),
    ],
)
def test_what_cannot_be(given: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_dataset({"name": "monks-1", **given})


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ("replicate: [1, 0]", ["line 4", "greater than or equal to 1"]),
        ("replicate: []", ["line 4", "empty"]),
        ("replicate: [2, 2]", ["line 4", "'monks-1 x2' is duplicated"]),
        ("replicate: true", ["line 4", "got true"]),
        ("first: [[1]]", ["line 4", "word, a number"]),
    ],
)
def test_mistakes_are_told_with_their_line(own: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(SPEC.replace("replicate: [1, 3]", own))
    assert all(word in str(caught.value) for word in words), caught.value
