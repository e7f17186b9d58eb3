"""The plumbing of compiled kernels."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from solver.kernels.jit import ensure_compiled, helper, kernel, popcount, unchecked
from solver.kernels.pass_by_reference import by_reference
from tests.helpers import environment
from tests.helpers.forked_kernels import ForkedProgram


@helper
def ones(words):
    total = 0
    for word in words:
        total += popcount(word)
    return total


@kernel
def doubled(words):
    return 2 * ones(words)


def test_popcount_counts_the_ones_of_64_bits():
    words = np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64)
    assert doubled(words) == 2 * (0 + 1 + 1 + 64)


def test_python_cannot_call_a_helper():
    with pytest.raises(TypeError, match="ones is a helper: only kernels can call it"):
        ones(2)


def test_threads_that_need_a_kernel_at_once_wait_for_it():
    @kernel
    def tripled(words):
        return 3 * ones(words)

    words, together = np.ones(2, dtype=np.uint64), threading.Barrier(4)

    def use(_):
        together.wait()
        seconds = ensure_compiled(tripled, words)
        return tripled(words), seconds > 0

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(use, range(4))) == [(6, False)] * 3 + [(6, True)]


def test_a_compiled_kernel_refuses_other_types():
    words = np.zeros(3, dtype=np.uint64)
    ensure_compiled(doubled, words)
    assert ensure_compiled(doubled, words) == 0.0
    with pytest.raises(TypeError):
        doubled(np.zeros((3, 3), dtype=np.float32))


PROGRAM = """
import sys; sys.path.insert(0, {folder!r})
from numbapart.search import kernels
print(kernels.answer(1), sum(kernels.answer.stats.cache_hits.values()))
"""


def run(folder: Path) -> list[str]:
    """The kernel's answer in a process of its own, and how often it came from the cache."""
    variables = environment(XDG_CACHE_HOME=str(folder / "cache"))
    program = ForkedProgram(PROGRAM.format(folder=str(folder)), variables)
    out, said = program.communicate()
    assert program.returncode == 0, said
    return out.split()


@pytest.mark.parametrize("changed", ["search/helper.py", "shared/deep.py", "shared/__init__.py"])
def test_the_cache_notices_a_change_in_every_file_that_a_kernel_reaches(tmp_path, changed):
    package = tmp_path / "numbapart"
    sources = {
        "__init__.py": "",
        "search/__init__.py": "",
        "search/helper.py": (
            "from numbapart.shared import (\n    OFFSET,\n    deep,\n)\n"
            "from solver.kernels.jit import helper\n\n\n"
            "@helper\ndef f(x):\n    return deep.g(x) + OFFSET + 0\n"
        ),
        "search/kernels.py": (
            "from numbapart.search.helper import f\nfrom solver.kernels.jit import kernel\n\n\n"
            "@kernel\ndef answer(x):\n    return f(x)\n"
        ),
        "shared/__init__.py": "OFFSET = 1 + 0\n",
        "shared/deep.py": (
            "from solver.kernels.jit import helper\n\n\n@helper\ndef g(x):\n    return x + 0\n"
        ),
    }
    for name, source in sources.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(source)

    assert run(tmp_path) == ["2", "0"]
    assert run(tmp_path) == ["2", "1"]
    (package / changed).write_text(sources[changed].replace(" + 0", " + 100"))
    assert run(tmp_path) == ["102", "0"]


def test_a_module_that_is_renamed_leaves_no_cache_that_cannot_be_read(tmp_path):
    package = tmp_path / "numbapart"
    (package / "search").mkdir(parents=True)
    state = "from typing import NamedTuple\n\n\nclass State(NamedTuple):\n    size: int\n"
    kernels = (
        "from numbapart.search.layout import State\nfrom solver.kernels.jit import kernel\n\n\n"
        "@kernel\ndef count(state):\n    return state.size + 1\n\n\n"
        "def answer(x):\n    return count(State(x))\n\n\nanswer.stats = count.stats\n"
    )
    for name in ("__init__.py", "search/__init__.py"):
        (package / name).write_text("")
    (package / "search" / "layout.py").write_text(state)
    (package / "search" / "kernels.py").write_text(kernels)
    assert run(tmp_path) == ["2", "0"]
    (package / "search" / "layout.py").rename(package / "search" / "state.py")
    (package / "search" / "kernels.py").write_text(kernels.replace("search.layout", "search.state"))
    assert run(tmp_path) == ["2", "0"]


@by_reference
class Inner(NamedTuple):
    offset: int
    words: Any


@by_reference
class Outer(NamedTuple):
    first: Any
    inner: Inner
    last: int


@helper
def total_of(inner):
    return ones(inner.words) + inner.offset


@kernel
def read_all(outer):
    outer.inner.words[0] = outer.first[1]
    return total_of(outer.inner) + 100 * outer.last


def test_records_lie_inside_records():
    words = np.array([0, 1, 3], dtype=np.uint64)
    outer = Outer(np.array([0, 15], dtype=np.uint64), Inner(20, words), 7)
    assert read_all(outer) == (4 + 1 + 2) + 20 + 700
    assert words[0] == 15


@helper
def add_or_not(number, adds):
    return number + 1 if adds else number


@kernel
def call_with_constants(number):
    total = add_or_not(1, True) + add_or_not(2, adds=False)
    for i in range(number):
        total += add_or_not(i, number > 2)
    return total


def test_a_helper_is_compiled_once_for_constants_and_other_numbers():
    assert call_with_constants(4) == 2 + 2 + 1 + 2 + 3 + 4
    call_with_constants.recompile()  # it may come from the disk, where no helper is compiled
    assert list(add_or_not._dispatcher.overloads) == [(numba.int64, numba.boolean)]


@by_reference
class Growing(NamedTuple):
    counts: Any
    step: int


@kernel
def count_on(state, more):
    for i in range(len(state.counts)):
        state.counts[i] += state.step + more
    return len(state.counts)


def test_an_unchecked_kernel_does_the_same_also_when_its_arrays_have_grown():
    state = Growing(np.zeros(2, np.int64), 3)
    ensure_compiled(count_on, state, 0)
    at_once = unchecked(count_on)
    for room in (2, 5, 100_000):  # the last one lies elsewhere
        state.counts.resize(room, refcheck=False)
        before = state.counts.copy()
        assert at_once(state, 1) == count_on(state, 1) == room
        assert (state.counts - before).tolist() == [8] * room
