"""All plumbing for compiled kernels: the decorator, bit intrinsics, and compile times."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from solver.kernels.compiler import KERNEL_PIPELINE, Helper

P = ParamSpec("P")
R = TypeVar("R")

_FLAGS = {"nogil": True, "_nrt": False}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function to machine code on first use: no Python objects, no GIL, cached on disk.

    Notes
    -----
    ``_nrt=False``: kernels allocate nothing and hold no references, so numba need not count any.
    Counting costs an atomic operation at each access to an array inside a named tuple, which made
    the search 13 times slower.

    numba's disk cache only checks the kernel's own file. It would run stale machine code after a
    change of a helper or of a state's layout in another file; hence our own stamp. It is part of
    the version, which numba reads first: the rest of an index may name modules that are gone.
    """
    flags: dict[str, Any] = {"cache": True, **_FLAGS}
    dispatcher: Any = numba.njit(pipeline_class=KERNEL_PIPELINE, **flags)(function)
    stamp = _stamp(Path(function.__code__.co_filename))
    dispatcher._cache._cache_file._version = (numba.__version__, stamp)
    return cast(Callable[P, R], dispatcher)


def helper(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function with the kernels that call it, and for them only.

    LLVM decides whether it is merged into a caller or called. To force it made kernels no faster,
    and compiling them longer by half.
    """
    dispatcher: Any = Helper(function, _FLAGS)
    return cast(Callable[P, R], dispatcher)


@cache
def _stamp(kernel: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, time and size of every source file of the package that a kernel can reach."""
    found = {Path(__file__)}
    pending = [kernel]
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += _imported(path)
    stats = ((path, path.stat()) for path in sorted(found))
    return tuple((path.name, s.st_mtime_ns, s.st_size) for path, s in stats)


@cache
def _imported(path: Path) -> list[Path]:
    """The files of its own package that a file imports at its top level."""
    root = path.parent
    while (root / "__init__.py").exists():
        root = root.parent
    found = []
    for module, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
        place = root.joinpath(*module.split("."))
        inside = (place / name.split()[0] for name in names.strip("(").split(",") if name.strip())
        for candidate in (place, *inside):
            files = candidate.with_suffix(".py"), candidate / "__init__.py"
            found += [file for file in files if file.exists()]
    return found


_IMPORT = re.compile(r"^from ([\w.]+) import (\([^)]*|[^\n]*)", re.MULTILINE)


_typeof: Callable[[Any], Any] = numba.typeof


def ensure_compiled(function: Any, *arguments: Any) -> float:
    """Compile a kernel once for the types of these arguments; return the seconds spent.

    They are 0.0 if it was compiled in this process before. Afterwards the kernel refuses other
    types: a wrong dtype is an error and not a silent second compilation.
    """
    if not function._can_compile:
        return 0.0
    began = time.perf_counter()
    function.compile(tuple(_typeof(argument) for argument in arguments))
    function.disable_compile()
    return time.perf_counter() - began


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
