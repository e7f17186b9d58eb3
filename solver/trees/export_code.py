"""Trees as programs that need no treesweep: a Python function, or an expression in SQL."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
import pandas as pd

from solver.errors import InputError
from solver.features.category_values import MOMENT, Category, kind_of
from solver.features.columns import ColumnSpec
from solver.features.node_tests import CategoryTest, NodeTest, ThresholdTest
from solver.features.number_format import moment_in_full
from solver.features.oblique_tests import SurfaceTest
from solver.trees.tree import Node, Tree
from solver.trees.tree_view import TreeSource, tree_of

_HELPERS = {
    "_among": '''
def _among(value, options):
    """Whether a value is one of the options. True is not 1."""
    return any(o == value and isinstance(o, bool) == isinstance(value, bool) for o in options)
''',
    "_number": '''
def _number(value, *missing):
    """A number as a float; NaN if it is missing."""
    return math.nan if value is None or _among(value, missing) else float(value)
''',
    "_seconds": '''
def _seconds(value, *missing, moments=()):
    """A date, or its text as ISO 8601 has it, in seconds since 1970 UTC; NaN if it is missing."""
    if value is None or value != value or _among(value, missing):
        return math.nan
    moment = value if isinstance(value, dt.date) else dt.datetime.fromisoformat(value)
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime(moment.year, moment.month, moment.day)
    if not moment.tzinfo:
        moment = moment.replace(tzinfo=dt.timezone.utc)
    return math.nan if moment.timestamp() in moments else moment.timestamp()
''',
    "_category": '''
def _category(value, *missing):
    """A category; None if it is missing."""
    return None if value is None or value != value or _among(value, missing) else value
''',
    "_date": '''
def _date(value, *missing):
    """A date as the text of a category, without midnight; None if it is missing."""
    plain = value.removesuffix(" 00:00:00") if isinstance(value, str) else value
    return None if plain is None or plain != plain or _among(plain, missing) else plain
''',
}
_TAKEN = (*_HELPERS, "math", "dt", "any", "bool", "float", "isinstance", "str")
"""Names that the module uses."""
_NEEDS = {"_number": "_among", "_seconds": "_among", "_category": "_among", "_date": "_among"}


class _Language(Protocol):
    """How a language writes conditions and results."""

    def condition(self, test: NodeTest, branch: int) -> str:
        """Whether a row takes a branch of a test. A test of two branches without a rest excepted,
        that may also be said of the branch of missing and unseen values."""
        ...

    def result(self, node: Node) -> str:
        """What is predicted for the rows of a node."""
        ...


@dataclass(frozen=True)
class _Chain:
    """The first case whose condition holds has the result; if none holds, ``last`` is it."""

    cases: list[tuple[str, _Chain]]
    last: str


def _chain(tree: Tree, position: int, sizes: Sequence[int], language: _Language) -> _Chain:
    """The rules of a subtree.

    The largest child of a split follows it in the same chain, so chains are nested no deeper than
    the logarithm of the tree's size: a tree can be a chain of thousands.
    """
    cases = []
    while (feature := tree.nodes[position].feature) is not None:
        node, test = tree.nodes[position], tree.tests[feature]
        last = _last_branch(test, [sizes[child] for child in node.children])
        for branch, child in enumerate(node.children):
            if branch != last:
                below = _chain(tree, child, sizes, language)
                cases.append((language.condition(test, branch), below))
        if last is None:  # an unseen value stops at the split
            break
        position = node.children[last]
    return _Chain(cases, language.result(tree.nodes[position]))


def _last_branch(test: NodeTest, sizes: Sequence[int]) -> int | None:
    """The branch that is taken if the conditions of the others do not hold."""
    if isinstance(test, CategoryTest) and (test.rest is None or test.arity != 2):
        return test.rest
    return int(np.argmax(sizes))


def _group(test: CategoryTest, branch: int) -> tuple[bool, tuple[Category, ...]]:
    """How a branch is asked for: whether a value is in a group, or is not.

    A value in no group takes the branch ``rest``: it is taken where the only other one is not.
    """
    is_in = branch != test.rest
    return is_in, test.groups[branch if is_in else 1 - branch]


def _sum(test: SurfaceTest, names: Sequence[str]) -> str:
    """The sum of a surface in the order in which the test adds it up: floats are rounded."""
    terms = []
    for weight, powers in zip(test.weights, test.powers, strict=True):
        factors = (name for name, p in zip(names, powers, strict=True) for _ in range(p))
        terms.append(" * ".join([repr(weight), *factors]))
    return " + ".join(terms) or "0.0"


def _sizes(tree: Tree) -> list[int]:
    """The number of nodes below each node, itself included."""
    sizes = [1] * len(tree.nodes)
    for position in reversed(range(len(tree.nodes))):
        sizes[position] += sum(sizes[child] for child in tree.nodes[position].children)
    return sizes


# Python


def export_python(tree: TreeSource, *, name: str = "predict") -> str:
    """The tree as a Python function that needs the standard library only.

    The function takes a row as a dict from column names to values, and predicts what
    :meth:`Tree.predict` does, also for missing values (None, NaN) and categories that training has
    not seen. Values have the types that its docstring names; text is not read as numbers. Give a
    float of 32 bits as its shortest decimal, as the tree reads it: 0.1 and not 0.10000000149. Dates
    are read to the microsecond.

    Parameters
    ----------
    tree : Tree, Solution, Step or fitted estimator
    name : str
        The function's name.

    Returns
    -------
    str
        The source of a module.

    Raises
    ------
    InputError
        If ``name`` is not a valid name of a function.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> source = export_python(problem.grow((0, (-1, (1, (-1, -1))))))
    >>> module = {}
    >>> exec(source, module)
    >>> module["predict"]({"x0": 1, "x1": 1})
    1
    """
    if not name.isidentifier() or keyword.iskeyword(name) or name in _TAKEN:
        raise InputError(f"{name!r} is no name of a function", "write e.g. name='predict'")
    model = tree_of(tree)
    columns = {c: model.columns[c] for test in _tests(model) for c in test.columns}
    language = _Python(model, _variables(columns))
    chain = _chain(model, 0, _sizes(model), language)
    body = [f'    {v} = {_read(columns[c])}(row[{c!r}]{_marks(columns[c])})'
            for c, v in language.variables.items()]  # fmt: skip
    body += _python_lines(chain, "    ")
    used = {helper for helper in _HELPERS if any(f"{helper}(" in line for line in body)}
    used |= {_NEEDS[helper] for helper in used if helper in _NEEDS}
    imports = [line for word, line in (("dt.", "import datetime as dt"), ("math.", "import math"))
               if any(word in _HELPERS[helper] for helper in used)]  # fmt: skip
    head = [*imports, *([""] if imports else [])]
    helpers = [text.strip("\n") + "\n\n" for key, text in _HELPERS.items() if key in used]
    return "\n".join([*head, *_separated(helpers), *_signature(model, name, columns), *body]) + "\n"


def _separated(helpers: Iterable[str]) -> list[str]:
    return [line for helper in helpers for line in ("", helper.rstrip("\n"), "")]


def _signature(tree: Tree, name: str, columns: Mapping[str, ColumnSpec]) -> list[str]:
    targets = ", ".join(map(repr, tree.outputs or (tree.target,)))
    lines = ["", f"def {name}(row):", f'    """Predict {_inside(targets)} from a dict.']
    if columns:
        lines += ["", "    It needs:"]
    lines += [f"      {_inside(repr(c))}: {_asked(spec)}" for c, spec in columns.items()]
    return [*lines, '    """']


def _inside(text: str) -> str:
    """A text within a docstring."""
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def _asked(spec: ColumnSpec) -> str:
    """What a column must hold."""
    if spec.kind == "category":
        kinds = {
            "text": "text", "number": "a number", "boolean": "True or False",
            "date": "a date as text, '2020-01-31' or '2020-01-31 12:30:00'",
        }  # fmt: skip
        return kinds.get(
            spec.values, "a number, a boolean, or text that writes neither: 1, not '1'"
        )
    asked = "a number" if spec.kind == "number" else "a date, or its text as ISO 8601 has it"
    return f"{asked} (the table wrote it {spec.form.describe()})" if spec.form else asked


def _read(spec: ColumnSpec) -> str:
    if spec.kind == "category":
        return "_date" if spec.values == "date" else "_category"
    return "_number" if spec.kind == "number" else "_seconds"


def _marks(spec: ColumnSpec) -> str:
    """What stands for a missing value, as arguments of the function that reads the column."""
    marks = "".join(f", {mark!r}" for mark in spec.marks)
    if spec.kind == "date" and (moments := _moments(spec)):
        marks += f", moments={tuple(map(_in_seconds, moments))!r}"
    return marks


def _moments(spec: ColumnSpec) -> list[str]:
    """The moments that stand for a missing date."""
    return [mark for mark in spec.marks if isinstance(mark, str) and MOMENT.fullmatch(mark)]


@cache
def _in_seconds(moment: str) -> float:
    return float(ColumnSpec("date").read(pd.Series([moment]))[0])


def _tests(tree: Tree) -> list[NodeTest]:
    """The tests that the tree asks, each once."""
    asked = dict.fromkeys(node.feature for node in tree.nodes if node.feature is not None)
    return [tree.tests[feature] for feature in asked]


def _variables(columns: Iterable[str]) -> dict[str, str]:
    """A variable for each column; like its name, if that can be."""
    found: dict[str, str] = {}
    for column in columns:
        plain = re.sub(r"\W", "_", unicodedata.normalize("NFKC", column))
        if not plain.isidentifier() or keyword.iskeyword(plain) or plain.startswith("_"):
            plain = f"x_{plain}".replace("__", "_")
        if not plain.isidentifier() or plain in (*found.values(), "row", "math", "dt", "float"):
            plain = f"x{len(found)}"
        while plain in found.values():
            plain += "_"
        found[column] = plain
    return found


class _Python:
    def __init__(self, tree: Tree, variables: Mapping[str, str]) -> None:
        self.tree, self.variables = tree, variables

    def condition(self, test: NodeTest, branch: int) -> str:
        if isinstance(test, CategoryTest):
            return self._belongs(test, branch)
        missing = int(test.missing)
        if isinstance(test, ThresholdTest):
            # Comparisons with NaN are false.
            sign = "<=" if missing else ">"
            asked = f"{self.variables[test.column]} {sign} {test.threshold!r}"
            return asked if branch != missing else f"not {asked}"
        names = [self.variables[column] for column in test.columns]
        has_all = " and ".join(f"{name} == {name}" for name in names)
        above = f"{_sum(test, names)} > {test.threshold!r}"
        asked = f"{has_all} and {above if not missing else f'not {above}'}"
        return asked if branch != missing else f"not ({asked})"

    def _belongs(self, test: CategoryTest, branch: int) -> str:
        name = self.variables[test.column]
        is_in, group = _group(test, branch)
        if self.tree.columns[test.column].kind != "category":  # a float, NaN if it is missing
            if group == (None,):
                return f"{name} {'!=' if is_in else '=='} {name}"
            name = f"_category({name})"
        options = ", ".join(map(repr, group)) + ("," if len(group) == 1 else "")
        if self.tree.columns[test.column].values not in ("text", "number", "boolean", "date"):
            return f"{'' if is_in else 'not '}_among({name}, ({options}))"
        if len(group) == 1 and group[0] is not None:
            return f"{name} {'==' if is_in else '!='} {group[0]!r}"
        return f"{name} {'in' if is_in else 'not in'} ({options})"

    def result(self, node: Node) -> str:
        if not self.tree.outputs:
            return repr(self.tree.classes[node.prediction])
        value = tuple(map(float, node.value))
        return repr(value[0] if len(value) == 1 else value)


def _python_lines(chain: _Chain, indent: str) -> list[str]:
    lines = []
    for condition, below in chain.cases:
        lines.append(f"{indent}if {condition}:")
        lines += _python_lines(below, indent + "    ")
    return [*lines, f"{indent}return {chain.last}"]


# SQL


def export_sql(tree: TreeSource, *, indent: str = "") -> str:
    """The tree as one ``CASE`` expression of standard SQL, for ``SELECT … FROM table``.

    Missing values are NULL. Columns have the type that the tree was trained on: numbers, text,
    booleans, and dates in UTC as timestamps or as text ``YYYY-MM-DD hh:mm:ss``; dates that are
    categories may also be of type date, or text ``YYYY-MM-DD``. The prediction of a database may
    differ in five cases: if it ignores case or trailing spaces when it compares text, if it takes
    empty text for NULL, if it compares numbers with fewer than 64 bits, if a product or a sum of
    several columns overflows or underflows (an error in PostgreSQL), or if it takes ``TRUE`` for a
    column of this name (SQLite) that the tree does not read.

    Parameters
    ----------
    tree : Tree, Solution, Step or fitted estimator
    indent : str
        What each line begins with.

    Raises
    ------
    InputError
        If the tree predicts several numbers, tests values of several types in one column, or
        calculates with dates.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> print(export_sql(problem.grow((0, (-1, (1, (-1, -1)))))))
    CASE
      WHEN "x0" = 0 THEN 0
      WHEN "x0" = 1 THEN CASE
        WHEN "x1" = 0 THEN 0
        WHEN "x1" = 1 THEN 1
        ELSE 0
      END
      ELSE 0
    END
    """
    model = tree_of(tree)
    if len(model.outputs) > 1:
        raise InputError(
            "an expression of SQL has one value, and this tree predicts several: "
            + ", ".join(model.outputs),
            "use the format python, or grow a tree for each of them",
        )
    chain = _chain(model, 0, _sizes(model), _Sql(model))
    return "\n".join(indent + line for line in _sql_lines(chain))


class _Sql:
    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        # SQLite takes TRUE for a column of this name, if there is one.
        self._has_words = not {"true", "false"} & {name.lower() for name in tree.columns}

    def condition(self, test: NodeTest, branch: int) -> str:
        if isinstance(test, CategoryTest):
            return self._belongs(test, branch)
        if isinstance(test, SurfaceTest):
            left = self._sum(test)
        else:
            left = self._column(test.column)
        right = _number_or_moment(test)
        asked = f"{left} {'>' if branch else '<='} {right}"
        if branch != test.missing:  # then a condition on NULL does not hold
            present = [f" AND {self._column(c)} IS NOT NULL" for c in _unused(test)]
            return f"({asked}{''.join(present)})" if present else asked
        gone = " OR ".join(f"{self._column(column)} IS NULL" for column in test.columns)
        return f"({asked} OR {gone})"

    def _sum(self, test: SurfaceTest) -> str:
        dates = [c for c in test.columns if self.tree.columns[c].kind == "date"]
        if dates:
            raise InputError(
                f"the tree adds column {dates[0]!r} to others in seconds, and databases have no "
                "common way to turn a date into a number",
                "use the format python",
            )
        return _sum(test, [f"CAST({self._column(c)} AS DOUBLE PRECISION)" for c in test.columns])

    def _belongs(self, test: CategoryTest, branch: int) -> str:
        column = self._column(test.column)
        is_in, group = _group(test, branch)
        spec = self.tree.columns[test.column]
        values = [
            said for value in group if value is not None for said in self._literals(value, spec)
        ]
        kinds = {kind_of(value) for value in group if value is not None}
        if len(kinds) > 1 or spec.values == "mixed":
            raise InputError(
                f"the tree asks column {test.column!r} for values of several types, which SQL does "
                "not compare",
                "use the format python",
            )
        has_null = None in group
        if not group:
            return "1 = 0" if is_in else "1 = 1"
        if not values:
            return f"{column} IS {'' if is_in else 'NOT '}NULL"
        if len(values) == 1:
            asked = f"{column} {'=' if is_in else '<>'} {values[0]}"
        else:
            asked = f"{column} {'' if is_in else 'NOT '}IN ({', '.join(values)})"
        return f"({asked} OR {column} IS NULL)" if has_null == is_in else asked

    def _column(self, name: str) -> str:
        """The column, NULL where a value means missing."""
        spec, shown = self.tree.columns[name], _quoted(name)
        of_kind = (mark for mark in spec.marks if kind_of(mark) == _sql_kind(spec))
        marks = [said for mark in of_kind for said in self._literals(mark, spec)]
        if spec.kind == "date":
            marks = [_moment(_in_seconds(mark)) for mark in _moments(spec)]
        for mark in dict.fromkeys(marks):
            shown = f"NULLIF({shown}, {mark})"
        return shown

    def result(self, node: Node) -> str:
        if self.tree.outputs:
            return repr(float(node.value[0]))
        return self._literal(self.tree.classes[node.prediction])

    def _literal(self, value: Category) -> str:
        if isinstance(value, bool) and not self._has_words:
            return "(1 = 1)" if value else "(1 = 0)"
        return _literal(value)

    def _literals(self, value: Category, spec: ColumnSpec) -> list[str]:
        """How a database may write a value of a column of categories: a day also as its
        midnight."""
        said = [self._literal(value)]
        is_day = isinstance(value, str) and len(value) == 10 and MOMENT.fullmatch(value)
        if is_day and spec.kind == "category" and spec.values == "date":
            said.append(self._literal(f"{value} 00:00:00"))
        return said


def _unused(test: NodeTest) -> list[str]:
    """Columns that a test needs and does not calculate with: they have power 0 in all terms."""
    if not isinstance(test, SurfaceTest):
        return []
    powers = zip(test.columns, zip(*test.powers, strict=True), strict=True)
    return [column for column, of_terms in powers if not any(of_terms)]


def _number_or_moment(test: ThresholdTest | SurfaceTest) -> str:
    if isinstance(test, SurfaceTest) or test.unit != "date":
        return repr(test.threshold)
    return _moment(test.threshold)


def _moment(seconds: float) -> str:
    text = moment_in_full(seconds).replace("T", " ")
    return _literal(text if " " in text else f"{text} 00:00:00")


def _sql_kind(spec: ColumnSpec) -> str:
    """What the values of a column are in a database, as :func:`kind_of` says it."""
    if spec.kind == "category" and spec.values in ("text", "date"):
        return "text"
    return "booleans" if spec.values == "boolean" else "numbers"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: Category) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).upper() if isinstance(value, bool) else repr(value)


def _sql_lines(chain: _Chain) -> list[str]:
    if not chain.cases:
        return [chain.last]
    lines = ["CASE"]
    for condition, below in chain.cases:
        first, *rest = _sql_lines(below)
        lines += [f"  WHEN {condition} THEN {first}", *(f"  {line}" for line in rest)]
    return [*lines, f"  ELSE {chain.last}", "END"]
