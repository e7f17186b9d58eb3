"""One random question after the other: what was asked, what was answered, what was false."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from solver import InputError
from sweep.datasets import read_file
from tests.contract import user_interfaces
from tests.contract.check_answer import Claim, false_claims
from tests.contract.oracle import Oracle
from tests.contract.random_tables import (
    Question,
    Table,
    pick,
    random_question,
    random_table,
    readable,
    with_class_weight,
    writable,
)
from tests.contract.user_interfaces import Broken, Refused

FRONTS = ("solve", "path", "estimator", "command", "path command", "sweep")

_SHARES = [0.4, 0.14, 0.18, 0.12, 0.06, 0.1]
"""How often each of them is asked."""


@dataclass
class Report:
    """What came of many questions.

    Parameters
    ----------
    asked, answered : Counter
        Questions by front.
    refused : Counter
        By front and reason.
    false : list of str
        Every claim that is not so, with what was asked.
    """

    asked: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    false: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{f}: {self.answered[f]} of {self.asked[f]} answered" for f in self.asked]
        lines += [f"  {n:5d} {front}: {why}" for (front, why), n in self.refused.most_common()]
        return "\n".join([*lines, f"{len(self.false)} false", *self.false])


def is_complete(table: Table, question: Question) -> bool:
    """Whether the oracle knows each cut that the encoding may choose.

    MDLP counts weights as rows, so what it cuts depends on the unit of fractional weights.
    """
    return question.encoding != "mdlp" or all(w.denominator == 1 for w in table.exact_weights)


def is_wider(question: Question) -> bool:
    """Whether splits may be more than the oracle's: hyperplanes and surfaces."""
    return question.options.get("rules", "axis") != "axis"


def oracle_of(table: Table, question: Question) -> Oracle:
    """The oracle of what a question asks."""
    least = question.limits.get("min_leaf_size")
    return Oracle(
        table.asked(
            question.encoding if is_complete(table, question) else "thresholds",
            k=question.encoding_options.get("k", 4),
            depth=question.limits.get("depth"),
            min_leaf=None if least is None else Fraction(str(least)),
        )
    )


def judge(
    claim: Claim, table: Table, question: Question, oracle: Oracle | None = None
) -> list[str]:
    """What of a claim is false."""
    return false_claims(
        claim, table, oracle or oracle_of(table, question), question.limits,
        complete=is_complete(table, question), wider=is_wider(question),
    )  # fmt: skip


def ask(front: str, rng: np.random.Generator, report: Report, only: str | None = None) -> None:
    """Ask one random question, and note what is false."""
    regression = front != "sweep" and rng.random() < 0.08
    table = random_table(rng, regression=regression, weighted=front != "sweep")
    text, estimates = "command" in front or front == "sweep", front == "estimator"
    if estimates:
        only = only or pick(
            rng, user_interfaces.REGRESSORS if regression else user_interfaces.CLASSIFIERS
        )
        table = with_class_weight(rng, table)
    question = random_question(
        rng, table, solver=only, text=text, whole=front == "sweep", by_rows="command" in front
    )
    if estimates:
        question = user_interfaces.for_estimator(question)
    table = readable(rng, table, question)
    report.asked[front] += 1
    with tempfile.TemporaryDirectory() if text else nullcontext("") as folder:
        ending = pick(rng, [".csv", ".parquet", ".xlsx"])
        if text:
            read = writable(table, Path(folder) / f"table{ending}")
            if read is None:
                ending = ".csv"
                read = table.write(Path(folder) / "table.csv")
            table = read
        try:
            _judge(front, table, question, Path(folder), ending, report)
        except Refused as refusal:
            report.refused[front, str(refusal)] += 1
        except InputError as error:  # of rows that the front has taken for training
            said = user_interfaces.reason(f"predict: {error}")
            if all(table.exact_weights):
                report.false.append(f"{front}: {said}\n    {_told(table, question, ending)}")
            report.refused[front, said] += 1
        except Broken as broken:
            report.false.append(f"{front}: BROKEN {broken}\n    {_told(table, question, ending)}")


def _judge(
    front: str, table: Table, question: Question, folder: Path, ending: str, report: Report
) -> None:
    oracle: Oracle | None = None

    def lazily() -> Oracle:
        nonlocal oracle
        oracle = oracle or oracle_of(table, question)
        return oracle

    before = len(report.false)
    for claim in _claims(front, table, question, folder, ending, lazily):
        found = judge(claim, table, question, lazily())
        if found and len(report.false) == before:
            told = _told(table, question, ending)
            report.false.append(f"{front}: λ {claim.lam}: {'; '.join(found)}\n    {told}")
    report.answered[front] += 1


def _claims(
    front: str,
    table: Table,
    question: Question,
    folder: Path,
    ending: str,
    oracle: Callable[[], Oracle],
) -> Iterator[Claim]:
    if front == "solve":
        return user_interfaces.ask_solve(table, question)
    if front == "command":
        return user_interfaces.ask_command(table, question, folder, ending)
    if front == "sweep":
        return _sweep(table, question, folder / f"table{ending}", oracle)
    if front == "path":
        return user_interfaces.ask_path(table, question, oracle)
    if front == "estimator":
        return user_interfaces.ask_estimator(table, question, oracle)
    return user_interfaces.ask_path_command(table, question, folder, ending, oracle)


def _sweep(
    table: Table, question: Question, path: Path, oracle: Callable[[], Oracle]
) -> Iterator[Claim]:
    asks = {"lam": "path"} if len(table.target) % 3 == 0 else {}
    plan = user_interfaces.plan_of(
        user_interfaces.sweep_text({"table": (path, table)}, [question], **asks)
    )
    for cell in plan.impossible:
        raise Refused(user_interfaces.reason(cell.reason))
    frame = read_file(path)
    for row in user_interfaces.sweep_rows(plan):
        yield from user_interfaces.claims_of_row(row, frame, oracle)


def _told(table: Table, question: Question, ending: str) -> str:
    columns = "; ".join(
        f"{c.name}{f'={c.kind}' if c.kind else ''} {d}: {list(c.values)}"
        for c, d in zip(table.columns, table.dtypes, strict=True)
    )
    return (
        f"{question} | {ending} | {columns} | target {table.target_dtype} {list(table.target)} | "
        f"weights {table.weights} {table.class_weight or ''}"
    )


def inquire(seed: int, number: int, front: str | None = None, solver: str | None = None) -> Report:
    """Ask ``number`` random questions, of a front and of a solver if they are given."""
    report = Report()
    for position in range(number):
        rng = np.random.default_rng([seed, position, FRONTS.index(front) if front else 0])
        ask(front or FRONTS[int(rng.choice(len(FRONTS), p=_SHARES))], rng, report, solver)
    return report
