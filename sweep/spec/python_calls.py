"""Models that a Python program makes, too: the checks and messages of the YAML, in one line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from solver.errors import InputError
from sweep.spec.python_spec import PythonData
from sweep.spec.yaml_reader import Location, Strict, first_error

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:  # pydantic has no public name for it
    ModelMetaclass = type(BaseModel)


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
