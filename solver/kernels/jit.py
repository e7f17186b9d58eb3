"""All plumbing for compiled kernels: the decorator, bit intrinsics, and compile times."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from typing import Any, ParamSpec, TypeVar, cast

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from solver.kernels.disk_cache import KernelCache
from solver.kernels.numba_pipeline import KERNEL_PIPELINE, Helper

P = ParamSpec("P")
R = TypeVar("R")

_FLAGS: dict[str, Any] = {"nogil": True, "_nrt": False}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function to machine code on first use: no Python objects, no GIL, cached on disk.

    Notes
    -----
    ``_nrt=False``: kernels allocate nothing and hold no references, so numba need not count any.
    Counting costs an atomic operation at each access to an array inside a named tuple, which made
    the search 13 times slower.
    """
    dispatcher: Any = numba.njit(pipeline_class=KERNEL_PIPELINE, **_FLAGS)(function)
    with contextlib.suppress(RuntimeError):  # there is no folder to write to
        dispatcher._cache = KernelCache(function)
    return cast(Callable[P, R], dispatcher)


def helper(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function with the kernels that call it, and for them only.

    LLVM decides whether it is merged into a caller or called. To force it made kernels no faster,
    and compiling them longer by half.
    """
    return cast(Callable[P, R], _Helper(function))


class _Helper:
    """A function that only kernels call; numba's object for it is made when one is compiled.

    There are four hundred of them. A process that loads its kernels from the disk needs none.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        update_wrapper(self, function)

    @cached_property
    def _dispatcher(self) -> Any:
        return Helper(self.py_func, _FLAGS)

    @property
    def _numba_type_(self) -> Any:  # asked by numba when it meets the name in a kernel
        return self._dispatcher._numba_type_

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        raise TypeError(f"{self.py_func.__qualname__} is a helper: only kernels can call it")


_typeof: Callable[[Any], Any] = numba.typeof

_COMPILING = threading.RLock()
"""One thread compiles; another one that needs the same kernel waits until it is there."""


def ensure_compiled(function: Any, *arguments: Any) -> float:
    """Compile a kernel once for the types of these arguments; return the seconds spent.

    They are 0.0 if it was compiled in this process before. Afterwards the kernel refuses other
    types: a wrong dtype is an error and not a silent second compilation.
    """
    with _COMPILING:
        if not function._can_compile:
            return 0.0
        began = time.perf_counter()
        function.compile(tuple(_typeof(argument) for argument in arguments))
        function.disable_compile()
        return time.perf_counter() - began


def is_compiled(function: Any) -> bool:
    """Whether :func:`ensure_compiled` has compiled a kernel, so that it needs no arguments."""
    return not function._can_compile


def unchecked(function: Callable[P, R]) -> Callable[P, R]:
    """A compiled kernel that does not look at the types of its arguments.

    numba looks at them in each call, also at those of all arrays in a record. For the hundred
    arrays of a search this takes 30 µs, longer than many calls that follow. Only for arguments
    whose types another kernel has checked: of other types the kernel would read wrong memory.
    """
    return cast(Callable[P, R], _entry_point(function))


@cache
def _entry_point(function: Any) -> Any:
    (compiled,) = function.overloads.values()
    return compiled.entry_point


def _bit_intrinsic(emit: Callable[[Any, Any], Any]) -> Any:
    def generate(typing_context: Any, word: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            return emit(builder, args[0])

        return types.int64(types.uint64), codegen

    return intrinsic(generate)


popcount: Callable[[Any], int] = _bit_intrinsic(lambda builder, word: builder.ctpop(word))
"""Number of ones in a 64-bit word (one machine instruction)."""

trailing_zeros: Callable[[Any], int] = _bit_intrinsic(
    lambda builder, word: builder.cttz(word, ir.Constant(ir.IntType(1), 1))
)
"""Number of zeros below the lowest one of a 64-bit word that is not zero."""
