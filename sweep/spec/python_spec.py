"""What a Python program gives in place of YAML: a sweep as a dict, a cluster as a call.

The keys and the checks are those of the YAML; an error names the place in the program's words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from inspect import signature
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from solver.errors import InputError
from sweep.spec.hints_as_yaml import in_dict
from sweep.spec.spec import SweepFile, load_spec, read_spec
from sweep.spec.yaml_reader import (
    Location,
    Strict,
    YamlFile,
    first_error,
    parse_yaml,
    write_yaml,
)

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:  # pydantic has no public name for it
    ModelMetaclass = type(BaseModel)

_PYTHON = {
    "'key: value' entries": "a dict",
    "'key: value' lines": "a dict",
    "true or false": "True or False",
    "got nothing": "got None",
    "got true": "got True",
    "got false": "got False",
}
"""Words of messages about YAML, and those that a program uses."""


_DEEPEST = 20


@dataclass(frozen=True)
class PythonData(YamlFile):
    """The content of a dict. An error names the expression that gives the wrong value."""

    def in_words(self, message: str) -> str:
        """A message with remedies as a dict has them."""
        return in_dict(message)

    def error(self, location: Location, message: str) -> InputError:
        """An error at a location, or at its nearest parent that is in the dict."""
        while location and location not in self.lines:
            location = location[:-1]
        for words, ours in _PYTHON.items():
            message = message.replace(words, ours)
        return self.located(location, message)

    def located(self, location: Location, message: str) -> InputError:
        """An error with the expression of its place."""
        return _error(location, message)


def as_sweep(spec: SweepFile | Mapping[str, Any] | str | PurePath) -> SweepFile:
    """A sweep from whatever describes it.

    Parameters
    ----------
    spec : mapping, str, Path or SweepFile
        A dict with the keys of the YAML, the path of a YAML file, or what
        :func:`sweep.spec.spec.load_spec` gives. In a dict, tuples, arrays and other sequences are
        lists, and relative paths start at the current directory.

    Raises
    ------
    InputError
        Naming the place in the dict, or file and line.
    """
    if isinstance(spec, SweepFile):
        return spec
    if isinstance(spec, (str, PurePath)):
        if isinstance(spec, str) and "\n" in spec:
            raise InputError(
                "the spec is a text of several lines; read it by treesweep.parse_spec(text)"
            )
        return load_spec(Path(spec))
    if not isinstance(spec, Mapping):
        raise InputError(
            f"a sweep is a dict, or the path of a YAML file, not {_an(spec)}; write e.g. "
            '{"name": "first", "datasets": ["iris"], "encodings": "auto", "lambdas": 0.01, '
            '"solvers": "auto"}'
        )
    text = write_yaml(_plain(spec, ()))
    file = parse_yaml(text, Path("spec"))
    return read_spec(PythonData(file.path, file.data, file.lines), text, ".")


def _plain(value: Any, location: Location) -> Any:
    """The value as YAML can hold it."""
    if len(location) > _DEEPEST:
        raise InputError("the spec is nested too deep; is a dict part of itself?")
    if isinstance(value, Mapping):
        return {_key(key, location): _plain(each, (*location, key)) for key, each in value.items()}
    if isinstance(value, str | PurePath | Fraction | Decimal):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise _error(location, f"{value!r} is not a finite number; leave the key out, or give one")
    if value is None or type(value) in (bool, int, float):
        return value
    if hasattr(value, "columns"):
        raise _error(
            location,
            "a table cannot be part of a spec, as workers read it from a file; write it by "
            'table.to_parquet("table.parquet") and give {"path": "table.parquet", "target": …}',
        )
    if hasattr(value, "tolist"):  # of numpy and pandas
        return _plain(value.tolist(), location)
    if isinstance(value, list | tuple | range):
        return [_plain(each, (*location, i)) for i, each in enumerate(value)]
    raise _error(location, f"expected text, a number, a list or a dict, got {_an(value)}")


def _key(key: Any, location: Location) -> str:
    if not isinstance(key, str):
        raise _error(location, f"the key {key!r} is not text; write {str(key)!r}")
    return str(key)


def _error(location: Location, message: str) -> InputError:
    return InputError(f"spec{''.join(f'[{part!r}]' for part in location)}: {message}")


def _an(value: object) -> str:
    return f"a value of type {type(value).__name__}"


@dataclass(frozen=True)
class _Arguments(PythonData):
    """The arguments of a call. An error names the call, and the place of the wrong value."""

    def located(self, location: Location, message: str) -> InputError:
        first, *more = location or ("",)
        place = f"{first}{''.join(f'[{part!r}]' for part in more)}"
        if not more:
            message = message.replace("the key ", "the argument ")
            message = message.replace("unknown key ", "unknown argument ")
        message = message.replace("'insecure: true'", "insecure=True")
        return InputError(f"{self.path}: {place + ': ' if place else ''}{message}")


class _CheckedCall(ModelMetaclass):
    """Raises InputError where pydantic raises its own error, of many lines."""

    def __call__(cls, *values: Any, **named: Any) -> Any:  # noqa: N805  of a metaclass
        if values:
            fields = ", ".join(f"{name}=…" for name in signature(cls).parameters)
            raise InputError(f"{cls.__name__}: give each argument by its name: {fields}")
        try:
            return super().__call__(**named)
        except ValidationError as error:
            lines = dict.fromkeys(_locations(named, ()), 1)
            raise first_error(error, _Arguments(Path(cls.__name__), named, lines)) from None


class FromPython(Strict, metaclass=_CheckedCall):
    """The base of models of YAML that are part of the Python API."""


def _locations(data: Any, location: Location) -> Iterator[Location]:
    yield location
    if isinstance(data, dict | list | tuple):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _locations(value, (*location, key))
