"""One name for several helpers, of which the type of an argument chooses one.

A kernel that works on two kinds of records is compiled for each of them, with the helpers of that
kind: what is not called costs nothing, neither at run time nor in compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import numba
import numba.extending
from numba import types
from numba.core.typing.templates import AbstractTemplate

from solver.kernels.pass_by_reference import Record

R = TypeVar("R")

_typeof: Any = numba.extending.typeof_impl


def by_record(helpers: Mapping[type, Callable[..., R]]) -> Callable[..., R]:
    """A helper that is one of these, by the named tuple among its arguments.

    Parameters
    ----------
    helpers : mapping
        For some classes that :func:`solver.kernels.pass_by_reference.by_reference` marks, a helper
        each.
    """
    chosen: Any = {cls.__qualname__: helper for cls, helper in helpers.items()}
    return cast(Callable[..., R], _Choice(chosen))


class _Choice:
    """What a kernel calls; Python cannot."""

    def __init__(self, helpers: dict[str, Any]) -> None:
        compiled: dict[Any, Any] = {}

        class Template(AbstractTemplate):
            key = self

            def generic(self, args: Any, kws: Any) -> Any:
                names = [kind.record for kind in args if isinstance(kind, Record)]
                helper = next((helpers[name] for name in names if name in helpers), None)
                if helper is None:
                    return None
                dispatcher = numba.typeof(helper).dispatcher
                template, _, args, kws = dispatcher.get_call_template(args, kws)
                signature = template(self.context).apply(args, kws)
                compiled[signature.args] = dispatcher.get_overload(signature.args)
                return signature

            def get_impl_key(self, sig: Any) -> Any:
                return compiled[sig.args]

        self.template = Template


@_typeof.register(_Choice)
def _(value: _Choice, context: Any) -> Any:
    return types.Function(value.template)
