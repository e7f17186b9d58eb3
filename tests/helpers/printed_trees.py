"""Printed trees read back, by the grammar in docs/guides/data.md.

It shares nothing with the exports.

A tree is read as a label, or as a list of its branches: a condition in words, and a tree. Names of
columns are known to the reader; sums are of columns whose names have none of the signs of sums.
"""

from __future__ import annotations

import ast
import datetime as dt
import html
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

from matplotlib.figure import Figure

Row: TypeAlias = Mapping[str, Any]
"""Numbers as floats, dates as seconds, what is missing as None."""

Printed: TypeAlias = "str | list[tuple[str, Printed]]"

_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?)?")
_LITERAL = re.compile(
    r"""(?:^|(?<= [=≠:+−] )|(?<=: )|(?<=[{·])|(?<=, ))"""
    r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
)
"""A quoted name, text or label, where one may begin."""
_SVG = "{http://www.w3.org/2000/svg}"


def predict(tree: Printed, row: Row) -> str:
    """The label of a row. Of the branches of a split it takes one and no other."""
    while not isinstance(tree, str):
        taken = [below for condition, below in tree if holds(condition, row)]
        assert len(taken) == 1, (tree, row)
        tree = taken[0]
    return unquoted(tree)


def holds(condition: str, row: Row) -> bool:
    """Whether a condition in words is true of a row."""
    return read_condition(condition, tuple(row))(row)


@lru_cache(maxsize=10_000)
def read_condition(condition: str, columns: tuple[str, ...]) -> Callable[[Row], bool]:
    """What a condition in words asks of a row."""
    sign = re.search(" [=≠≤>] ", _masked(condition))
    assert sign, condition
    if sign[0] in (" = ", " ≠ "):
        column, value = unquoted(condition[: sign.start()]), condition[sign.end() :]
        wanted = None if value == "missing" else unquoted(value)
        is_equal = sign[0] == " = "
        return lambda row: (_text(row[column]) == wanted) == is_equal
    takes_missing = condition.endswith(" or missing")
    condition = condition.removesuffix(" or missing")
    found = re.fullmatch("(.*) ([≤>]) (.*?)", condition, re.DOTALL)
    assert found, condition
    asked, sign, threshold = unquoted(found[1]), found[2], number(found[3])
    total = (lambda row: row[asked]) if asked in columns else read_sum(asked, columns)

    def holds(row: Row) -> bool:
        if asked in columns and row[asked] is None:
            return takes_missing
        exceeds: bool = total(row) > threshold
        return exceeds == (sign == ">")

    return holds


def unquoted(name: str) -> str:
    """A name, text or label that has signs of rules is quoted as in Python."""
    return str(ast.literal_eval(name)) if name[:1] in ("'", '"') else name


def _masked(line: str) -> str:
    """A line of the same length, in which no sign of rules is within quotes."""
    return _LITERAL.sub(lambda found: "_" * len(found[0]), line)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def number(text: str) -> float:
    """A threshold: a number, or a date in seconds since 1970 UTC."""
    found = _DATE.fullmatch(text)
    if not found:
        return float(text)
    day, hours, minutes, seconds, rest = found.groups()
    days = dt.date.fromisoformat(day).toordinal() - dt.date(1970, 1, 1).toordinal()
    whole = 86400 * days + 3600 * int(hours or 0) + 60 * int(minutes or 0) + int(seconds or 0)
    return float(whole + Fraction(f"0.{rest or 0}"))


def read_sum(text: str, columns: tuple[str, ...]) -> Callable[[Row], float]:
    """A sum: from left to right, each product from left to right, a² as a·a."""
    terms = [
        (sign.strip() == "−", [f for factor in term.split("·") for f in _factors(factor, columns)])
        for sign, term in re.findall(r"(?:^|(?<= ))([+−] ?)?([^ −+].*?)(?= [+−] |$)", text)
    ]

    def total(row: Row) -> float:
        result = 0.0
        for is_minus, factors in terms:
            product: float | None = None
            for factor in factors:
                value = row[factor] if isinstance(factor, str) else factor
                product = value if product is None else product * value
            assert product is not None
            result = result - product if is_minus else result + product
        return result

    return total


def _factors(text: str, columns: tuple[str, ...]) -> list[str | float]:
    """Names of columns, and numbers."""
    base = text.rstrip("⁰¹²³⁴⁵⁶⁷⁸⁹")
    if text in columns or base not in columns:
        return [text if text in columns else float(text)]
    return [base] * int(text[len(base) :].translate(_SUPERSCRIPT))


def read_text(text: str) -> Printed:
    """What ``export_text`` writes."""
    lines: list[tuple[int, str]] = []
    for line in text.split("\n"):
        depth = 0
        while line.startswith("|   "):
            depth, line = depth + 1, line.removeprefix("|   ")
        if line.startswith("    "):  # the sum of the line above goes on
            lines[-1] = lines[-1][0], f"{lines[-1][1]} {line.strip()}"
        else:
            lines.append((depth, line))
    if len(lines) == 1 and ": " not in _masked(lines[0][1]):
        return lines[0][1].rpartition(" (")[0]

    def read(start: int, end: int) -> Printed:
        depth = lines[start][0]
        own = [i for i in range(start, end) if lines[i][0] == depth] + [end]
        branches: list[tuple[str, Printed]] = []
        for first, last in pairwise(own):
            words = lines[first][1]
            if last > first + 1:
                branches.append((words, read(first + 1, last)))
            else:
                end = _masked(words).index(": ")
                branches.append((words[:end], words[end + 2 :].rpartition(" (")[0]))
        return branches

    return read(0, len(lines))


def read_dot(dot: str) -> Printed:
    """What ``export_dot`` writes, as Graphviz shows it: it reads HTML entities in labels."""
    dot = html.unescape(dot)
    labels = {
        int(node): json.loads(f'"{label}"')
        for node, label in re.findall(r'n(\d+) \[label="((?:[^"\\]|\\.)*)", fill', dot)
    }
    edges: dict[int, list[tuple[str, int]]] = {}
    for node, child, label in re.findall(r'n(\d+) -> n(\d+) \[label="((?:[^"\\]|\\.)*)"\]', dot):
        edges.setdefault(int(node), []).append((json.loads(f'"{label}"'), int(child)))

    def read(node: int) -> Printed:
        if node not in edges:
            return str(labels[node]).split("\n")[0]
        asked = joined(labels[node].split("\n"))
        return [(f"{asked} {answer}", read(child)) for answer, child in edges[node]]

    return read(0)


def joined(lines: list[str]) -> str:
    """A sum that is broken into lines: within a product there is no space."""
    return re.sub("·\n", "·", "\n".join(lines)).replace("\n", " ")


def read_svg(svg: str) -> tuple[Printed, Printed | None]:
    """What ``export_svg`` writes: by the tooltips, and as it is seen; None where it is cut."""
    boxes = []
    for group in ET.fromstring(svg).iter(f"{_SVG}g"):
        tooltip = group.findtext(f"{_SVG}title") or ""
        texts = list(group.iter(f"{_SVG}text"))
        title = [t.text or "" for t in texts if t.get("text-anchor") == "middle"]
        answer = [t.text or "" for t in texts if t.get("text-anchor") == "end"]
        boxes.append((tooltip, title, answer[0] if answer else ""))
    is_split = [": asks " in tip or tip.startswith("asks ") for tip, _, _ in boxes]
    told = [re.split(r"(?:^|: )(?:asks|predicts) ", tip, maxsplit=1) for tip, _, _ in boxes]
    by_tooltip = _in_preorder(
        is_split, [tip[1].rpartition(" (")[0] for tip in told], lambda i, _: told[i][0]
    )
    seen = _in_preorder(
        is_split,
        [joined(title) for _, title, _ in boxes],
        lambda i, asked: f"{asked} {boxes[i][2]}",
    )
    is_cut = any("…" in "".join([*title, answer]) for _, title, answer in boxes)
    return by_tooltip, None if is_cut else seen


def read_figure(figure: Figure) -> Printed | None:
    """What ``plot_tree`` draws; None where a text is cut."""
    titles, answers, is_split = [], [], []
    for text in figure.axes[0].texts:
        if text.get_ha() == "center":
            titles.append(joined(text.get_text().split("\n")))
            answers.append("")
            is_split.append(True)
        elif text.get_ha() == "right":
            answers[-1] = text.get_text()
        else:
            is_split[-1] = False  # the number of rows stands behind a leaf
    if any("…" in text for text in (*titles, *answers)):
        return None
    return _in_preorder(is_split, titles, lambda i, asked: f"{asked} {answers[i]}")


def _in_preorder(
    is_split: list[bool], words: list[str], condition: Callable[[int, str], str]
) -> Printed:
    """A tree of binary splits from its nodes; ``condition`` is what leads to a node, from its
    number and what its parent asks."""
    place = -1

    def read() -> Printed:
        nonlocal place
        place += 1
        own = place
        if not is_split[own]:
            return words[own]
        branches: list[tuple[str, Printed]] = []
        for _ in range(2):
            child = place + 1
            below = read()
            branches.append((condition(child, words[own]), below))
        return branches

    return read()


def read_dict(data: dict[str, Any]) -> Callable[[Row], Any]:
    """What ``to_dict`` gives, as docs/reference/store.md says: from a row to its label."""
    data = json.loads(json.dumps(data))

    def label(row: Row) -> Any:
        node = data["nodes"][0]
        while "test" in node:
            node = data["nodes"][node["children"][_branch(node["test"], row)]]
        return data["classes"][node["prediction"]]

    return label


def _branch(test: dict[str, Any], row: Row) -> int:
    if test["kind"] == "category":
        value = row[test["column"]]
        groups = [i for i, group in enumerate(test["groups"]) if value in group]
        return int(groups[0] if groups else test["rest"])
    columns = test.get("columns") or [test["column"]]
    if any(row[column] is None for column in columns):
        return int(test["missing"])
    if test["kind"] == "threshold":
        return int(row[test["column"]] > test["threshold"])
    total = 0.0
    for weight, powers in zip(test["weights"], test["powers"], strict=True):
        term = weight
        for column, power in zip(columns, powers, strict=True):
            for _ in range(power):
                term *= row[column]
        total += term
    return int(total > test["threshold"])
