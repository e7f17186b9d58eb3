"""Mistakes in tables, flags, specs and calls: one clear line each, with a remedy to be pasted.

A case is what a user writes, the remedy that the message offers, and what the user writes with the
remedy pasted. The message must hold the remedy word for word, and the second attempt must succeed.
"""
# ruff: noqa: E501  a case is easier to read on one line

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treesweep
from sweep.plan.plan import make_plan
from sweep.spec.python_spec import as_sweep
from sweep.spec.spec import parse_spec
from tests.helpers.commands import refused, run

LONGEST = 420
"""Characters of a message: some list all names that are allowed."""

N = 40
TABLE = pd.DataFrame(
    {
        "age": [20 + i / 2 for i in range(N)],
        "job": [["nurse", "cook", "smith"][i % 3] for i in range(N)],
        "class": ["yes" if i % 3 == 0 or i > 30 else "no" for i in range(N)],
    }
)
COLUMNS = {
    "dated": [f"{1 + i % 12:02d}/05/2020" for i in range(N)],
    "money": [f"{i},{100 + i}" for i in range(1, N + 1)],
    "huge": [2**53 + 1 + 2 * i for i in range(N)],
    "odd": [*map(str, range(N - 1)), "abc"],
}


def with_column(name: str) -> pd.DataFrame:
    return TABLE.assign(**{name: COLUMNS[name]})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tables, in which the commands run."""
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    TABLE.to_csv(tmp_path / "numbered.csv")
    TABLE.assign(job="é").to_csv(tmp_path / "latin.csv", index=False, encoding="latin-1")
    for name in COLUMNS:
        with_column(name).to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


CALLS = [
    ("solve(problem, '0.1', limits={'seconds': 3})", "limits=treesweep.Limits(seconds=3)", "solve(problem, '0.1', limits=treesweep.Limits(seconds=3))"),
    ("solve(problem, '0.1', treesweep.Limits(depth=2))", "limits as limits=treesweep.Limits(…)", "solve(problem, '0.1', limits=treesweep.Limits(depth=2))"),
    ("treesweep.Tree.from_json(solution.tree.to_dict())", "use Tree.from_dict", "treesweep.Tree.from_dict(solution.tree.to_dict())"),
    ("solve(problem, '0.1', limits=60)", "limits=treesweep.Limits(seconds=60)", "solve(problem, '0.1', limits=treesweep.Limits(seconds=60))"),
    ("solve(problem, '0.1', max_depth=3)", "limits=treesweep.Limits(depth=3)", "solve(problem, '0.1', limits=treesweep.Limits(depth=3))"),
    ("solve(problem, '0.1', time_limit=9, max_splits=2)", "limits=treesweep.Limits(seconds=9, splits=2)", "solve(problem, '0.1', limits=treesweep.Limits(seconds=9, splits=2))"),
    ("solve(table, '0.1')", "treesweep.Problem.from_table(table, target=\"COLUMN\", encoding=\"auto\")", "solve(treesweep.Problem.from_table(table, target=\"COLUMN\", encoding=\"auto\"), '0.1')"),
    ("solve(problem, 'abc')", "0.01", "solve(problem, '0.01')"),
    ("solve(problem, None)", "1/100", "solve(problem, '1/100')"),
    ("solve(problem, '0.1', 'brnches')", "'branches'", "solve(problem, '0.1', 'branches')"),
    ("solve(problem, '0.1', monitor=print)", "monitor=treesweep.Monitor(snapshot=FUNCTION)", "solve(problem, '0.1', monitor=treesweep.Monitor(snapshot=FUNCTION))"),
    ("solve(problem, '0.1', initial_tree='cart')", "initial_tree=solution.tree", "solve(problem, '0.1', initial_tree=solution.tree)"),
    ("solve(numbers, '0.1', 'quantbnb')", "limits=treesweep.Limits(depth=2)", "solve(numbers, '0.1', 'quantbnb', limits=treesweep.Limits(depth=2))"),
    ("solve(problem, '0.1', 'proper')", "limits=treesweep.Limits(splits=2)", "solve(problem, '0.1', 'cart', limits=treesweep.Limits(splits=2))"),
    ("regularization_path(problem, '0.1', max_depth=2)", "limits=treesweep.Limits(depth=2)", "regularization_path(problem, '0.1', limits=treesweep.Limits(depth=2))"),
    ("treesweep.Limits(secs=3)", "'seconds'", "treesweep.Limits(seconds=3)"),
    ("treesweep.Limits(seconds='5')", "seconds=5", "treesweep.Limits(seconds=5)"),
    ("treesweep.Limits(max_depth=3)", "'depth'", "treesweep.Limits(depth=3)"),
    ("treesweep.Limits(5, seconds=5)", "Limits(seconds=60)", "treesweep.Limits(seconds=60)"),
    ("treesweep.Local(workers=0)", "greater than or equal to 1", "treesweep.Local(workers=1)"),
    ("treesweep.Local(worker=2)", "'workers'", "treesweep.Local(workers=2)"),
    ("treesweep.Local(2)", "workers=", "treesweep.Local(workers=2)"),
    ("treesweep.Local(workers='2')", "a whole number", "treesweep.Local(workers=2)"),
    ("treesweep.Ssh()", "'hosts'", "treesweep.Ssh(hosts=['a'])"),
    ("treesweep.Ssh(hosts='a')", "expected a list", "treesweep.Ssh(hosts=['a'])"),
    ("treesweep.Ssh(hosts=[{'host': 'a', 'prt': 22}])", "hosts[0]['prt']: unknown key 'prt' (did you mean 'port'?)", "treesweep.Ssh(hosts=[{'host': 'a', 'port': 22}])"),
    ("treesweep.Slurm(job=1, memory='1GiB', walltime='1h')", "'jobs'", "treesweep.Slurm(jobs=1, memory='1GiB', walltime='01:00:00')"),
    ("treesweep.Address(address='tcp://a:1')", "insecure=True", "treesweep.Address(address='tcp://a:1', insecure=True)"),
    ("from_table(table, 'klass', 'auto')", "class", "from_table(table, 'class', 'auto')"),
    ("from_table(table, 'class', 'one-hot', columns={'age': 'category'})", "'onehot'", "from_table(table, 'class', 'onehot', columns={'age': 'category'})"),
    ("from_table(table, 'class', 'onehot')", "columns={'age': 'category'}", "from_table(table, 'class', 'onehot', columns={'age': 'category'})"),
    ("from_table(table, 'class', 'quantiles', bins=3)", "k", "from_table(table, 'class', 'quantiles', k=3)"),
    ("from_table(table, 'class', 'auto', columns=['age'])", "{'age': 'number', 'id': 'drop'}", "from_table(table.assign(id=1), 'class', 'auto', columns={'age': 'number', 'id': 'drop'})"),
    ("from_table(table, 'class', 'auto', columns={'agee': 'drop'})", "'age'", "from_table(table, 'class', 'auto', columns={'age': 'drop'})"),
    ("from_table(table, 'class', 'auto', columns={'age': 'numeric'})", "number", "from_table(table, 'class', 'auto', columns={'age': 'number'})"),
    ("from_table(table, 'class', 'auto', columns={'job': 'number'})", "columns={'job': 'category'}", "from_table(table, 'class', 'auto', columns={'job': 'category'})"),
    ("from_table(with_column('odd'), 'class', 'auto')", "columns={'odd': {'kind': 'number', 'missing': ['abc']}}", "from_table(with_column('odd'), 'class', 'auto', columns={'odd': {'kind': 'number', 'missing': ['abc']}})"),
    ("from_table(with_column('money'), 'class', 'auto')", "columns={'money': {'kind': 'number', 'thousands': ','}}", "from_table(with_column('money'), 'class', 'auto', columns={'money': {'kind': 'number', 'thousands': ','}})"),
    ("from_table(with_column('dated'), 'class', 'auto')", "columns={'dated': {'kind': 'date', 'format': '%d/%m/%Y'}}", "from_table(with_column('dated'), 'class', 'auto', columns={'dated': {'kind': 'date', 'format': '%d/%m/%Y'}})"),
    ("from_table(with_column('huge'), 'class', 'auto')", "columns={'huge': 'drop'}", "from_table(with_column('huge'), 'class', 'auto', columns={'huge': 'drop'})"),
    ("from_table(table.to_numpy(), 'class')", "DataFrame", "from_table(pd.DataFrame(table.to_numpy(), columns=table.columns), 'class', 'auto')"),
    ("from_table(table, 'age', 'auto', task='regress')", "regression", "from_table(table, 'age', 'auto', task='regression')"),
    ("load_dataset('irs')", "iris", "load_dataset('iris')"),
    ("as_sweep([])", '{"name": "first", "datasets": ["iris"], "encodings": "auto", "lambdas": 0.01, "solvers": "auto"}', 'plan({"name": "first", "datasets": ["iris"], "encodings": "auto", "lambdas": 0.01, "solvers": "auto"})'),
    ("plan({**SPEC, 'datasets': [table]})", '{"path": "table.parquet", "target": …}', 'plan({**SPEC, "datasets": [{"path": "table.csv", "target": "class"}]})'),
    ("plan({**SPEC, 'solvers': 'brnches'})", "'branches'", "plan({**SPEC, 'solvers': 'branches'})"),
    ("plan({**SPEC, 'encodings': 'onehot'})", "'columns': {'age': 'category'}", "plan({**SPEC, 'datasets': {'path': 'table.csv', 'target': 'class', 'columns': {'age': 'category'}}, 'encodings': 'onehot'})"),
    ("plan({**SPEC, 'solvers': 'quantbnb'})", "'limits': {'depth': 2}", "plan({**SPEC, 'solvers': 'quantbnb', 'limits': {'depth': 2}})"),
    ("plan({**SPEC, 'lamdas': 0.1})", "'lambdas'", "plan({**SPEC, 'lambdas': 0.1})"),
    ("plan({**SPEC, 3: 1})", "'3'", "plan({**SPEC, '3'.replace('3', 'seed'): 1})"),
    ("plan('name: a\\ndatasets: iris')", "treesweep.parse_spec(text)", "treesweep.parse_spec(text)"),
]  # fmt: skip

YAML = """\
name: small
datasets: {{path: table.csv, target: class{dataset}}}
encodings: {encodings}
lambdas: {lambdas}
solvers: {solvers}
"""
GOOD = {"dataset": "", "encodings": "auto", "lambdas": "0.1", "solvers": "cart"}
SPECS: list[tuple[dict[str, str], str, dict[str, str]]] = [
    ({"encodings": "onehots"}, "'onehot'", {"encodings": "'quantiles'"}),
    ({"encodings": "onehot"}, "columns: {age: category}", {"encodings": "onehot", "dataset": ", columns: {age: category}"}),
    ({"encodings": "{encoding: quantiles, bins: 3}"}, "k", {"encodings": "{encoding: quantiles, k: 3}"}),
    ({"encodings": "{encoding: auto, k: 3}"}, "quantiles", {"encodings": "{encoding: quantiles, k: 3}"}),
    ({"dataset": ", colums: {age: drop}"}, "'columns'", {"dataset": ", 'columns': {age: drop}"}),
    ({"lambdas": "a tenth"}, "0.01", {"lambdas": "0.01"}),
    ({"lambdas": "{from: 0.1, to: 0, count: 3}"}, "scale: linear", {"lambdas": "{from: 0.1, to: 0, count: 3, scale: linear}"}),
    ({"solvers": "carts"}, "'cart'", {"solvers": "'cart'"}),
    ({"solvers": "quantbnb"}, "limits: {depth: 2}", {"solvers": "quantbnb\nlimits: {depth: 2}"}),
    ({"solvers": "{solver: branches, lam: 0.1}"}, "lam: path", {"solvers": "{solver: branches, lam: path}"}),
    ({"solvers": "{solver: cart, proof: true}"}, "branches", {"solvers": "{solver: branches, proof: true}"}),
    ({"solvers": "cart\nlimits: {memory: lots}"}, "512MiB", {"solvers": "cart\nlimits: {memory: 512MiB}"}),
    ({"solvers": "cart\nvalidation: {kind: folds}"}, "'kfold'", {"solvers": "cart\nvalidation: {kind: 'kfold'}"}),
]  # fmt: skip

SOLVE = "solve table.csv --target class --lam 0.1 --solver cart"
FLAGS = [
    ("solve table.csv --lam 0.1 --solver cart", "class", SOLVE),
    ("solve table.csv --target klass --lam 0.1 --solver cart", "class", SOLVE),
    ("solve tabel.csv --target class --lam 0.1 --solver cart", "table.csv", SOLVE),
    (f"{SOLVE} --encoding onehot", "--column age=category", f"{SOLVE} --encoding onehot --column age=category"),
    (f"{SOLVE} --encoding one-hot --column age=category", "'onehot'", f"{SOLVE} --encoding 'onehot' --column age=category"),
    (f"{SOLVE} --encoding-option k=3", "--encoding quantiles", f"{SOLVE} --encoding-option k=3 --encoding quantiles"),
    ("solve table.csv --target class --lam 0.1 --solver quantbnb", "--max-depth 2", "solve table.csv --target class --lam 0.1 --solver quantbnb --max-depth 2"),
    ("solve table.csv --target class --lam 0.1 --solver carts", "'cart'", SOLVE),
    ("solve table.csv --target class --lam tenth --solver cart", "0.01", "solve table.csv --target class --lam 0.01 --solver cart"),
    (SOLVE.replace("table.csv", "odd.csv"), "--column 'odd={kind: number, missing: [abc]}'", SOLVE.replace("table.csv", "odd.csv") + " --column 'odd={kind: number, missing: [abc]}'"),
    (SOLVE.replace("table.csv", "money.csv"), "--column 'money={kind: number, thousands: \",\"}'", SOLVE.replace("table.csv", "money.csv") + " --column 'money={kind: number, thousands: \",\"}'"),
    (SOLVE.replace("table.csv", "huge.csv"), "--column huge=drop", SOLVE.replace("table.csv", "huge.csv") + " --column huge=drop"),
    (SOLVE.replace("table.csv", "numbered.csv"), "--column 'Unnamed: 0=drop'", SOLVE.replace("table.csv", "numbered.csv") + " --column 'Unnamed: 0=drop'"),
    (SOLVE.replace("table.csv", "latin.csv"), "--charset latin-1", SOLVE.replace("table.csv", "latin.csv") + " --charset latin-1"),
    (f"{SOLVE} --columns age=drop", "--column", f"{SOLVE} --column age=drop"),
]  # fmt: skip


def one_line(message: str, remedy: str) -> None:
    assert len(message.splitlines()) == 1
    assert len(message) <= LONGEST
    assert remedy in message


def call(text: str) -> Any:
    number = treesweep.Problem.from_table(TABLE[["age", "class"]], "class", "continuous")
    problem = treesweep.Problem.from_table(TABLE, "class", "quantiles")
    names = {
        "treesweep": treesweep, "pd": pd, "np": np, "as_sweep": as_sweep, "with_column": with_column,
        "solve": treesweep.solve, "regularization_path": treesweep.regularization_path,
        "from_table": treesweep.Problem.from_table, "load_dataset": treesweep.load_dataset,
        "problem": problem, "numbers": number, "FUNCTION": print,
        "table": TABLE.rename(columns={"class": "COLUMN"}) if "COLUMN" in text else TABLE,
        "solution": treesweep.solve(problem, "0.5") if "solution" in text else None,
        "SPEC": {"name": "small", "datasets": {"path": "table.csv", "target": "class"},
                 "encodings": "auto", "lambdas": 0.1, "solvers": "cart"},
        "plan": lambda spec: make_plan(as_sweep(spec)),
        "text": YAML.format(**GOOD),
    }  # fmt: skip
    return eval(text, names)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(("wrong", "remedy", "right"), CALLS, ids=[c[0] for c in CALLS])
def test_a_call(wrong: str, remedy: str, right: str) -> None:
    with pytest.raises(treesweep.InputError) as error:
        call(wrong)
    one_line(str(error.value), remedy)
    assert call(right) is not None


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(("wrong", "remedy", "right"), SPECS, ids=[str(s[0]) for s in SPECS])
def test_a_spec(wrong: dict[str, str], remedy: str, right: dict[str, str]) -> None:
    with pytest.raises(treesweep.InputError) as error:
        make_plan(parse_spec(YAML.format(**GOOD | wrong)))
    one_line(str(error.value), remedy)
    assert make_plan(parse_spec(YAML.format(**GOOD | right))).n_tasks


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(("wrong", "remedy", "right"), FLAGS, ids=[f[0] for f in FLAGS])
def test_flags(wrong: str, remedy: str, right: str) -> None:
    one_line(refused(*shlex.split(wrong)), remedy)
    done = run(*shlex.split(right))
    assert done.exit_code == 0, done.output


def test_there_are_sixty() -> None:
    assert len(CALLS) + len(SPECS) + len(FLAGS) >= 60
