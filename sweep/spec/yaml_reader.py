"""Read and write YAML. Every error names the file, the line and the key.

This is a safer YAML: only ``true`` and ``false`` are booleans (``no`` is a word), ``1e-3`` is a
number, ``12:30`` and dates are text, and duplicate keys are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from solver.errors import InputError, unknown_name
from solver.features.unicode_check import check_storable
from sweep.spec.hints_as_yaml import in_yaml

_MOST_NODES = 1_000_000
_TOO_LARGE = "the file is too large or nested too deep"

Location = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """Knows only the scalars of this project."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  the base class has it as an attribute of itself


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^[-+]?[0-9]+$"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)


class _Dumper(yaml.SafeDumper):
    """Quotes what :class:`_Loader` would not read as text."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers

    def ignore_aliases(self, data: Any) -> bool:
        """Write a value again where it is used again."""
        return True


def write_yaml(data: Any) -> str:
    """Plain data as text from which :func:`parse_yaml` reads the same."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


@dataclass(frozen=True)
class YamlFile:
    """The content of a file, and the line (from 1) of each location in it."""

    path: Path
    data: Any
    lines: Mapping[Location, int]

    def in_words(self, message: str) -> str:
        """A message with remedies as this file has them."""
        return in_yaml(message)

    def error(self, location: Location, message: str) -> InputError:
        """An error at a location, or at its nearest parent that is in the file."""
        where = location
        while where and where not in self.lines:
            where = where[:-1]
        line = self.lines.get(where, 1)
        key = _key(where)
        return InputError(f"{self.path}, line {line}: {key + ': ' if key else ''}{message}")


def read_yaml(path: str | Path) -> YamlFile:
    """Read a file. Raises InputError if it is missing, empty, not YAML, or has duplicate keys."""
    path = Path(path)
    check_storable(str(path), "the file name")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file in UTF-8") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    return parse_yaml(text, path)


def parse_yaml(text: str, path: Path) -> YamlFile:
    """Read text; messages call it ``path``. Raises as :func:`read_yaml`."""
    sizes: dict[int, int] = {}
    try:
        root = yaml.compose(text, Loader=_Loader)
        too_large = root is not None and _size(root, sizes) > _MOST_NODES
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"{path}{line}: this is not valid YAML: {problem}") from None
    except RecursionError:
        raise InputError(f"{path}: the file is nested too deep") from None
    if root is None:
        raise InputError(f"{path} is empty")
    if too_large:
        first = _first_beyond(root, sizes).start_mark.line + 1
        raise InputError(f"{path}, line {first}: {_TOO_LARGE}")
    lines: dict[Location, int] = {}
    data = _build(root, (), lines, path)
    return YamlFile(path, data, lines)


def _size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """How many nodes it has once every alias is replaced by what it stands for, if not too many.

    A node that holds itself has no end, and is found too deep when it is built.
    """
    if id(node) not in sizes:
        sizes[id(node)] = 1
        size = 1 + sum(_size(child, sizes) for child in _children(node))
        sizes[id(node)] = min(size, _MOST_NODES + 1)
    return sizes[id(node)]


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [value for _, value in node.value]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _first_beyond(node: yaml.Node, sizes: dict[int, int]) -> yaml.Node:
    """The first node, in reading order, that is one too many."""
    left = _MOST_NODES
    while left > 0:
        left -= 1
        for child in _children(node):
            if sizes[id(child)] > left:
                node = child
                break
            left -= sizes[id(child)]
    return node


def _build(node: yaml.Node, location: Location, lines: dict[Location, int], path: Path) -> Any:
    line = node.start_mark.line + 1
    lines.setdefault(location, line)
    if len(lines) > _MOST_NODES or len(location) > 50:
        raise InputError(f"{path}, line {line}: {_TOO_LARGE}")
    plain = f"tag:yaml.org,2002:{'seq' if isinstance(node, yaml.SequenceNode) else 'map'}"
    if isinstance(node, yaml.CollectionNode) and node.tag != plain:
        raise InputError(f"{path}, line {line}: the tag {node.tag} is not known here; leave it out")
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, (*location, i), lines, path) for i, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key_node, value in node.value:
            at = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise InputError(f"{path}, line {at}: a key must be a word")
            key = _text(key_node.value, path, at)
            if key in result:
                raise InputError(
                    f"{path}, line {at}: the key {key!r} is duplicated (first on line "
                    f"{lines[(*location, key)]}); remove one of the two"
                )
            lines[(*location, key)] = at
            result[key] = _build(value, (*location, key), lines, path)
        return result
    return _scalar(node, path, line)


def _scalar(node: yaml.Node, path: Path, line: int) -> Any:
    kind = node.tag.removeprefix("tag:yaml.org,2002:")
    if kind == "str":
        return _text(node.value, path, line)
    if kind == "null":
        return None
    if kind == "bool":
        return node.value.lower() == "true"
    try:
        if kind == "int":
            return int(node.value)
        if kind == "float":
            return _number(node.value)
    except ValueError:
        pass
    raise InputError(f"{path}, line {line}: cannot read {node.value!r} with the tag {node.tag}")


class Unrounded(float):
    """The nearest float of a number that is not a float, with its text, see :func:`validate`."""

    text: str

    def __repr__(self) -> str:
        return self.text


def _number(text: str) -> float:
    value = float(text)
    with suppress(InvalidOperation):  # the exponent may be too large for a Decimal
        if Decimal(text) == Decimal(repr(value)) or math.isnan(value):
            return value
    found = Unrounded(value)
    found.text = text
    return found


def _text(value: str, path: Path, line: int) -> str:
    """Text with escaped pairs of surrogates (as in JSON) joined to characters."""
    try:
        return value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise InputError(
            f"{path}, line {line}: {value!a} holds a lone surrogate (\\ud800 to \\udfff), which is "
            "half a character; write the character itself"
        ) from None


class Strict(BaseModel):
    """The base of all models of YAML: no unknown keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            names = [field.alias or name for name, field in cls.model_fields.items()]
            for key in data:
                if key not in names and key not in cls.model_fields:
                    raise unknown(key, names, "key", key)
        return data


def unknown(
    value: object, allowed: Iterable[str], what: str, *at: str | int
) -> PydanticCustomError:
    """The error of an unknown name, with similar ones. ``at`` is below the model that raises it."""
    return problem(unknown_name(value, allowed, what), *at)


def problem(message: str, *at: str | int | None) -> PydanticCustomError:
    """An error with our own message, at a location below the model that raises it."""
    context = {"message": message, "at": tuple(part for part in at if part is not None)}
    return PydanticCustomError("treesweep", "{message}", context)


ModelT = TypeVar("ModelT", bound=BaseModel)


_Keys = Collection[tuple[str, ...]]


def validate(model: type[ModelT], file: YamlFile, exact: _Keys = ()) -> ModelT:
    """Read a model from a file.

    At the keys of ``exact`` (from the top of the file), the model takes :class:`Unrounded`; other
    numbers that would be rounded are refused. Raises InputError with the file, line, key and what
    is allowed there.
    """
    if not isinstance(file.data, dict):
        raise file.error((), "expected 'key: value' lines")
    _refuse_unrounded(file.data, (), file, exact)
    try:
        return model.model_validate(file.data)
    except ValidationError as error:
        raise first_error(error, file) from None


def _refuse_unrounded(data: Any, location: Location, file: YamlFile, exact: _Keys) -> None:
    """Refuse numbers that would be rounded."""
    if tuple(part for part in location if isinstance(part, str)) in exact:
        return
    if isinstance(data, Unrounded):
        remedy = "write that" if math.isfinite(data) else "write a smaller one"
        raise file.error(location, f"{data.text[:40]} would be read as {float(data)}; {remedy}")
    if isinstance(data, (dict, list)):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            _refuse_unrounded(value, (*location, key), file, exact)


def first_error(error: ValidationError, file: YamlFile) -> InputError:
    """The first error of a validation; the others often follow from it."""
    details = error.errors(include_url=False)
    first = details[0]
    context = first.get("ctx", {})
    location = tuple(_real(first["loc"], file.lines))
    if first["type"] == "treesweep":
        location = (*location, *context["at"])
    if first["type"] in ("missing", "extra_forbidden"):
        location = location[:-1] if location and location[-1] == first["loc"][-1] else location
    message = _words(first)
    others = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
    return file.error(location, message + others)


def _real(parts: Location, lines: Mapping[Location, int]) -> Iterable[str | int]:
    """The parts of pydantic's location that are in the file; others name members of unions."""
    known: Location = ()
    for part in parts:
        if (*known, part) in lines:
            known = (*known, part)
            yield part


_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "'key: value' entries",
    "model_type": "'key: value' entries",
    "model_attributes_type": "'key: value' entries",
}


def _words(detail: Any) -> str:
    kind, context, value = detail["type"], detail.get("ctx", {}), detail.get("input")
    if kind == "missing":
        return f"the key {detail['loc'][-1]!r} is missing"
    if kind == "extra_forbidden":
        return f"unknown key {detail['loc'][-1]!r}"
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, got {_brief(value)}"
    if kind == "literal_error":
        return f"{_brief(value)} is not allowed here; allowed: {context['expected']}"
    if kind == "union_tag_invalid":
        tag = context["discriminator"].strip("'")
        return f"unknown {tag} {context['tag']!r}; allowed: {context['expected_tags']}"
    if kind == "union_tag_not_found":
        return f"the key {context['discriminator']} is missing"
    if kind == "too_short":
        return "the list is empty; give it at least one entry"
    if kind == "value_error":
        return str(context.get("error", detail["msg"]))
    text = str(detail["msg"])
    return text[:1].lower() + text[1:] + ("" if kind == "treesweep" else f", got {_brief(value)}")


def _brief(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "'key: value' entries"
    if isinstance(value, list):
        return "a list"
    return repr(value)


def _key(location: Location) -> str:
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            text += f".{part}" if text else part
    return text
