"""The index agrees with a plain dict, however rows come."""

from __future__ import annotations

import hashlib
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.solution import Status
from sweep import index, keys
from sweep.index import Answer, Index
from sweep.keys import canonical
from sweep.plan import make_plan
from sweep.spec import parse_spec

LIMITS = ["{}", '{"seconds":1.0}', '{"depth":2}']

TYPES = pa.schema(
    [
        ("key", pa.string()),
        ("status", pa.string()),
        ("limits", pa.string()),
        ("attempt", pa.int32()),
    ]
)


def key_of(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def table(rows: list[tuple[int, Status, str, int]]) -> pa.Table:
    content = [
        {"key": key_of(n), "status": s.value, "limits": limits, "attempt": attempt}
        for n, s, limits, attempt in rows
    ]
    return pa.Table.from_pylist(content, schema=TYPES)


ROWS = st.lists(
    st.tuples(
        st.integers(0, 12), st.sampled_from(Status), st.sampled_from(LIMITS), st.integers(1, 4)
    )
)


@given(ROWS, st.lists(ROWS, max_size=4), st.integers(0, 20))
def test_it_is_a_dict(first: list[Any], later: list[list[Any]], most: int) -> None:
    known: dict[str, Answer] = {}
    for number, status, limits, attempt in first:
        old = known.get(key_of(number))
        if old is None or attempt >= old.attempt:
            known[key_of(number)] = Answer(status, limits, attempt)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "_MOST_RECENT", most)
        found = Index(table(first))
        for rows in later:
            replaces = any(key_of(number) in known for number, *_ in rows)
            assert found.add(table(rows).combine_chunks()) == replaces
            for number, *rest in rows:
                known[key_of(number)] = Answer(*rest)
        for number in range(14):
            key = key_of(number)
            assert found.get(key) == known.get(key)
            assert (key in found) == (key in known)
            assert found.attempts(key) == (known[key].attempt if key in known else 0)
        stored = table(first)
        expected = [
            known[k].attempt > a
            for k, a in zip(stored["key"].to_pylist(), stored["attempt"].to_pylist(), strict=True)
        ]
        assert found.is_replaced(stored).tolist() == expected
        assert len(found) == len(known)
        assert found.keys() == sorted(known)


def test_a_key_that_ends_in_zeros_is_a_key() -> None:
    odd = ["00" * 32, "ab" + "00" * 31, "ab" * 32]
    rows = [{"key": k, "status": "optimal", "limits": "{}", "attempt": 1} for k in odd]
    found = Index(pa.Table.from_pylist(rows, schema=TYPES))
    assert found.keys() == sorted(odd)
    assert all(key in found for key in odd)
    assert "ab" + "00" * 30 + "01" not in found


SPEC = """
name: index
datasets: [monks-1]
encodings: [onehot]
lambdas: {{from: 0.5, to: 0.01, count: 12}}
solvers: [branches]
limits: {limits}
"""


def block(limits: str) -> Any:
    return make_plan(parse_spec(SPEC.format(limits=limits))).blocks[0]


@given(st.data())
def test_answers_are_those_of_the_rule(data: st.DataObject) -> None:
    """A task is answered by its own row, or one under limits that were not hit."""
    wanted = data.draw(st.sampled_from(["{}", "{seconds: 9}", "{seconds: 9, depth: 2}"]))
    tasks = block(wanted)
    budgets: list[dict[str, Any]] = [
        {},
        {"seconds": 9.0},
        {"seconds": 1.0},
        {"depth": 2, "seconds": 1.0},
    ]
    stored: dict[str, tuple[Status, dict[str, Any]]] = {}
    rows = []
    for text in tasks.axis.texts:
        for limits in data.draw(st.lists(st.sampled_from(budgets), max_size=2, unique_by=str)):
            status = data.draw(st.sampled_from(Status))
            key = tasks.maker.key(text, canonical(limits))
            stored[key] = status, limits
            rows.append(
                {"key": key, "status": status.value, "limits": canonical(limits), "attempt": 1}
            )
    found = Index(pa.Table.from_pylist(rows, schema=TYPES)).answers_to(tasks)
    for text, own, answer in zip(tasks.axis.texts, tasks.keys(), found, strict=True):
        if own in stored:
            assert answer == (own if stored[own][0].has_tree else None)
            continue
        possible = {
            other
            for limits in budgets
            if (other := tasks.maker.key(text, canonical(limits))) in stored
            and keys.answers(stored[other][0], limits, tasks.solver.limits)
        }
        assert answer in possible if possible else answer is None
