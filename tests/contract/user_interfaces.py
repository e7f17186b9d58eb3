"""Everything a user can ask: Python, estimators, the command line, a sweep; trees and paths."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
from click.testing import CliRunner

import solver
from pipelines.cli import treesweep
from solver import InputError, Limits, Problem, Tree, estimators, get_solver
from sweep.datasets import read_file
from sweep.plan.plan import Plan, make_plan
from sweep.rows.result_rows import Cell
from sweep.spec.spec import parse_spec
from sweep.worker import tasks
from sweep.worker.run_settings import Run
from tests.contract.check_answer import Claim
from tests.contract.oracle import Oracle
from tests.contract.random_tables import Question, Table, exact_lambda


class Refused(Exception):
    """A front refuses the question; what it says is one clear line."""


class Broken(Exception):
    """A front neither answers nor refuses as it should."""


def reason(message: str) -> str:
    """What a refusal is about, without the values that it names."""
    line = re.sub(r"dataset '[^']*': ", "", message)
    return re.sub(r"'[^']*'|\d[\d./e+-]*", "…", line).partition(";")[0][:90]


def _refused(error: Exception) -> Exception:
    lines = str(error).splitlines()
    if isinstance(error, InputError) and len(lines) == 1:
        return Refused(reason(lines[0]))
    if isinstance(error, ValueError) and lines and type(error) is ValueError:
        return Refused("scikit-learn: " + reason(lines[0]))
    return Broken(f"{type(error).__name__}: {str(error)[:200]}")


def problem_of(table: Table, question: Question) -> Problem:
    """The problem of a question about a table."""
    return Problem.from_table(
        table.frame,
        "target",
        question.encoding,
        task="regression" if table.regression else "classification",
        weights=None if table.weights is None else list(table.weights),
        columns=table.overrides,
        **question.encoding_options,
    )


def claim_of(found: Any, tree: Tree, frame: pd.DataFrame, lam: Fraction, **changes: Any) -> Claim:
    """What a Solution says, with what its tree, once stored and read, does on raw rows."""
    stored = Tree.from_json(tree.to_json())
    return Claim(
        lam=lam,
        status=str(changes.get("status", found.status)),
        objective=changes.get("objective", getattr(found, "objective", None)),
        lower_bound=changes.get("lower_bound", getattr(found, "lower_bound", None)),
        tolerance=found.tolerance,
        tree=json.loads(tree.to_json()),
        predictions=list(changes.get("predict", stored.predict)(frame)),
        ends=stored.apply(frame).tolist(),
    )


def ask_solve(table: Table, question: Question) -> Iterator[Claim]:
    """``Problem.from_table`` and ``solve``."""
    try:
        found = solver.solve(
            problem_of(table, question), question.lam, question.solver,
            Limits(**question.limits), **question.options,
        )  # fmt: skip
    except Exception as error:
        raise _refused(error) from error
    yield claim_of(found, found.tree, table.frame, exact_lambda(question.lam, len(table.target)))


def ask_path(table: Table, question: Question, oracle: Callable[[], Oracle]) -> Iterator[Claim]:
    """``regularization_path``."""
    try:
        path = solver.regularization_path(
            problem_of(table, question), question.lam, question.solver,
            Limits(**question.limits), **question.options,
        )  # fmt: skip
    except Exception as error:
        raise _refused(error) from error
    yield from claims_of_path(
        path, table.frame, exact_lambda(question.lam, len(table.target)), oracle
    )


def claims_of_path(
    path: Any, frame: pd.DataFrame, lam_min: Fraction, oracle: Callable[[], Oracle]
) -> Iterator[Claim]:
    """What a path says of all λ that matter, to itself and to the oracle."""
    if (path.status == "optimal") != all(step.proven for step in path.steps):
        raise Broken(f"a path of status {path.status} whose steps are not all proven so")
    if path.lam_min != lam_min or path.steps[0].start != lam_min or path.steps[-1].end is not None:
        raise Broken(f"the path does not go from λ = {lam_min} to infinity")
    ends = [step.end for step in path.steps[:-1]]
    if ends != [step.start for step in path.steps[1:]]:
        raise Broken("the steps of the path do not join")
    middles = [(step.start + (step.end or step.start + 1)) / 2 for step in path.steps]
    lams = sorted({*path.lams, *middles, *(lam for lam in oracle().corners() if lam >= lam_min)})
    for lam in lams:
        step = path.step_at(lam)
        bound = path.lower_bound_at(lam)
        objective = path.objective_at(lam)
        yield claim_of(
            path, step.tree, frame, lam,
            status="optimal" if step.proven else "limit" if bound is not None else "heuristic",
            objective=objective, lower_bound=objective if step.proven else bound,
        )  # fmt: skip


CLASSIFIERS = ("branches", "branches", "osdt", "quantbnb", "proper")
REGRESSORS = ("quantbnb",)

_ESTIMATORS = {
    "branches": "BranchesClassifier",
    "osdt": "OSDTClassifier",
    "quantbnb": "QuantBnBClassifier",
    "proper": "ProperTreeClassifier",
}


def for_estimator(question: Question) -> Question:
    """The question with those options only that estimators have."""
    known = getattr(estimators, _ESTIMATORS[question.solver])().get_params()
    options = {k: v for k, v in question.options.items() if k in known and k != "degree"}
    return replace(question, options=options)


def estimator_of(table: Table, question: Question, **more: Any) -> Any:
    """The estimator that asks a question."""
    kind = getattr(
        estimators, "QuantBnBRegressor" if table.regression else _ESTIMATORS[question.solver]
    )
    names = {"depth": "max_depth", "splits": "max_splits", "nodes": "node_limit"}
    given = {names.get(limit, limit): value for limit, value in question.limits.items()}
    return kind(
        question.lam, encoding=question.encoding, encoding_options=question.encoding_options,
        columns=table.overrides, time_limit=None, **given, **question.options, **more,
    )  # fmt: skip


def ask_estimator(
    table: Table, question: Question, oracle: Callable[[], Oracle]
) -> Iterator[Claim]:
    """``fit`` with sample weights, then ``predict``; with ``lam_min`` the path as well."""
    lam = exact_lambda(question.lam, len(table.target))
    more: dict[str, Any] = {}
    if question.limits.get("depth") == 1:
        more["lam_min"] = lam / 3
    if table.class_weight is not None:
        more["class_weight"] = table.class_weight
    model = estimator_of(table, question, **more)
    weights = None if table.weights is None else list(table.weights)
    features = table.features
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(features, table.labels, sample_weight=weights)
    except Exception as error:
        raise _refused(error) from error
    yield claim_of(
        model.solution_, model.tree_, features, lam, predict=model.predict, status=model.status_,
        objective=model.objective_exact_, lower_bound=model.lower_bound_exact_,
    )  # fmt: skip
    if "lam_min" in more:
        yield from claims_of_path(model.lam_path_.path, features, lam / 3, oracle)


def _options(table: Table, question: Question) -> list[str]:
    """A question as options of the command line."""
    limits = {"depth": "--max-depth", "splits": "--max-splits", "nodes": "--node-limit"}
    given = ["--target", "target", "--encoding", question.encoding, "--solver", question.solver]
    for name, value in question.limits.items():
        given += [limits.get(name, "--min-leaf-size"), str(value)]
    for name, value in question.options.items():
        given += ["--option", f"{name}={str(value).lower()}"]
    for name, value in question.encoding_options.items():
        given += ["--encoding-option", f"{name}={value}"]
    for name, kind in table.overrides.items():
        given += ["--column", f"{name}={kind}"]
    if table.weights is not None:
        given += ["--weights", "weight"]
    return given + (["--task", "regression"] if table.regression else [])


def _command(*arguments: object) -> Any:
    """What a command prints."""
    result = CliRunner().invoke(treesweep, [str(argument) for argument in arguments])
    if result.exit_code == 2:
        lines = result.stderr.splitlines()
        if len(lines) == 1 and lines[0].startswith("treesweep: error: ") and not result.stdout:
            raise Refused(reason(lines[0].removeprefix("treesweep: error: ")))
    if result.exit_code != 0:
        raise Broken(f"exit {result.exit_code}: {result.stderr[-300:]} {result.exception!r}")
    return result


def ask_command(table: Table, question: Question, folder: Path, ending: str) -> Iterator[Claim]:
    """``treesweep solve --json``, then ``treesweep predict`` on the same file."""
    data, tree = folder / f"table{ending}", folder / "tree.json"
    arguments = data, "--lam", question.lam, *_options(table, question), "--json", "--save", tree
    found = json.loads(_command("solve", *arguments).stdout)
    predicted = _command("predict", tree, data)
    texts = pd.read_csv(StringIO(predicted.stdout), dtype=str, keep_default_na=False)["prediction"]
    read = Tree.from_json(tree.read_text())
    labels = {str(label): label for label in read.classes}
    guesses = [float(t) if table.regression else labels[t] for t in texts]
    claim = Claim(
        lam=exact_lambda(question.lam, len(table.target)),
        status=found["status"],
        objective=Fraction(found["objective_exact"]),
        lower_bound=found["lower_bound_exact"] and Fraction(found["lower_bound_exact"]),
        tolerance=Fraction(found.get("tolerance", 0)),
        tree=found["tree"],
        predictions=guesses,
        ends=read.apply(read_file(data)).tolist(),
    )
    if not table.regression:
        _check_accuracy(predicted.stderr, claim, table)
    yield claim


def _check_accuracy(said: str, claim: Claim, table: Table) -> None:
    """What ``predict`` says of the rows is what its own predictions say."""
    one = replace(table, weights=None)
    right = sum(truth == guess for truth, guess in zip(one.target, claim.predictions, strict=True))
    if f": {right} of {len(one.target)} rows" not in said:
        raise Broken(f"predict says {said!r}; it gets {right} of {len(one.target)} rows right")


def ask_path_command(
    table: Table, question: Question, folder: Path, ending: str, oracle: Callable[[], Oracle]
) -> Iterator[Claim]:
    """``treesweep path --json``."""
    data = folder / f"table{ending}"
    arguments = data, "--lam-min", question.lam, *_options(table, question), "--json"
    found = json.loads(_command("path", *arguments).stdout)
    yield from claims_of_steps(found["steps"], read_file(data), found, oracle)


def claims_of_steps(
    steps: Sequence[dict[str, Any]],
    frame: pd.DataFrame,
    found: dict[str, Any],
    oracle: Callable[[], Oracle],
) -> Iterator[Claim]:
    """What a written path says of all λ that matter."""
    if found["status"] == "optimal" and not all(step["proven"] for step in steps):
        raise Broken("an optimal path with a step that is not proven")
    total, tolerance = Fraction(found["total_weight"]), Fraction(found.get("tolerance") or 0)
    if found.get("task") == "regression":  # its errors are written as rounded decimals
        tolerance += Fraction(found["leaf_errors"]) / total / 2**30
    for step in steps:
        start, end = Fraction(step["lam_exact"]), step["lam_end_exact"]
        last = start + 1 if end is None else Fraction(end)
        tree = step["tree"] if isinstance(step["tree"], dict) else json.loads(step["tree"])
        read = Tree.from_dict(tree)
        guesses, ends = list(read.predict(frame)), read.apply(frame).tolist()
        for lam in {start, last, *(c for c in oracle().corners() if start < c < last)}:
            objective = Fraction(step["errors"]) / total + lam * step["splits"]
            proven = step["proven"]
            yield Claim(
                lam, "optimal" if proven else "limit", objective, objective if proven else None,
                tolerance, tree, guesses, ends,
            )  # fmt: skip


def sweep_text(
    tables: dict[str, tuple[Path, Table]], questions: Sequence[Question], **more: Any
) -> str:
    """A sweep of all these tables and questions; JSON is YAML."""
    solvers = [
        {"solver": q.solver, "options": {k: [v] for k, v in (q.options | q.limits).items()}, **more}
        for q in questions
    ]
    encodings = [{"encoding": q.encoding, **q.encoding_options} for q in questions]
    text = {
        "name": "contract",
        "datasets": [
            {"name": name, "path": str(path), "target": "target", "columns": table.overrides}
            for name, (path, table) in tables.items()
        ],
        "encodings": list({json.dumps(one): one for one in encodings}.values()),
        "lambdas": list(dict.fromkeys(str(question.lam) for question in questions)),
        "solvers": list({json.dumps(one): one for one in solvers}.values()),
    }
    return json.dumps(text)


def plan_of(text: str) -> Plan:
    """The plan of a sweep."""
    try:
        return make_plan(parse_spec(text))
    except Exception as error:
        raise _refused(error) from error


def sweep_rows(plan: Plan) -> Iterator[dict[str, Any]]:
    """The rows of a sweep, by the functions that its workers run, here and at once."""
    prepared: dict[int, Any] = {}
    for task in plan.tasks():
        node = task.node
        if node.number not in prepared:
            prepared[node.number] = tasks.prepare(
                tasks.load(node.reference, node.info.data_hash), node
            )
        cell = Cell(
            key=task.key, lam=str(task.lam.exact), lam_label=task.lam.label,
            solver=task.solver.name, solver_version=get_solver(task.solver.name).version,
            options=task.solver.options, limits=task.solver.limits, attempt=1,
        )  # fmt: skip
        yield tasks.solve_cell(prepared[node.number], cell, Run("contract"))


def claims_of_row(
    row: dict[str, Any], frame: pd.DataFrame, oracle: Callable[[], Oracle] | None
) -> Iterator[Claim]:
    """What a stored row says; only one of a path needs the oracle."""
    if row["tree"] is None:
        last = str(row["error"]).strip().splitlines()[-1]
        if "InputError: " in last or "UnsupportedError: " in last:
            raise Refused(reason(last.partition("Error: ")[2]))
        raise Broken(str(row["error"])[-400:])
    if row["path"] is not None:
        assert oracle is not None
        steps = [
            {**step, "lam_exact": step["lam"], "lam_end_exact": step["lam_end"]}
            for step in row["path"]
        ]
        yield from claims_of_steps(steps, frame, row, oracle)
        return
    tree, bound = Tree.from_json(row["tree"]), row["lower_bound_exact"]
    yield Claim(
        Fraction(row["lam_exact"]), row["status"], Fraction(row["objective_exact"]),
        None if bound is None else Fraction(bound), Fraction(row["tolerance"] or 0),
        json.loads(row["tree"]), list(tree.predict(frame)), tree.apply(frame).tolist(),
    )  # fmt: skip
