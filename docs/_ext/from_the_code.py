"""Directives that write the tables of the reference from the code."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpydoc.docscrape
import pyarrow as pa
from docutils import nodes
from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

import treesweep
from sweep.rows import schema


class Generated(SphinxDirective):
    """A directive whose Markdown comes from the code."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(self.lines()), allow_section_headings=True)

    def lines(self) -> Iterator[str]:
        raise NotImplementedError


class StoreColumns(Generated):
    """The columns of a stored row."""

    def lines(self) -> Iterator[str]:
        yield from ("| column | type | meaning |", "|---|---|---|")
        for column in schema.COLUMNS:
            yield f"| `{column.name}` | {arrow_type(column.type)} | {column.meaning} |"


def arrow_type(kind: pa.DataType) -> str:
    """An Arrow type in a few words."""
    if pa.types.is_list(kind):
        return f"list of {arrow_type(kind.value_type)}"
    if pa.types.is_struct(kind):
        return "struct"
    return str(kind).replace("[us, tz=UTC]", " (µs, UTC)").replace("double", "float64")


class YamlKeys(Generated):
    """The keys of a model of YAML: ``yaml-keys:: package.module.Model``."""

    required_arguments = 1
    optional_arguments = 0

    def lines(self) -> Iterator[str]:
        module, _, name = self.arguments[0].rpartition(".")
        yield from keys_of(getattr(import_module(module), name))


def keys_of(model: type[BaseModel]) -> Iterator[str]:
    """The table of a model's keys."""
    told = meanings(model)
    yield from ("| key | value | default | meaning |", "|---|---|---|---|")
    for name, field in model.model_fields.items():
        hidden = isinstance(field.default, BaseModel)
        default = "needed" if field.is_required() else "" if hidden else shown(field)
        values = kind_of(field.annotation, model).replace("|", r"\|") + limits(field.metadata)
        yield f"| `{field.alias or name}` | {values} | {default} | {told.get(name, '')} |"


def shown(field: Any) -> str:
    """The default of a field, as YAML writes it."""
    value = field.get_default(call_default_factory=True)
    if value is None or value == [] or value == {} or value == "":
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def kind_of(kind: Any, model: type[BaseModel]) -> str:
    """The type of a field in the words of YAML."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return kind_of(inside[0], model)
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in inside)
    if origin in (typing.Union, types.UnionType):
        found = dict.fromkeys(kind_of(one, model) for one in inside if one is not type(None))
        return " or ".join(found)
    if origin is list:
        return f"list of {kind_of(inside[0], model)}"
    if origin is dict:
        return "mapping"
    if inspect.isclass(kind) and issubclass(kind, BaseModel):
        return f"[{entry_words(kind)}](#{kind.__name__.lower()})"
    words = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    return words.get(kind, "path" if getattr(kind, "__name__", "") == "Path" else "value")


ENTRIES = {
    "OneLambda": "a λ",
    "LambdaGrid": "grid",
    "PerRow": "multiples of 1/n",
    "NoValidation": "none",
    "KFold": "kfold",
}
"""What the pages call some entries."""


def entry_words(kind: type[BaseModel]) -> str:
    """``SolverEntry``: solver entry."""
    if kind.__name__ in ENTRIES:
        return ENTRIES[kind.__name__]
    words = re.findall(r"[A-Z][a-z]*", kind.__name__)
    return " ".join(words).lower()


def limits(metadata: list[Any]) -> str:
    """What pydantic checks: ``ge``, ``le``, ``gt``, ``lt``."""
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    found = [
        f"{sign} {getattr(one, name)}"
        for one in metadata
        for name, sign in signs.items()
        if getattr(one, name, None) is not None
    ]
    return f", {' and '.join(found)}" if found else ""


def meanings(model: type[BaseModel]) -> dict[str, str]:
    """What the code says of each field: numpydoc's Parameters, or ``#:`` and text at the field."""
    found: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        if not (issubclass(kind, BaseModel) and kind.__module__.startswith("sweep.")):
            continue
        for (owner, name), lines in (
            ModuleAnalyzer.for_module(kind.__module__).find_attr_docs().items()
        ):
            if owner == kind.__name__:
                found[name] = as_cell(lines)
        for entry in numpydoc.docscrape.NumpyDocString(inspect.getdoc(kind) or "")["Parameters"]:
            found[entry.name] = as_cell(entry.desc)
    return found


def as_cell(lines: list[str]) -> str:
    """Text of a docstring in a cell of a Markdown table."""
    text = " ".join(line.strip() for line in lines).strip()
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return re.sub(r"``(.+?)``", r"`\1`", text).replace("|", r"\|")


class CodeNames(Generated):
    """The names in a tuple: ``code-names:: package.module.NAMES``."""

    required_arguments = 1
    optional_arguments = 0

    def lines(self) -> Iterator[str]:
        module, _, name = self.arguments[0].rpartition(".")
        yield ", ".join(f"`{entry}`" for entry in getattr(import_module(module), name)) + "."


class SolverOptions(Generated):
    """A section for each solver: what it takes, and its options."""

    def lines(self) -> Iterator[str]:
        for name, kind in treesweep.SOLVERS.items():
            if not kind.__module__.startswith("solver."):
                continue  # examples of the gallery have registered solvers in this process
            missing = kind.version == "not installed"
            version = (
                "Not installed where this page was made" if missing else f"Version {kind.version}"
            )
            yield from ("", f"### `{name}`", "", as_sentence(kind.summary), "")
            yield from (f"{version}. {accepts(kind.capabilities)}", "")
            if kind.options:
                yield from ("| option | default | meaning |", "|---|---|---|")
                for key, option in kind.options.items():
                    yield f"| `{key}` | {cell(option.default)} | {as_cell([option.doc])} |"


class EncodingOptions(Generated):
    """The table of encodings, and that of their options."""

    def lines(self) -> Iterator[str]:
        yield from ("| encoding | features | what it is |", "|---|---|---|")
        for name, kind in treesweep.ENCODINGS.items():
            yield f"| `{name}` | {kind.feature_kind} | {as_cell([kind.summary])} |"
        yield from ("", "| option | default | meaning |", "|---|---|---|")
        for name, kind in treesweep.ENCODINGS.items():
            for key, option in kind.options.items():
                yield f"| `{key}` of `{name}` | `{option.default}` | {as_cell([option.doc])} |"


def as_sentence(text: str) -> str:
    """With a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def accepts(able: Any) -> str:
    """What a solver can take, and what it proves."""
    limits = [f"{n} (needed)" if n in able.needs else n for n in sorted(able.limits)]
    return (
        f"Features: {', '.join(sorted(able.features))}. Tasks: {', '.join(sorted(able.tasks))}. "
        f"Limits on the tree: {', '.join(limits) or 'none'}. "
        f"It {'proves its optimum' if able.proves else 'proves nothing'}."
    )


def cell(value: Any) -> str:
    """A default as YAML writes it."""
    if value is None:
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def data_docs(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Give ``treesweep.SOLVERS`` the text that stands where it is assigned, not its type's."""
    origin = DATA.get(name)
    if origin:
        module, _, attribute = origin.rpartition(".")
        lines[:] = ModuleAnalyzer.for_module(module).find_attr_docs()[("", attribute)]


def skip_inside(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out how the driver opens and keeps a cluster: users only describe one."""
    call = obj.fget if isinstance(obj, property) else obj
    inside = str(getattr(call, "__module__", "")).startswith("sweep.clusters.")
    return True if name == "is_here" or (inside and name not in CLUSTER_CALLS) else None


CLUSTER_CALLS = ("dry_run", "most_workers")

DATA = {
    "treesweep.SOLVERS": "solver.catalogue.SOLVERS",
    "treesweep.ENCODINGS": "solver.encodings.ENCODINGS",
}


def setup(app: Sphinx) -> dict[str, Any]:
    """What Sphinx calls."""
    app.add_directive("store-columns", StoreColumns)
    app.add_directive("yaml-keys", YamlKeys)
    app.add_directive("code-names", CodeNames)
    app.add_directive("solver-options", SolverOptions)
    app.add_directive("encoding-options", EncodingOptions)
    app.connect("autodoc-process-docstring", data_docs, priority=100)
    app.connect("autodoc-skip-member", skip_inside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
