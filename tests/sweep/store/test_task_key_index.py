"""The index agrees with a plain dict, however rows come."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.solution import Status
from sweep.plan import task_keys
from sweep.plan.plan import make_plan
from sweep.plan.task_keys import canonical
from sweep.spec.spec import parse_spec
from sweep.store import task_key_index
from sweep.store.task_key_index import Index, RunSummary

LIMITS = ["{}", '{"seconds":1.0}', '{"depth":2}']

TYPES = pa.schema(
    [
        ("key", pa.string()),
        ("status", pa.string()),
        ("limits", pa.string()),
        ("attempt", pa.int32()),
        ("path_cut_by", pa.string()),
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


def rank(answer: RunSummary) -> tuple[int, int]:
    if not answer.status.has_tree:
        return 0, answer.attempt
    open_ = answer.status.is_limit or answer.status is Status.STOPPED
    return 1 if open_ else 2, answer.attempt


ROWS = st.lists(
    st.tuples(
        st.integers(0, 12), st.sampled_from(Status), st.sampled_from(LIMITS), st.integers(1, 4)
    )
)


@given(ROWS, st.lists(ROWS, max_size=4), st.integers(0, 20))
def test_it_is_a_dict(first: list[Any], later: list[list[Any]], most: int) -> None:
    known: dict[str, RunSummary] = {}
    last: dict[str, int] = {}

    def take(number: int, *rest: Any) -> None:
        """The plain rule: what settles more counts, of equals the later attempt."""
        key, new = key_of(number), RunSummary(*rest)
        last[key] = max(new.attempt, last.get(key, 0))
        if key not in known or rank(new) >= rank(known[key]):
            known[key] = new

    for row in first:
        take(*row)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_key_index, "_MOST_RECENT", most)
        found = Index(table(first))
        for rows in later:
            numbers = [number for number, *_ in rows]
            repeats = any(key_of(n) in known for n in numbers) or len({*numbers}) < len(numbers)
            assert found.add(table(rows).combine_chunks()) == repeats
            for row in rows:
                take(*row)
        for number in range(14):
            key = key_of(number)
            assert found.get(key) == known.get(key)
            assert (key in found) == (key in known)
            assert found.attempts(key) == last.get(key, 0)
        stored = table(first)
        expected = [
            known[k].attempt != a
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
    """A task is answered by its own row, or one under limits that ended nothing, whichever settles
    more; of equals by its own."""
    wanted = data.draw(st.sampled_from(["{}", "{seconds: 9}", "{seconds: 9, depth: 2}"]))
    tasks = block(wanted)
    budgets: list[dict[str, Any]] = [
        {},
        {"seconds": 9.0},
        {"seconds": 1.0},
        {"depth": 2, "seconds": 1.0},
    ]
    stored: dict[str, tuple[Status, str | None]] = {}
    rows = []
    for text in tasks.axis.texts:
        for limits in data.draw(st.lists(st.sampled_from(budgets), max_size=2, unique_by=str)):
            status = data.draw(st.sampled_from(Status))
            key = tasks.maker.key(text, canonical(limits))
            cut = data.draw(st.sampled_from([None, None, "node_limit"]))
            stored[key] = status, cut
            row = {"key": key, "status": status.value, "limits": canonical(limits), "attempt": 1}
            rows.append({**row, "path_cut_by": cut})
    first = data.draw(st.integers(0, len(rows)))
    index = Index(pa.Table.from_pylist(rows[:first], schema=TYPES))
    index.add(pa.Table.from_pylist(rows[first:], schema=TYPES))
    found = index.answers_to(tasks)
    for text, own, answer in zip(tasks.axis.texts, tasks.keys(), found, strict=True):
        possible = {
            other: rank(RunSummary(stored[other][0], "", 1))
            for limits in budgets
            if (other := tasks.maker.key(text, canonical(limits))) in stored
            and stored[other][1] is None
            and task_keys.answers(stored[other][0], limits, tasks.solver.limits)
        }
        if own in stored and stored[own][0].has_tree:
            possible[own] = rank(RunSummary(stored[own][0], "", 1))
        best = [key for key, worth in possible.items() if worth == max(possible.values())]
        if own in best:
            assert answer == own
        else:
            assert answer in best if best else answer is None


def test_a_task_with_two_lost_certificates_is_one() -> None:
    tasks = block("{nodes: 9}")
    texts = tasks.axis.texts[:2]
    limits = [canonical({"nodes": nodes}) for nodes in (9, 5)]
    rows = [
        {"key": tasks.maker.key(text, own), "status": "optimal", "limits": own, "attempt": 1}
        for text in texts
        for own in limits
    ]
    found = Index(pa.Table.from_pylist(rows, schema=TYPES), np.ones(4, dtype=bool))
    assert found.count_lost(tasks, [0, 1, 2]) == 2


def test_a_row_that_has_lost_its_certificate_is_run_again_and_not_given_up() -> None:
    """What replaces it must settle as much; until then its task has no answer."""
    tasks = block("{}")
    key = tasks.keys()[0]
    rows = [{"key": key, "status": "optimal", "limits": "{}", "attempt": 1}]
    stored = pa.Table.from_pylist(rows, schema=TYPES)
    found = Index(stored, np.array([True]))
    assert found.count_lost(tasks, [0]) == 1
    for status, attempt in (("killed", 2), ("time_limit", 3)):
        found.add(pa.Table.from_pylist([{**rows[0], "status": status, "attempt": attempt}], TYPES))
        assert found.answers_to(tasks)[0] is None
        assert found.get(key) == RunSummary(Status.ERROR, "{}", 1)
        assert found.attempts(key) == attempt
        assert not found.is_replaced(stored).any()
    found.add(pa.Table.from_pylist([{**rows[0], "attempt": 4}], TYPES))
    assert found.answers_to(tasks)[0] == key
    assert found.get(key) == RunSummary(Status.OPTIMAL, "{}", 4)
    assert found.is_replaced(stored).all()
    assert found.count_lost(tasks, [0]) == 0
