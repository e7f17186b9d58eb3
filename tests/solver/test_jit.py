"""The plumbing of compiled kernels."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from solver.jit import ensure_compiled, inlined, kernel, popcount


@inlined
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


def test_a_compiled_kernel_refuses_other_types():
    words = np.zeros(3, dtype=np.uint64)
    ensure_compiled(doubled, words)
    assert ensure_compiled(doubled, words) == 0.0
    with pytest.raises(TypeError):
        doubled(np.zeros((3, 3), dtype=np.float32))


PROGRAM = """
import sys; sys.path.insert(0, {folder!r})
from numbapart import kernels
print(kernels.answer(1), sum(kernels.answer.stats.cache_hits.values()))
"""


def test_the_cache_notices_a_change_in_a_file_beside_the_kernel(tmp_path):
    package = tmp_path / "numbapart"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text(
        "from solver.jit import inlined\n\n\n@inlined\ndef f(x):\n    return x + 1\n"
    )
    (package / "kernels.py").write_text(
        "from numbapart.helper import f\nfrom solver.jit import kernel\n\n\n"
        "@kernel\ndef answer(x):\n    return f(x)\n"
    )

    def run() -> str:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        program = PROGRAM.format(folder=str(tmp_path))
        return subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        ).stdout.split()

    assert run() == ["2", "0"]
    assert run() == ["2", "1"]
    source = (package / "helper.py").read_text().replace("x + 1", "x + 10")
    (package / "helper.py").write_text(source)
    assert run() == ["11", "0"]
