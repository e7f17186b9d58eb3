"""Tests of sweep/spec/spec.py."""
# ruff: noqa: E501  a message is easier to read on one line

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from solver.catalogue import SOLVERS
from solver.errors import InputError
from sweep.spec.spec import Spec, load_spec, parse_spec

FULL = """\
name: first-look
datasets: [car, {name: loans, path: loans.csv, target: default}]
encodings:
  - categorical
  - onehot
  - {encoding: quantiles, k: [4, 8]}
lambdas: [0.1, 0.05]
solvers:
  - branches
  - {solver: branches, options: {depth: [null, 4]}}
  - {solver: cart, options: {criterion: [gini, entropy], seconds: 5}}
validation: {kind: kfold, folds: 5, seed: 7, stratify: true}
limits: {seconds: 300, memory: 4GiB, depth: 6}
seed: 3
"""


def spec(text: str = FULL) -> Spec:
    return parse_spec(text).spec


def test_options_multiply_and_defaults_are_filled_in() -> None:
    encodings = spec().encoding_choices(spec().datasets[0])
    assert [(c.name, c.options) for c in encodings] == [
        ("categorical", {}),
        ("onehot", {}),
        ("quantiles", {"k": 4}),
        ("quantiles", {"k": 8}),
    ]
    carts = [c for c in spec().solver_choices() if c.name == "cart"]
    assert [c.options["criterion"] for c in carts] == ["gini", "entropy"]
    assert {c.options["seed"] for c in carts} == {3}


def test_limits_may_be_given_for_one_solver() -> None:
    common = {"bytes": 4 * 2**30, "depth": 6, "seconds": 300.0}
    limits = [c.limits for c in spec().solver_choices()]
    without_depth = {"bytes": 4 * 2**30, "seconds": 300.0}
    assert limits[:3] == [common, without_depth, common | {"depth": 4}]
    assert limits[3] == common | {"seconds": 5.0}


def test_equal_choices_count_once() -> None:
    text = FULL.replace("  - branches\n", "  - branches\n  - branches\n  - {solver: branches}\n")
    assert spec(text).solver_choices() == spec().solver_choices()


ASKING = FULL.replace("  - branches\n", "  - {solver: branches, lam: path, proof: true}\n", 1)


def test_a_path_and_a_proof_stand_beside_the_solvers_own_options() -> None:
    first, *others = spec(ASKING).solver_choices()
    plain, *same = spec().solver_choices()
    assert first.options == {**plain.options, "lam": "path", "proof": True}
    assert others == same
    assert not {"lam", "proof"} & {name for choice in same for name in choice.options}


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("lam: path", "lam: 0.1", "line 9: solvers[1].lam: 0.1 cannot stand here; write 'lam: path'"),
        ("lam: path", "lam: paths", "'paths' cannot stand here"),
        ("lam: path", "lam: [path]", "['path'] cannot stand here"),
        ("proof: true", "proof: 1", "line 9: solvers[1].proof: expected true or false"),
        ("branches, lam: path", "cart", "solvers[1].proof: solver 'cart' cannot give a proof; these can: branches"),
        ("depth: 6", "splits: 6", "solvers[1].proof: there is no proof under the limit 'splits', only under 'depth'"),
        ("proof: true", "proof: true, options: {min_leaf_size: [null, 2]}", "limit 'min_leaf_size'"),
    ],
)  # fmt: skip
def test_what_a_solver_cannot_be_asked_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        spec(ASKING.replace(old, new, 1))
    assert message in str(caught.value)


GOOD = FULL.replace("  - branches\n", "  - {solver: branches, rashomon: {within: 0.10}}\n", 1)


def test_good_trees_are_asked_for_exactly() -> None:
    first, *_ = spec(GOOD).solver_choices()
    assert first.options["rashomon"] == {"within": "1/10", "unit": "relative"}
    for text in ('"1/10"', "1e-1", "0.1, unit: relative"):
        assert spec(GOOD.replace("0.10", text)).solver_choices()[0] == first
    (usual, *_) = spec(GOOD.replace("{within: 0.10}", "{}")).solver_choices()
    assert usual.options["rashomon"]["within"] == "1/20"


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("0.10", "-1", "line 9: solvers[1].rashomon.within: -1 must be a number of 0 or more"),
        ("0.10", "some", "'some' must be a number of 0 or more, e.g. 0.05"),
        ("0.10", "0.1, unit: percent", "unit: 'percent' is not allowed here; allowed: 'relative', 'objective' or 'lam'"),
        ("within", "with", "unknown key 'with' (did you mean 'within'?)"),
        ("{within: 0.10}", "true", "solvers[1].rashomon: expected 'key: value' entries, got true"),
        ("solver: branches", "solver: cart", "solver 'cart' cannot prove which trees are good; these can: branches, osdt"),
        ("solver: branches", "solver: auto", "solver 'auto' cannot prove which trees are good"),
        ("solver: branches", "solver: branches, lam: path", "single λ, not along a λ-path; leave out one of the two"),
        ("solver: branches", "solver: branches, shards: 2", "not counted in shards; leave out one of the two"),
    ],
)  # fmt: skip
def test_good_trees_that_cannot_be_counted_are_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        spec(GOOD.replace(old, new, 1))
    assert message in str(caught.value)


def test_a_proof_is_possible_once_its_solver_is_free_of_the_limit() -> None:
    text = ASKING.replace("depth: 6", "splits: 6")
    free = text.replace("proof: true", "proof: true, options: {splits: null}")
    assert "splits" not in spec(free).solver_choices()[0].limits


@pytest.mark.parametrize(
    "text", ["validation: none\n", "validation: {kind: none}\n", "validation:\n", ""]
)
def test_validation_may_be_left_out(text: str) -> None:
    line = next(part for part in FULL.splitlines(True) if part.startswith("validation"))
    assert spec(FULL.replace(line, text)).validation.kind == "none"


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("name: first-look", "nam: x", "line 1: nam: unknown key 'nam' (did you mean 'name'?); allowed: name, datasets"),
        ("name: first-look", "name: a/b", "line 1: name:"),
        ("name: first-look", "name: 5", "line 1: name: expected text, got 5"),
        ("datasets: [car,", "datasets: [cr,", "line 2: datasets[1]: there is no dataset 'cr'; did you mean car"),
        ("target: default", "goal: default", "line 2: datasets[2].goal: unknown key 'goal'"),
        ("datasets: [car,", "datasets: [car, car,", "line 2: datasets[2]: the dataset 'car' is duplicated"),
        ("  - categorical", "  - categorial", "line 4: encodings[1]: unknown encoding 'categorial' (did you mean 'categorical'?)"),
        ("k: [4, 8]", "q: 4", "line 6: encodings[3].q: unknown option of encoding 'quantiles': 'q'; allowed: k"),
        ("k: [4, 8]", "k: [4, 1]", "line 6: encodings[3]: option k = 1 of encoding 'quantiles'"),
        ("k: [4, 8]", "k: []", "line 6: encodings[3].k: the list is empty"),
        ("k: [4, 8]", "k: {a: 1}", "line 6: encodings[3].k: an option is"),
        ("  - branches\n", "  - branch\n", "line 9: solvers[1]: unknown solver 'branch' (did you mean 'branches'?); allowed: branches, osdt, quantbnb, proper, cart, tao"),
        ("criterion: [gini, entropy]", "criterion: [gini, x]", "line 11: solvers[3].options: option criterion = 'x' of solver 'cart' must be one of gini, entropy"),
        ("criterion:", "kriterion:", "line 11: solvers[3].options.kriterion: unknown option 'kriterion' (did you mean 'criterion'?)"),
        ("depth: [null, 4]", "depth: [null, -4]", "solvers[2]: a limit must be 0 or more"),
        ("kind: kfold", "kind: kfolds", "line 12: validation: unknown kind 'kfolds'; allowed: 'none', 'holdout', 'kfold'"),
        ("folds: 5", "folds: 1", "line 12: validation.folds: input should be greater than or equal to 2"),
        ("folds: 5", "fold: 5", "line 12: validation.fold: unknown key 'fold' (did you mean 'folds'?)"),
        ("validation: {kind: kfold, folds: 5, seed: 7, stratify: true}", "validation: no", "line 12: validation: unknown kind 'no'"),
        ("stratify: true", "stratify: yes", "line 12: validation.stratify: expected true or false, got 'yes'"),
        ("seconds: 300,", "seconds: -1,", "line 13: limits.seconds: a limit must be 0 or more"),
        ("memory: 4GiB", "memory: lots", "line 13: limits.memory: 'lots' is no amount of memory"),
        ("depth: 6", "dept: 6", "line 13: limits.dept: unknown key 'dept' (did you mean 'depth'?)"),
        ("seed: 3", "seed: -3", "line 14: seed: input should be greater"),
    ],
)  # fmt: skip
def test_bad_input_names_line_key_and_remedy(old: str, new: str, message: str) -> None:
    assert old in FULL
    with pytest.raises(InputError) as caught:
        spec(FULL.replace(old, new, 1))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["datasets", "encodings", "lambdas", "solvers"])
@pytest.mark.parametrize("value", ["[]", "", "5", "{a: 1}"])
def test_axes_are_lists_with_something_in_them(key: str, value: str) -> None:
    parts = {
        "name": "a",
        "datasets": "[car]",
        "encodings": "[onehot]",
        "lambdas": "[0.1]",
        "solvers": "[cart]",
    }
    if (key, value) == ("lambdas", "5"):
        return  # a single λ stands for itself
    text = "".join(f"{k}: {v}\n" for k, v in {**parts, key: value}.items())
    with pytest.raises(InputError, match=f"line {list(parts).index(key) + 1}: {key}"):
        spec(text)


def test_paths_start_at_the_files_folder(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(FULL)
    assert load_spec(tmp_path / "a.yaml").base == tmp_path
    assert load_spec(tmp_path / "a.yaml", base=tmp_path / "b").base == tmp_path / "b"


def ablation(entry: str) -> list[tuple[Any, ...]]:
    """Which of three switches each choice of an entry has on, and its mode."""
    text = FULL.replace("  - branches\n", f"  - {entry}\n", 1)
    text = text.replace("  - {solver: branches, options: {depth: [null, 4]}}\n", "")
    names = ("pairs", "support", "similar_support", "mode")
    choices = [c for c in spec(text).solver_choices() if c.name == "branches"]
    return [tuple(choice.options[name] for name in names) for choice in choices]


def test_an_ablation_turns_one_switch_at_a_time() -> None:
    assert ablation("{solver: branches, ablate: [pairs, similar_support]}") == [
        (True, True, True, "full"),
        (False, True, True, "full"),
        (True, True, False, "full"),
    ]
    assert ablation("{solver: branches, options: {support: false}, ablate: [support]}") == [
        (True, False, True, "full"),
        (True, True, True, "full"),
    ]


def test_options_multiply_an_ablation() -> None:
    entry = "{solver: branches, options: {memo: [rows, literals]}, ablate: pairs}"
    text = FULL.replace("  - branches\n", f"  - {entry}\n", 1)
    choices = [choice for choice in spec(text).solver_choices() if choice.name == "branches"]
    assert [(choice.options["memo"], choice.options["pairs"]) for choice in choices[:4]] == [
        ("rows", True),
        ("rows", False),
        ("literals", True),
        ("literals", False),
    ]


def test_a_mistake_in_a_combination_is_told() -> None:
    with pytest.raises(InputError, match=r"solvers\[1\].options: option pairs = False of solver"):
        ablation("{solver: branches, options: {mode: [full, paper]}, ablate: pairs}")


def test_all_switches_that_are_on_can_be_ablated() -> None:
    switches = [k for k, o in SOLVERS["branches"].options.items() if o.default is True]
    assert len(switches) > 3
    found = ablation("{solver: branches, ablate: all}")
    assert len(found) == 1 + len(switches)
    assert found[0] == (True, True, True, "full")


@pytest.mark.parametrize(
    "entry, message",
    [
        ("{solver: branches, ablate: [pears]}", "solvers[1].ablate: unknown switch of solver 'branches': 'pears' (did you mean 'pairs'?)"),
        ("{solver: branches, ablate: [mode]}", "solvers[1].ablate: unknown switch of solver 'branches': 'mode'"),
        ("{solver: cart, ablate: all}", "solvers[1].ablate: solver 'cart' has no switches to ablate"),
        ("{solver: cart, ablate: [seed]}", "solvers[1].ablate: solver 'cart' has no switches to ablate"),
    ],
)  # fmt: skip
def test_only_switches_can_be_ablated(entry: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        spec(FULL.replace("  - branches\n", f"  - {entry}\n", 1))
    assert message in str(caught.value)


def test_a_path_is_not_repeated() -> None:
    text = FULL.replace(
        "{kind: kfold, folds: 5, seed: 7, stratify: true}", "{kind: none, repeats: 2}"
    )
    assert spec(text).validation.model_dump() == {"kind": "none", "repeats": 2}
    text = text.replace("  - branches\n", "  - {solver: branches, lam: path}\n", 1)
    with pytest.raises(InputError, match=r"solvers\[1\].lam: a λ-path is not repeated"):
        spec(text)
