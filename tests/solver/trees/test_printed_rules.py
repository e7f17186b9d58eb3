"""The printed rules of a tree, read back as text, separate rows as the tree does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solver import InputError, Limits, Problem, Tree, solve
from solver.trees.export import export_dot, export_svg, export_text, plot_tree
from tests.helpers import printed_trees

EXTREME = ("large", "huge gaps", "denormal", "zeros", "powers")
"""Tables whose squares are beyond double precision."""

NEAR = 0.1 + 0.2
THIRD = 1 / 3
TINY = 5e-324


def days(*texts: str) -> Any:
    return pd.to_datetime(list(texts), format="ISO8601")


TABLES: dict[str, dict[str, Any]] = {
    "halves": {"x": [1.5, 2.5, 3.5, 4.5]},
    "whole": {"x": [1, 2, 3, 4], "b": [7, 100, 7, 101]},
    "neighbours": {"x": [0.3, NEAR, math.nextafter(NEAR, 1), 0.4]},
    "ones": {"x": [1.0, math.nextafter(1.0, 2), 1 + 2**-50, 1 + 2**-49]},
    "milliseconds": {"t": [1.7e12, 1.7e12 + 0.001, 1.7e12 + 0.002, 1.7e12 + 1]},
    "large": {"x": [1e300, 1.0000000001e300, 1.0000000002e300, 1e307]},
    "huge gaps": {"x": [-1.7e308, 1.7e308, -1e308, 0.0]},
    "denormal": {"x": [1e-320, TINY, 3 * TINY, 1e-310]},
    "zeros": {"x": [-0.0, TINY, -TINY, 0.0]},
    "negative": {"x": [-0.1, -0.2, -(0.1 + 0.2), -1e-9]},
    "thirds": {"x": [THIRD, 2 * THIRD, math.nextafter(THIRD, 1), 1.0]},
    "twelve digits": {"x": [123456.7890123, 123456.7890124, 123456.7890125, 123456.7890126]},
    "beyond 2^53": {"x": [2.0**53, 2.0**53 + 2, 2.0**53 + 4, 2.0**54]},
    "powers": {"x": [10.0**k for k in (-300, -5, 5, 300)]},
    "two columns": {"x": [0.3, NEAR, 0.3, NEAR], "z": [1.0, 1.0, math.nextafter(1, 2), 1.0]},
    "names": {"a ≤ 3: no": [0.5, 1.5, 2.5, 3.5], '"q" <x> & y': [3.0, 1.0, 4.0, 1.0]},
    "missing": {"x": [0.3, NEAR, None, 0.5]},
    "missing twice": {"x": [None, 1.0, 2.0, None], "z": [1.0, None, 3.0, 4.0]},
    "days": {"t": days("2020-01-01", "2020-01-02", "2020-06-30", "1969-12-31")},
    "seconds": {"t": days(*(f"2020-01-01T10:00:0{s}" for s in range(4)))},
    "microseconds": {"t": days(*(f"2023-11-14T22:13:20.00000{s}" for s in range(4)))},
    "a night": {"t": days(*(f"2020-01-01T2{h}:59:59.9" for h in range(4)))},
    "far years": {"t": days("1700-01-01", "2200-12-31", "1700-01-01T00:00:01", "1969-12-31T23:59")},
    "missing days": {"t": days("2020-01-01", "2020-01-02", "NaT", "2020-01-04")},
    "dates and numbers": {
        "t": days(*(f"2023-11-14T22:13:20.{s}" for s in (1, 12, 123, 1234))),
        "x": [0.1, 0.2, NEAR, 0.4],
    },
    "plane": {"a": [0.1, 0.7, 0.3, NEAR], "b": [THIRD, 0.2, 0.9, 0.1]},
    "curve": {"a (mm)": [0.1, 1.7, 0.9, 1.2], "b": [1.0, 1.1, -0.7, 1e-3], "c": [1, 2, 4, 8]},
    "long name": {"x" * 60: [0.3, NEAR, 0.3, 0.5]},
}
# There are no sums of columns that lack numbers, and none read back whose names have signs.
NO_SUMS = {
    "hyperplane": ("names", "missing", "missing twice", "missing days"),
    "polynomial": ("names", "missing", "missing twice", "missing days", *EXTREME),
}
CLASSES = ["no", "yes", "no", "yes"]
SOLVERS: list[tuple[str, str, dict[str, Any]]] = [
    ("thresholds", "branches", {}),
    ("quantiles", "branches", {}),
    ("mdlp", "branches", {}),
    ("continuous", "quantbnb", {}),
    ("continuous", "proper", {"rules": "axis"}),
    ("continuous", "proper", {"rules": "hyperplane"}),
    ("continuous", "proper", {"rules": "polynomial"}),
    ("continuous", "cart", {}),
    ("thresholds", "cart", {}),
    ("continuous", "tao", {}),
]


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as people see them: floats, dates as seconds, None for what is missing."""
    columns = {}
    for name in frame:
        values = frame[name]
        if values.dtype.kind == "M":
            stamps = values.astype("datetime64[us]").to_numpy()
            found = stamps.astype(np.int64) / 10**6
            found[np.isnat(stamps)] = np.nan
        else:
            found = values.to_numpy(np.float64)
        columns[name] = [None if math.isnan(v) else v for v in found.tolist()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def near(numbers: list[float], random: np.random.Generator, n: int) -> list[float]:
    """Numbers near to some: these, their neighbours, middles, and any between."""
    ordered = sorted(set(numbers))
    around = [*ordered]
    for value in ordered:
        around += [math.nextafter(value, math.inf), math.nextafter(value, -math.inf)]
    for low, high in pairwise(ordered):
        around += [low / 2 + high / 2, low / 4 + high * 0.75, low + (high / 2 - low / 2) * 1e-9]
    found = [value for value in around if math.isfinite(value)]
    return random.choice(found, n).tolist()  # type: ignore[no-any-return]


def thresholds_of(tree: Tree) -> Iterator[tuple[str, float]]:
    for test in tree.tests.values():
        if test.kind == "threshold":
            yield test.column, test.threshold  # type: ignore[union-attr]


def new_rows(tree: Tree, rows: list[dict[str, Any]], n: int) -> list[dict[str, float]]:
    random = np.random.default_rng(len(rows))
    columns = {}
    for name in rows[0]:
        seen = [row[name] for row in rows if row[name] is not None]
        cuts = [cut for column, cut in thresholds_of(tree) if column == name]
        columns[name] = near([*seen, *cuts] or [0.0], random, n)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def predict(tree: Tree, rows: list[dict[str, Any]]) -> list[Any]:
    """By the tree's own tests, for dates beyond what pandas reads are among the new rows."""
    columns = {name: np.array([row[name] for row in rows], dtype=object) for name in rows[0]}
    numbers = {name: values.astype(np.float64) for name, values in columns.items()}
    taken = {
        number: test.branches(
            *((columns if test.kind == "category" else numbers)[c] for c in test.columns)
        ).tolist()
        for number, test in tree.tests.items()
    }
    found = []
    for i in range(len(rows)):
        node = tree.nodes[0]
        while node.feature is not None:
            node = tree.nodes[node.children[taken[node.feature][i]]]
        found.append(tree.classes[node.prediction])
    return found


def check(tree: Tree, frame: pd.DataFrame, n: int = 1000) -> None:
    """Every export, on the training rows and on new ones."""
    rows = rows_of(frame)
    assert predict(tree, rows) == tree.predict(frame).tolist()
    rows += new_rows(tree, rows, n)
    expected = [str(label) for label in predict(tree, rows)]
    by_tooltip, seen = printed_trees.read_svg(export_svg(tree))
    for form, read in (
        ("text", printed_trees.read_text(export_text(tree))),
        ("dot", printed_trees.read_dot(export_dot(tree))),
        ("tooltips", by_tooltip),
        ("svg", seen),
        ("plot", printed_trees.read_figure(plot_tree(tree))),
    ):
        if read is not None:
            assert [printed_trees.predict(read, row) for row in rows] == expected, form
    label = printed_trees.read_dict(tree.to_dict())
    assert [str(label(row)) for row in rows] == expected


def solved(frame: pd.DataFrame, classes: list[str], how: tuple[str, str, dict[str, Any]]) -> Tree:
    encoding, solver, options = how
    table = frame.assign(target=classes)
    problem = Problem.from_table(table, "target", encoding)
    names = [test.name for test in problem.tests]
    assert len(set(names)) == len(names)
    limits = Limits(depth=3, splits=2 if options else None)
    return solve(problem, lam="0.001", solver=solver, limits=limits, **options).tree


@pytest.mark.parametrize(
    ("name", "how"),
    [
        pytest.param(name, how, id="-".join([name, *how[:2], *how[2].values()]))
        for name in TABLES
        for how in SOLVERS
        if name not in NO_SUMS.get(how[2].get("rules", ""), ())
    ],
)
def test_printed_rules_are_the_tree(name: str, how: tuple[str, str, dict[str, Any]]) -> None:
    # Each row several times, so that mdlp finds cuts that pay.
    frame = pd.DataFrame(TABLES[name])
    frame = frame.loc[frame.index.repeat(8)].reset_index(drop=True)
    classes = [label for label in CLASSES for _ in range(8)]
    try:
        tree = solved(frame, classes, how)
    except InputError as error:
        if "beyond double precision" not in str(error):
            raise
        return
    check(tree, frame)


NASTY = (
    "b: c (3 rows)\n|x", "", " ", "é", "e\u0301", "k: a", "k", "a", ": a", "k:", "it's: 'so'",
    "'x'", '"', "missing", "x = 1", "a ≤ 3", "1, 2", "{u}", "a (2 rows)", "\u200b", "|   a",
    "a\tb", "\\n",
)  # fmt: skip


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_texts(data: st.DataObject) -> None:
    """Names, values and labels of all sorts: every export is read back without doubt."""
    texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=6).filter(printable))
    name = data.draw(texts)
    values = data.draw(st.lists(texts, min_size=2, max_size=4, unique=True))
    labels = data.draw(st.lists(texts, min_size=len(values), max_size=len(values), unique=True))
    frame = pd.DataFrame({name: values, f"{name}'s target": labels})
    tree = solve(Problem.from_table(frame, f"{name}'s target"), "0.001", "cart").tree
    by_tooltip, seen = printed_trees.read_svg(export_svg(tree))
    for form, read in (
        ("text", printed_trees.read_text(export_text(tree))),
        ("dot", printed_trees.read_dot(export_dot(tree))),
        ("tooltips", by_tooltip),
        ("svg", seen),
    ):
        if read is not None:
            found = [printed_trees.predict(read, {name: value}) for value in values]
            assert found == labels == tree.predict(frame).tolist(), form


def printable(text: str) -> bool:
    """No file can hold surrogates; what XML cannot hold is replaced in pictures."""
    return all(ord(sign) >= 32 and not 0xD800 <= ord(sign) < 0xE000 for sign in text)


def test_one_leaf_with_a_label_like_a_rule_is_quoted() -> None:
    table = pd.DataFrame({"a": ["p", "q", "p"], "y": ["b: c (3 rows)\n|x"] * 2 + ["z"]})
    tree = Problem.from_table(table, "y").grow(-1)
    assert export_text(tree) == "'b: c (3 rows)\\n|x' (3 rows, 1 wrong)"


def test_names_of_outputs_are_quoted() -> None:
    table = pd.DataFrame({"a": ["p", "q"], "y: 1, z": [1.0, 2.0], "z": [1.0, 2.0]})
    problem = Problem.from_table(table, ["y: 1, z", "z"], "onehot", task="regression")
    assert export_text(problem.grow(-1)).startswith("'y: 1, z' 1.50, z 1.50 (")


numbers = st.one_of(
    st.sampled_from([0.3, NEAR, 0.1, -0.0, TINY, 1.0, math.nextafter(1, 2), 1.7e12, 1e300]),
    st.floats(-1e300, 1e300),
    st.decimals(-10, 10, places=2).map(float),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.integers(2, 9), st.sampled_from([0, 3, 5, 7]))
def test_any_numbers(data: st.DataObject, n: int, how: int) -> None:
    x = data.draw(st.lists(st.one_of(numbers, st.none()), min_size=n, max_size=n))
    z = data.draw(st.lists(numbers, min_size=n, max_size=n))
    if SOLVERS[how][2]:  # sums are of numbers of like sizes
        x = [value or 0.0 for value in x]
        x, z = ([v if v == 0 or 1e-6 < abs(v) < 1e6 else 1.0 for v in values] for values in (x, z))
    frame = pd.DataFrame({"x": x, "z": z}, dtype=np.float64)
    classes = [
        "p",
        "q",
        *data.draw(st.lists(st.sampled_from("pq"), min_size=n - 2, max_size=n - 2)),
    ]
    try:
        tree = solved(frame, classes, SOLVERS[how])
    except InputError as error:
        if "beyond double precision" not in str(error):
            raise
        return
    check(tree, frame, 60)
