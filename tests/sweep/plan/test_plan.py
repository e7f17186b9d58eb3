"""Tests of sweep/plan/plan.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from solver.catalogue import SOLVERS
from solver.errors import InputError
from sweep.plan.plan import Plan, make_plan
from sweep.plan.task_keys import canonical, task_key
from sweep.spec.spec import parse_spec

SPEC = """
name: plan
datasets: [monks-1, car]
encodings: [categorical, onehot, {encoding: quantiles, k: [2, 3]}]
lambdas: [0.1, {per-row: 2}]
solvers: [branches, cart]
validation: {kind: kfold, folds: 3, repeats: 2}
limits: {seconds: 10}
"""


def plan(text: str = SPEC, base: Path | str = ".") -> Plan:
    return make_plan(parse_spec(text, base=base))


def test_the_axes_are_multiplied_and_impossible_cells_told() -> None:
    found = plan()
    folds, lams = 6, 2
    assert found.n_tasks == 2 * folds * lams * (4 * 2 - 1)
    assert found.n_impossible == 2 * folds * lams
    assert {(e.dataset, e.encoding, e.solver) for e in found.impossible} == {
        ("monks-1", "categorical", "cart"),
        ("car", "categorical", "cart"),
    }
    assert "needs binary or continuous features" in found.impossible[0].reason


def test_a_limit_that_a_solver_needs_is_asked_for_and_is_in_the_key() -> None:
    text = """
name: needs
datasets: [monks-1]
encodings: [continuous]
lambdas: [0.1]
solvers: [proper, {solver: proper, options: {splits: [1, 2]}}, quantbnb, branches, cart]
"""
    found = plan(text)
    solvers = [(block.solver.name, block.solver.limits) for block in found.blocks]
    assert solvers == [("proper", {"splits": 1}), ("proper", {"splits": 2}), ("cart", {})]
    assert len({task.key for task in found.tasks()}) == 3
    reasons = {entry.solver: entry.reason for entry in found.impossible}
    assert reasons["proper"].endswith("needs the limit 'splits'; write e.g. limits: {splits: 2}")
    assert reasons["quantbnb"].endswith("needs the limit 'depth'; write e.g. limits: {depth: 2}")
    of_all = plan(text + "limits: {splits: 2}\n")
    assert of_all.blocks[0].tasks([0])[0].key == found.blocks[1].tasks([1])[0].key
    alone = text.replace("proper, {solver: proper, options: {splits: [1, 2]}}", "proper")
    with pytest.raises(InputError, match=r"no cell .* needs the limit 'splits'; write e"):
        plan(alone.replace(", quantbnb, branches, cart]", "]"))


@pytest.mark.parametrize(
    "solver, rules", [("proper", ["hyperplane", "polynomial", "mixed"]), ("oct", ["hyperplane"])]
)
def test_rules_that_need_numbers_are_impossible_without_them(
    tmp_path: Path, solver: str, rules: list[str]
) -> None:
    (tmp_path / "numbers.csv").write_text("a,b,y\n" + "0,1,p\n1,1,q\n0,0,q\n1,0,p\n" * 3)
    (tmp_path / "mixed.csv").write_text("a,c,y\n" + "1.5,u,p\n2.5,v,q\n3.5,u,q\n" * 3)
    found = plan(
        f"""
name: points
datasets: [{{path: numbers.csv, target: y}}, {{path: mixed.csv, target: y}}]
encodings: [onehot, thresholds, continuous]
lambdas: [0.1]
limits: {{splits: 2, depth: 2}}
solvers: [{solver}, {{solver: {solver}, options: {{rules: {rules}}}}}]
""",
        tmp_path,
    )
    asked = [
        (b.node.info.dataset, b.node.info.encoding)
        for b in found.blocks
        if b.solver.options["rules"] != "axis"
    ]
    assert asked == [("numbers", "continuous")] * len(rules)
    reasons = {(e.dataset, e.encoding): e.reason for e in found.impossible}
    assert "'a' is read as a category by the encoding 'onehot'" in reasons["numbers", "onehot"]
    assert "use the encoding continuous, or rules axis" in reasons["numbers", "thresholds"]
    assert "column 'c' holds no numbers" in reasons["mixed", "continuous"]


def test_tasks_are_numbered_and_their_keys_differ() -> None:
    found = plan()
    tasks = list(found.tasks())
    assert [task.number for task in tasks] == list(range(found.n_tasks))
    assert len({task.key for task in tasks}) == found.n_tasks
    assert all(found.task(task.number) == task for task in tasks[::17])
    assert len(found.costs()) == len(found.node_numbers()) == found.n_tasks


def test_a_key_is_that_of_the_row_that_the_task_becomes() -> None:
    task = plan().task(40)
    info = task.node.info
    row = {
        **vars(info),
        "lam_exact": str(task.lam.exact),
        "limits": canonical(task.solver.limits),
        "solver": task.solver.name,
        "solver_options": canonical(task.solver.options),
        "solver_version": SOLVERS[task.solver.name].version,
    }
    assert task.key == task_key(row)


def test_lambda_per_row_counts_training_rows() -> None:
    found = plan()
    for block in found.blocks:
        node = block.node
        assert node.info.n_train + node.info.n_test == node.info.n_rows
        assert block.lams[1].exact * node.info.n_train == 2
        assert block.lams[1].label == "2/n"


def test_adding_to_an_axis_leaves_other_keys_alone() -> None:
    before = {task.key for task in plan().tasks()}
    for old, new in [
        ("[0.1, ", "[0.1, 0.2, "),
        ("[monks-1, car]", "[monks-1, car, monks-2]"),
        ("repeats: 2", "repeats: 3"),
        ("[2, 3]", "[2, 3, 4]"),
        ("name: plan", "name: other"),
    ]:
        assert before <= {task.key for task in plan(SPEC.replace(old, new)).tasks()}
    for old, new in [("seconds: 10", "seconds: 11"), ("folds: 3", "folds: 4")]:
        assert not before & {task.key for task in plan(SPEC.replace(old, new)).tasks()}


PATHS = SPEC.replace(
    "solvers: [branches, cart]",
    """
solvers: [branches, {solver: branches, lam: path}, {solver: cart, lam: path}]""",
)


def test_a_path_is_one_task_from_the_least_lambda_on() -> None:
    found = plan(PATHS)
    folds, lams = 6, 2
    assert found.n_tasks == 2 * folds * (4 * (lams + 1) + 3)
    assert found.n_impossible == 2 * folds
    paths = [task for task in found.tasks() if "lam" in task.solver.options]
    assert len(paths) == 2 * folds * (4 + 3)
    assert {task.lam.label for task in paths} == {"2/n"}
    least = {b.node.number: min(lam.exact for lam in b.lams) for b in found.blocks if len(b) > 1}
    assert all(task.lam.exact == least[task.node.number] for task in paths)
    tasks = list(found.tasks())
    assert [task.number for task in tasks] == list(range(found.n_tasks))
    assert all(found.task(task.number) == task for task in tasks[::13])
    assert len({task.key for task in tasks}) == found.n_tasks
    assert len(found.costs()) == len(found.node_numbers()) == found.n_tasks
    assert found.most_seconds == 10 * found.n_tasks
    assert found.estimated_bytes > plan().estimated_bytes


def test_a_path_beside_it_leaves_the_keys_of_other_tasks_alone() -> None:
    before = {task.key for task in plan().tasks() if task.solver.name == "branches"}
    assert before <= {task.key for task in plan(PATHS).tasks()}


def test_the_longest_search_time_is_known_if_there_is_a_limit() -> None:
    assert plan().most_seconds == 10 * plan().n_tasks
    assert plan().untimed == 0
    without = plan(SPEC.replace("limits: {seconds: 10}", ""))
    assert without.untimed == without.n_tasks


@pytest.mark.parametrize("untimed", ["branches", "cart"])
def test_tasks_without_a_limit_of_time_are_counted_also_those_of_heuristics(untimed: str) -> None:
    own = f"{{solver: {untimed}, options: {{seconds: null}}}}"
    found = plan(SPEC.replace(f"{untimed}", own))
    number = sum(task.solver.name == untimed for task in found.tasks())
    assert 0 < number < found.n_tasks
    assert found.untimed == number
    assert found.most_seconds == 10 * (found.n_tasks - number)


CSV = "a,b,class\n1,x,yes\n2,y,no\n3,x,yes\n4,y,no\n"

FILE = """
name: file
datasets: [{{name: mine, path: mine.csv, target: {target}}}]
encodings: [{encoding}]
lambdas: [0.1]
solvers: [{solver}]
{more}
"""


@pytest.mark.parametrize(
    "csv, changes, message",
    [
        (CSV, {"target": "klass"}, "mine' has no column 'klass' for the target"),
        (CSV.replace("no", "yes"), {}, "has the single class 'yes'; there is nothing to learn"),
        ("a,b,class\n", {}, "has no rows"),
        (None, {}, "mine.csv"),
        (
            CSV,
            {"encoding": "categorical", "solver": "cart"},
            "no cell of the sweep 'file' is possible",
        ),
        (CSV, {"more": "validation: {kind: kfold, folds: 9}"}, "4 rows are too few"),
        (
            CSV,
            {"more": "limits: {splits: 3}", "solver": "tao"},
            "cannot honour the limit 'splits'",
        ),
    ],
)
def test_bad_datasets_and_impossible_sweeps_are_refused(
    tmp_path: Path, csv: str | None, changes: dict[str, str], message: str
) -> None:
    if csv is not None:
        (tmp_path / "mine.csv").write_text(csv)
    words = {"target": "class", "encoding": "onehot", "solver": "cart", "more": "", **changes}
    with pytest.raises(InputError) as caught:
        plan(FILE.format(**words), tmp_path)
    assert message in str(caught.value)
    assert "mine" in str(caught.value) or "file" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_table_under_two_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(CSV)
    two = FILE.format(target="class", encoding="onehot", solver="cart", more="").replace(
        "datasets: [", "datasets: [{name: other, path: mine.csv, target: class}, "
    )
    with pytest.raises(InputError, match="'other' and 'mine' hold the same table"):
        plan(two, tmp_path)


def test_good_trees_are_impossible_where_they_cannot_be_counted() -> None:
    text = """
name: good
datasets: [monks-1, {name: diabetes, lambdas: [500]}]
encodings: [onehot, continuous]
lambdas: [0.1]
limits: {depth: 2}
solvers:
  - {solver: quantbnb, rashomon: {}}
  - {solver: branches, rashomon: {}}
  - {solver: branches, rashomon: {}, options: {splits: 3}}
"""
    found = make_plan(parse_spec(text))
    assert [(block.solver.name, block.solver.limits.get("splits")) for block in found.blocks] == [
        ("quantbnb", None), ("branches", None), ("branches", 3),
    ]  # fmt: skip
    reasons = "\n".join(entry.reason for entry in found.impossible)
    for words in (
        "good trees are counted for classification, not for regression",
        "good trees are counted for binary and categorical features; encode numbers with",
    ):
        assert words in reasons


@pytest.mark.parametrize("lambdas", ["[0, 0.1]", "0"])
def test_good_trees_without_a_largest_size_are_impossible(lambdas: str) -> None:
    text = f"""
name: good
datasets: [monks-1]
encodings: [onehot]
lambdas: {lambdas}
solvers: [{{solver: branches, rashomon: {{}}, options: {{depth: [null, 2]}}}}]
"""
    few = text.replace("depth: [null, 2]", "splits: 4")
    assert not make_plan(parse_spec(few)).impossible
    found = make_plan(parse_spec(text))
    asked = {(task.solver.limits.get("depth"), float(task.lam.exact)) for task in found.tasks()}
    assert asked == ({(2, 0.0)} if lambdas == "0" else {(None, 0.1), (2, 0.0), (2, 0.1)})
    (refused,) = found.impossible
    assert "at λ = 0 good trees may have any size; give a limit on depth" in refused.reason
    assert refused.tasks == 1
