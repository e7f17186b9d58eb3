"""Tests of sweep/clusters/worker_admission.py and sweep/plan/software_versions.py."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import KilledWorker

from solver.catalogue import SOLVERS
from solver.errors import InputError
from sweep.clusters import worker_admission as module
from sweep.clusters.worker_admission import check_workers
from sweep.graph.engine import run_sweep
from sweep.plan.software_versions import difference, fingerprint
from sweep.spec.spec import load_spec
from sweep.store.read_results import read_results
from tests.helpers import ROOT
from tests.helpers.compile_marks import MARKS, Warmer
from tests.helpers.dask_processes import Lab, Notes
from tests.helpers.waiting_cart import meeting

OWN = fingerprint()


class Answer:
    """What ``submit`` gives."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.status = "error" if isinstance(value, Exception) else "finished"
        if value is None:
            self.status = "pending"

    def result(self) -> Any:
        return self.value

    def exception(self) -> Any:
        return self.value


class Pretender:
    """A client whose workers give these answers."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {f"{host}:1": value for host, value in answers.items()}

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        return {"workers": self.answers, "n_workers": len(self.answers)}

    def submit(self, function: Any, *, workers: list[str], **more: Any) -> Answer:
        return Answer(self.answers[workers[0]])


OLDER = {**OWN, "python": "3.10", "numba": "0.1", "code": "f00"}
MISSING = ModuleNotFoundError("No module named 'sweep'")


@pytest.mark.parametrize(
    "value, message",
    [
        (OLDER, rf"worker b:1 has another version: Python 3\.10 there and {OWN['python']} here; "
                rf"numba 0\.1 there and {OWN['numba']} here; code f00 there and .* here; install"),
        ({}, "Python none there"),
        (MISSING, "worker b:1 cannot run treesweep .*'sweep'.*; install there what is"),
    ],
)  # fmt: skip
def test_nothing_begins_with_a_worker_of_another_version(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        check_workers(Pretender(a=OWN, b=value))  # type: ignore[arg-type]
    assert "run the sweep again" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_worker_that_does_not_answer_or_has_died_does_not_hold_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "ANSWER_TIMEOUT", 0.2)
    died = KilledWorker("ready", None, 0)  # type: ignore[no-untyped-call]
    check_workers(Pretender(a=OWN, b=None, c=died))  # type: ignore[arg-type]


def test_what_differs_is_named() -> None:
    assert difference(OWN) is None
    assert difference({**OWN, "more": "1"}) is None
    assert difference({**OWN, "numpy": "1.0"}) == f"numpy 1.0 there and {OWN['numpy']} here"


# With real workers

SPEC = """
name: versions
datasets: [monks-1]
encodings: [onehot]
lambdas: {from: 0.3, to: 0.01, count: 250}
solvers: [cart]
validation: {kind: kfold, folds: 4, seed: 0}
"""

PRELOAD = """
from importlib import metadata

def version(name, known=metadata.version):
    return "0.1.2" if name == "numba" else known(name)

if metadata.version.__module__ == "importlib.metadata":
    metadata.version = version  # Dask loads this file more than once
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    found = Lab(tmp_path)
    (tmp_path / "older.py").write_text(PRELOAD)
    (tmp_path / "sweep.yaml").write_text(SPEC)
    yield found
    found.close()


def older(folder: Path) -> dict[str, str]:
    """The environment of a worker that takes itself to have another numba."""
    return {"DASK_DISTRIBUTED__WORKER__PRELOAD": f"['{folder / 'older.py'}']"}


def test_a_sweep_does_not_begin_on_a_worker_with_another_numba(tmp_path: Path, lab: Lab) -> None:
    lab.worker("older", environment=older(tmp_path))
    out = tmp_path / "out"
    with pytest.raises(InputError) as caught:
        run_sweep(load_spec(tmp_path / "sweep.yaml"), out, lab.config())
    said = str(caught.value)
    assert f"has another version: numba 0.1.2 there and {OWN['numba']} here; install the" in said
    assert "worker tcp://127.0.0.1:" in said
    assert not out.exists()


@pytest.mark.slow
def test_a_worker_with_other_code_gets_no_work(tmp_path: Path, lab: Lab) -> None:
    """It joins in mid-sweep; its code differs by a comment. No task ends before it is refused."""
    leave = shutil.ignore_patterns("__pycache__")
    for package in ("solver", "sweep"):
        shutil.copytree(ROOT / package, tmp_path / "copy" / package, ignore=leave)
    with (tmp_path / "copy" / "sweep" / "keys.py").open("a") as file:
        file.write("# changed\n")
    lab.worker("same", environment=meeting(tmp_path / "met", 2))

    class Joining(Notes):
        def progress(self, progress: Any) -> None:
            if len(lab.processes) == 2 and progress.running:
                assert not progress.done
                copy = {"PYTHONPATH": str(tmp_path / "copy")}
                lab.worker("other", environment=copy)

        def note(self, text: str) -> None:
            super().note(text)
            if "another version" in text:
                (tmp_path / "met" / "told").touch()  # whom the other one waits for

    notes = Joining()
    sweep = load_spec(tmp_path / "sweep.yaml")
    outcome = run_sweep(sweep, tmp_path / "out", lab.config(), listener=notes)
    assert (outcome.ran, outcome.failed) == (1000, 0)
    assert len(set(read_results(tmp_path / "out")["worker"])) == 1
    (note,) = [line for line in notes.lines if "another version" in line]
    assert f"{OWN['code']} here" in note


@pytest.mark.slow
def test_kernels_are_compiled_once_on_each_machine(
    tmp_path: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two addresses stand for two machines, each with a cache of its own."""
    monkeypatch.setitem(SOLVERS, Warmer.name, Warmer)
    monkeypatch.delenv(MARKS, raising=False)
    folders = {}
    for name, host in [("one", "127.0.0.1"), ("two", "127.0.0.1"), ("three", "127.0.0.2")]:
        folders[host] = tmp_path / host
        folders[host].mkdir(exist_ok=True)
        environment = {
            **meeting(tmp_path / "met", 3),
            "DASK_DISTRIBUTED__WORKER__PRELOAD": "['tests.helpers.compile_marks']",
            "NUMBA_CACHE_DIR": str(tmp_path / f"numba-{host}"),
            MARKS: str(folders[host]),
        }
        lab.worker(name, host=host, environment=environment)
    (tmp_path / "sweep.yaml").write_text(
        "name: warm\ndatasets: [monks-1]\nencodings: [onehot]\nsolvers: [warmer]\n"
        "lambdas: {from: 0.3, to: 0.01, count: 60}\n"
    )
    outcome = run_sweep(load_spec(tmp_path / "sweep.yaml"), tmp_path / "out", lab.config())
    assert (outcome.ran, outcome.failed) == (60, 0)
    for host, workers in (("127.0.0.1", 2), ("127.0.0.2", 1)):
        found = sorted(path.name.split("-")[0] for path in folders[host].iterdir())
        # The first one that warmed up compiled, and the other read what it left.
        assert found == ["compiled", *["loaded"] * (workers - 1), *["warmed"] * workers]
        assert list((tmp_path / f"numba-{host}").rglob("*.nbc"))
