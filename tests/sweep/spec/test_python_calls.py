"""Models that a program makes."""

from __future__ import annotations

import copy
import pickle

import pytest
from pydantic import Field

from solver.errors import InputError
from sweep.spec.python_calls import FromPython


class Inner(FromPython):
    port: int


class Outer(FromPython):
    inner: list[Inner] = Field(default_factory=list)
    number: float | None = Field(default=None, ge=1)


def test_a_good_call_is_pydantics() -> None:
    made = Outer(inner=[Inner(port=1), {"port": 2}], number=3)  # type: ignore[list-item]
    assert [one.port for one in made.inner] == [1, 2]
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"inner": [{"port": 1}, {"port": "x"}]}, "Outer: inner[1]['port']: expected a whole nu"),
        ({"inner": [{}]}, "Outer: inner[0]: the key 'port' is missing"),
        ({"inner": {}}, "Outer: inner: expected a list, got a dict"),
        ({"number": 0}, "Outer: number: input should be greater than or equal to 1, got 0"),
        ({"numbr": 0}, "Outer: numbr: unknown argument 'numbr' (did you mean 'number'?); allowed"),
        ({"number": True}, "Outer: number: expected a number, got True"),
    ],
)
def test_a_mistake_is_one_line(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        Outer(**given)  # type: ignore[arg-type]
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_arguments_have_names() -> None:
    with pytest.raises(InputError, match=r"Outer: give each argument by its name: inner=…, n"):
        Outer(3)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="Inner: the argument 'port' is missing"):
        Inner()  # type: ignore[call-arg]
