"""Files that come from others must not run code, nor end the program otherwise than in one line."""

from __future__ import annotations

import ast
import io
import json
import os
import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from distributed import Client, Security

from pipelines.report import write_report
from solver.errors import InputError
from solver.trees.tree import Tree
from sweep.clusters import Local, load_cluster, open_cluster
from sweep.datasets import load_dataset
from sweep.graph.engine import run_sweep
from sweep.spec.spec import load_spec
from sweep.store.search_state_format import check_state, read_state, write_state
from tests.helpers import ROOT

# What the sources may not use


NO_IMPORTS = {
    "pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "dbm",
    "runpy", "imp", "code", "codeop", "pty", "telnetlib", "xmlrpc",
}  # fmt: skip
NO_CALLS = {"eval", "exec", "__import__", "import_module", "system", "popen", "read_pickle"}
NO_NAMES = {"to_pickle", "unsafe_load", "full_load", "UnsafeLoader", "FullLoader", "allow_pickle"}

MAY_IMPORTLIB = ("importlib.metadata", "importlib.resources")
"""Asking for versions, for our own templates, for scikit-learn's tables, and for the solvers of
installed packages; none imports what data name."""

MAY_IMPORT = {
    "solver/__init__.py",  # the module of one of its own names
    "solver/catalogue.py",  # the module of one of its own solvers
    "solver/external/base.py",  # the package that an adapter names
    "solver/external/child_script.py",  # the adapter that its parent names
}
"""Modules that import by name. No name comes from data."""

MAY_START = {
    "solver/external/child_process.py",  # this Python, with our own script
    "sweep/plan/software_versions.py",  # git, with fixed words
    "sweep/clusters/slurm_cluster.py",  # squeue and scancel, with numbers of jobs
    "pipelines/background/detached_driver.py",  # this Python, with our own command
    "pipelines/background/driver_on_worker.py",  # holds what the one before has started
}
"""Modules that start processes of this machine."""


@cache
def sources() -> list[tuple[str, list[ast.AST]]]:
    """All modules, and the nodes of their syntax trees."""
    found = []
    for package in ("solver", "sweep", "pipelines"):
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found.append((path.relative_to(ROOT).as_posix(), [*ast.walk(tree)]))
    return found


def imported(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_source_imports_what_runs_data() -> None:
    seen = 0
    for name, nodes in sources():
        seen += 1
        for module in imported(nodes):
            assert module.split(".")[0] not in NO_IMPORTS, f"{name} imports {module}"
            if name in MAY_IMPORT:
                continue
            if module.split(".")[0] == "importlib" and module != "importlib":
                assert any(module.startswith(m) for m in MAY_IMPORTLIB), f"{name}: {module}"
    assert seen > 100


def test_no_source_calls_what_runs_text() -> None:
    for name, nodes in sources():
        for node in nodes:
            if isinstance(node, ast.Call):
                called = node.func
                word = getattr(called, "id", None) or getattr(called, "attr", None)
                allowed = word == "import_module" and name in MAY_IMPORT
                assert allowed or word not in NO_CALLS, f"{name}, line {node.lineno}: {word}()"
                assert not (word == "compile" and isinstance(called, ast.Name)), name
                for given in node.keywords:
                    # numpy writes pickles unless it is told not to.
                    if given.arg == "allow_pickle" and ast.unparse(given.value) == "False":
                        continue
                    assert given.arg not in NO_NAMES | {"shell"}, f"{name}, line {node.lineno}"
            words = getattr(node, "attr", None), getattr(node, "id", None)
            assert not NO_NAMES & {w for w in words if w}, f"{name}: {words}"


def test_few_sources_start_processes() -> None:
    for name, nodes in sources():
        if name not in MAY_START:
            starts = [m for m in imported(nodes) if m.split(".")[0] == "subprocess"]
            assert not starts, f"{name} may start processes; say why in MAY_START"


# Files that try


class Touch:
    """Its pickle makes a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (os.mkdir, (str(self.path),))


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[Path]:
    """What an attack would leave."""
    path = tmp_path / "attacked"
    pickle.loads(pickle.dumps(Touch(path)))  # it does work
    path.rmdir()
    yield path
    assert not path.exists(), "code has been run"


REST = "encodings: [onehot]\nlambdas: [0.1]\nsolvers: [cart]"


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.mkdir [MARK]",
        "!!python/object/new:os.mkdir [MARK]",
        "!!python/name:os.mkdir",
        "!!python/module:os",
        "!!python/object:os.Thing {}",
        "!!binary aGk=",
        "!own thing",
    ],
)
def test_yaml_makes_no_objects(tmp_path: Path, mark: Path, value: str) -> None:
    value = value.replace("MARK", str(mark))
    for load, text in (
        (load_spec, f"name: VALUE\ndatasets: [car]\n{REST}"),
        (load_spec, f"name: a\ndatasets: VALUE\n{REST}"),
        (load_cluster, "kind: local\nworkers: VALUE"),
        (load_cluster, "kind: local\ndask: VALUE"),
    ):
        path = tmp_path / "file.yaml"
        path.write_text(text.replace("VALUE", value))
        with pytest.raises(InputError) as caught:
            load(path)
        assert "\n" not in str(caught.value)


BOMB = ["a0: &a0 [x, x]", *(f"a{i + 1}: &a{i + 1} [{f'*a{i},' * 9}]" for i in range(20))]
CHAIN = ["? - &a0 [x]", *(f"  - &a{i + 1} [*a{i}]" for i in range(3000)), ": *a3000"]


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 5000 + "]" * 5000,
        "a: &a [*a]",
        "a: &a {b: *a}",
        "\n".join(BOMB),
        "\n".join(CHAIN),
    ],
    ids=["deep", "circle", "circle of keys", "bomb", "chain"],
)
def test_yaml_that_never_ends_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text)
    for load in (load_spec, load_cluster):
        with pytest.raises(InputError) as caught:
            load(path)
        assert "\n" not in str(caught.value)


def hostile_schema(mark: Path) -> pa.Schema:
    """Arrow's own name for types that older versions of it read with pickle."""
    payload = pickle.dumps(Touch(mark))
    about = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": payload,
    }
    return pa.schema([pa.field("f", pa.string(), metadata=about), pa.field("y", pa.int64())])


HOSTILE_STATES = [
    ("|O", [1]),
    ("O", [4]),
    ("V8", [4]),
    ("<i8", [2**60]),
    ("<i8", [2**40]),
    ("no", [4]),
    ("<i8", [-4]),
]


def test_parquet_and_arrow_files_unpickle_nothing(tmp_path: Path, mark: Path) -> None:
    table = pa.Table.from_arrays(
        [pa.array(["a", "b"]), pa.array([0, 1])], schema=hostile_schema(mark)
    )
    pq.write_table(table, tmp_path / "t.parquet")
    with pyarrow.ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as writer:
        writer.write_table(table)
    for name in ("t.parquet", "t.arrow"):
        assert load_dataset(tmp_path / name, target="y").frame["f"].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "about",
    [
        b"no json",
        b"[]",
        b"{}",
        b'{"index_columns": ["nothing"], "columns": [], "column_indexes": []}',
        b'{"index_columns": [{"kind": "range", "name": null, "start": 0, "stop": 9, "step": 0}], '
        b'"columns": [], "column_indexes": []}',
        b'{"index_columns": [], "column_indexes": [], "columns": [{"name": "f", "field_name": "f", '
        b'"pandas_type": "object", "numpy_type": "os.system", "metadata": null}]}',
    ],
)
def test_what_a_file_tells_pandas_does_no_harm(tmp_path: Path, mark: Path, about: bytes) -> None:
    table = pa.table({"f": ["a", "b"], "y": [0, 1]}).replace_schema_metadata({b"pandas": about})
    pq.write_table(table, tmp_path / "t.parquet")
    try:
        found = load_dataset(tmp_path / "t.parquet", target="y").frame["f"].tolist()
    except InputError as error:
        found = str(error).splitlines()
        assert len(found) == 1
    else:
        assert found == ["a", "b"]


def test_the_state_of_a_search_holds_no_objects(tmp_path: Path, mark: Path) -> None:
    path = tmp_path / "state.npz"
    with pytest.raises(TypeError):
        write_state(path, {"a": np.array([Touch(mark)], dtype=object)}, {})
    write_state(path, {"a": np.arange(4)}, {})
    with ZipFile(path) as archive:
        about = archive.read("about.json")
    payload = pickle.dumps(Touch(mark))
    for dtype, shape in HOSTILE_STATES:
        header = {"descr": dtype, "fortran_order": False, "shape": tuple(shape)}
        array = io.BytesIO()
        np.lib.format.write_array_header_1_0(array, header)
        with ZipFile(path, "w") as archive:
            archive.writestr("about.json", about)
            archive.writestr("a.npy", array.getvalue() + payload)
        with pytest.raises(InputError) as caught:
            read_state(path, {})
        assert "\n" not in str(caught.value)
    pq.write_table(
        pa.Table.from_arrays([pa.array(["a"]), pa.array([1])], schema=hostile_schema(mark)), path
    )
    for read in (check_state, lambda p: read_state(p, {})):
        with pytest.raises(InputError):
            read(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[" * 100_000,
        "{" * 50,
        '{"a":' * 100_000,
        "9" * 100_000,
        json.dumps({"format": "treesweep-tree", "version": 1}),
        json.dumps({"format": "treesweep-tree", "version": 1, "nodes": [{"__class__": "os"}]}),
        json.dumps({"format": "treesweep-tree", "version": 10**30}),
        '{"format": "treesweep-tree", "version": NaN}',
    ],
    ids=range(10),
)
def test_tree_files_do_no_harm(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Tree.from_json(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_report_shows_names_and_does_not_run_them(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    frame = pd.DataFrame(
        {evil: ["a", evil, "b"] * 20, "f<img src=x onerror=alert(2)>": [0, 1] * 30}
    )
    frame["y"] = [evil, "no", "no"] * 20
    frame.to_csv(tmp_path / "t.csv", index=False)
    spec = tmp_path / "sweep.yaml"
    spec.write_text(
        "name: evil\ndatasets: [{name: evil, path: t.csv, target: y}]\nencodings: [onehot]\n"
        "lambdas: [0.1, 0.01]\nsolvers: [cart]\n"
    )
    assert run_sweep(load_spec(spec), tmp_path / "out", Local(workers=1)).failed == 0
    write_report(tmp_path / "out")
    pages = [p for p in (tmp_path / "out" / "report").rglob("*") if p.suffix in (".html", ".svg")]
    assert any("alert(1)" in p.read_text() for p in pages)  # it is there, as text
    for page in pages:
        assert evil not in page.read_text(), page
        assert "<img src=x" not in page.read_text(), page


def test_the_dashboard_of_a_local_cluster_is_for_this_machine_only() -> None:
    with open_cluster(Local(workers=1)) as client:
        servers = client.run_on_scheduler(_listening)
        workers = client.run(_listening)
    for ports in (servers, *workers.values()):
        assert ports
        assert {host for host, _ in ports} == {"127.0.0.1"}


def test_other_users_of_this_machine_cannot_use_a_local_cluster() -> None:
    """Whoever reaches a scheduler can run code; its port is open to all users of the machine."""
    with open_cluster(Local(workers=1)) as client:
        address = client.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        for other in (Security.temporary(), None):
            with pytest.raises((OSError, ValueError, RuntimeError, TypeError)):
                where = address if other else address.replace("tls://", "tcp://")
                Client(where, security=other, timeout=3, set_as_default=False)
        assert client.submit(sum, [1, 2]).result(timeout=20) == 3


def _listening() -> list[tuple[str, int]]:
    """Where this process listens."""
    import psutil

    found = psutil.Process().net_connections("tcp")
    return [tuple(c.laddr) for c in found if c.status == psutil.CONN_LISTEN]
