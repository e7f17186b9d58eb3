"""The disk cache of compiled kernels, in processes of their own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from solver.kernels import hash_tables
from solver.kernels.source_stamp import _imported
from tests.helpers import KERNELS_ONLY, environment
from tests.helpers.forked_kernels import ForkedProgram

KERNELS = """
from solver.kernels.jit import kernel


@kernel
def doubled(x):
    return 2 * x
"""
PROGRAM = """
import logging, sys
sys.path.insert(0, {folder!r})
{before}
from numbapart import kernels
print(kernels.doubled(21), sum(kernels.doubled.stats.cache_hits.values()))
"""
NOTICE = "treesweep: compiling numbapart, once per version, about 7 s\n"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The folder of an installed package with one kernel."""
    package = tmp_path / "one" / "numbapart"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("COMPILE_SECONDS = 7\n")
    (package / "kernels.py").write_text(KERNELS)
    return package.parent


def start(folder: Path, home: Path, before: str = "", **more: str) -> ForkedProgram:
    """Run the kernel in a process whose user's cache is below a folder."""
    program = PROGRAM.format(folder=str(folder), before=before)
    return ForkedProgram(program, variables(home, **more))


def variables(home: Path, **more: str) -> dict[str, str]:
    found = environment(XDG_CACHE_HOME=str(home), **more)
    if "NUMBA_CACHE_DIR" not in more:
        found.pop("NUMBA_CACHE_DIR", None)
    return found


def run(folder: Path, home: Path, before: str = "", **more: str) -> tuple[str, str]:
    """What the process wrote: the answer and the number of cache hits; and what it said."""
    process = start(folder, home, before, **more)
    out, said = process.communicate()
    assert process.returncode == 0, said
    return out.strip(), said


def run_alone(folder: Path, home: Path, before: str) -> str:
    """What a process wrote that was not forked."""
    program = KERNELS_ONLY + PROGRAM.format(folder=str(folder), before=before)
    command = [sys.executable, "-c", program]
    return subprocess.check_output(command, env=variables(home), text=True).strip()


def entries(home: Path) -> list[Path]:
    return sorted((home / "treesweep" / "kernels").glob("numbapart.*"))


def test_an_installation_of_the_same_version_compiles_nothing_again(installed, tmp_path):
    home = tmp_path / "home"
    assert run(installed, home) == ("42 0", NOTICE)
    assert run(installed, home) == ("42 1", "")
    other = tmp_path / "two"
    shutil.copytree(installed, other, ignore=shutil.ignore_patterns("__pycache__"))
    os.utime(other / "numbapart" / "kernels.py", (1, 1))
    assert run(other, home) == ("42 1", "")
    assert len(entries(home)) == 1
    assert not list(tmp_path.glob("*/numbapart/__pycache__/*.nbi"))


def test_a_loaded_kernel_imports_nothing_that_only_a_compilation_needs(installed, tmp_path):
    told = "import atexit; atexit.register(lambda: print('numba.np.linalg' in sys.modules))"
    assert run_alone(installed, tmp_path / "home", told) == "42 0\nTrue"
    assert run_alone(installed, tmp_path / "home", told) == "42 1\nFalse"


def test_kernels_of_others_are_stamped_with_the_sources_that_they_take_from_here(tmp_path):
    kernels = tmp_path / "kernels.py"
    kernels.write_text("from solver.kernels.hash_tables import fill_slots\n")
    assert hash_tables.__file__ in _imported(str(kernels))


def test_another_version_is_compiled_and_old_ones_go(installed, tmp_path):
    home, source = tmp_path / "home", installed / "numbapart" / "kernels.py"
    for version in range(3, 8):
        source.write_text(KERNELS.replace("2 *", f"{version} *"))
        os.utime(source, (version, version))  # or Python may take the bytecode of the last second
        assert run(installed, home)[0] == f"{21 * version} 0"
    assert len(entries(home)) == 4
    assert run(installed, home)[0] == "147 1"


def test_the_users_own_folder_for_numba_is_kept(installed, tmp_path):
    chosen = tmp_path / "chosen"
    assert run(installed, tmp_path / "home", NUMBA_CACHE_DIR=str(chosen))[0] == "42 0"
    assert run(installed, tmp_path / "home", NUMBA_CACHE_DIR=str(chosen)) == ("42 1", "")
    assert list(chosen.rglob("*.nbc"))
    assert not entries(tmp_path / "home")


def test_without_any_folder_to_write_to_kernels_are_compiled_each_time(installed, tmp_path):
    blocked = "import numba; numba.config.CACHE_LOCATOR_CLASSES = 'UserProvidedCacheLocator'"
    for _ in range(2):
        assert run(installed, tmp_path / "home", blocked) == ("42 0", "")


def test_processes_that_compile_at_the_same_time_do_not_disturb_each_other(installed, tmp_path):
    home = tmp_path / "home"
    # Two types each: numba's index knows both afterwards, whoever wrote last.
    programs = ["", "sys.argv = ['float']"] * 2
    source = installed / "numbapart" / "kernels.py"
    source.write_text(KERNELS + "\n\nimport sys\n\nif sys.argv[-1] == 'float':\n    doubled(0.5)\n")
    processes = [start(installed, home, before) for before in programs]
    for process in processes:
        out, said = process.communicate()
        assert process.returncode == 0, said
        assert out.split()[0] == "42"
    assert run(installed, home) == ("42 1", "")
    assert run(installed, home, programs[1]) == ("42 2", "")


@pytest.mark.parametrize(
    "before, said",
    [
        (
            "logging.basicConfig(level='INFO', format='%(name)s %(message)s')",
            "treesweep " + NOTICE[11:],
        ),
        ("logging.basicConfig()", ""),
        ("logging.getLogger('treesweep').setLevel('WARNING')", ""),
    ],
)
def test_logging_that_is_set_up_decides_what_is_said(installed, tmp_path, before, said):
    assert run(installed, tmp_path / "home", before) == ("42 0", said)
