"""Vectors of 32-bit numbers, as values of compiled functions: they stay in registers.

A vector has :data:`SHORT_LANES` numbers. A comparison gives −1 in the lanes where it holds and 0
in the others, so :func:`both` and :func:`either` combine comparisons, and choose numbers as well.
As in :mod:`solver.kernels.simd`, the caller promises that arrays are long enough, and that no index
counts from the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

from solver.kernels.simd import address, call

SHORT_LANES = 8
"""Numbers of a vector: a register of 256 bits."""

_SHORT, _LONG = ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_SHORT, SHORT_LANES)
_WORDS = ir.VectorType(_LONG, SHORT_LANES)
_intrinsic: Any = intrinsic


class _Vector(types.Type):
    """The numba type of a vector."""

    def __init__(self) -> None:
        super().__init__("Vector32")


VECTOR = _Vector()


@register_model(_Vector)
class _InRegister(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)  # type: ignore[no-untyped-call]


def _spread(builder: ir.IRBuilder, number: Any, kind: Any) -> Any:
    """A vector of one number."""
    nothing = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(nothing, number, ir.Constant(_SHORT, 0))
    everywhere = ir.Constant(ir.VectorType(_SHORT, SHORT_LANES), [0] * SHORT_LANES)
    return builder.shuffle_vector(one, nothing, everywhere)


def _operation(emit: Callable[[ir.IRBuilder, Any, Any], Any]) -> Any:
    """An instruction on two vectors."""

    def generate(typing_context: Any, a: Any, b: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            return emit(builder, *args)

        return VECTOR(VECTOR, VECTOR), codegen

    return intrinsic(generate)


def _named(name: str) -> Any:
    name = f"llvm.{name}.v{SHORT_LANES}i32"
    return _operation(lambda builder, a, b: call(builder, name, _VECTOR, a, b))


plus: Any = _operation(lambda builder, a, b: builder.add(a, b))
minus: Any = _operation(lambda builder, a, b: builder.sub(a, b))
least: Any = _named("smin")
largest: Any = _named("smax")
both: Any = _operation(lambda builder, a, b: builder.and_(a, b))
either: Any = _operation(lambda builder, a, b: builder.or_(a, b))
without: Any = _operation(lambda builder, a, b: builder.and_(a, builder.not_(b)))
exceeds: Any = _operation(
    lambda builder, a, b: builder.sext(builder.icmp_signed(">", a, b), _VECTOR)
)
"""−1 where a number of the first vector is larger than that of the second."""


@_intrinsic
def spread(typing_context: Any, number: Any) -> Any:
    """A vector of one number, which has at most 32 bits."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return _spread(builder, builder.trunc(args[0], _SHORT), _VECTOR)

    return VECTOR(types.int64), codegen


@_intrinsic
def counted(typing_context: Any, first: Any) -> Any:
    """The numbers ``first + j``."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        lanes = ir.Constant(_VECTOR, list(range(SHORT_LANES)))
        return builder.add(_spread(builder, builder.trunc(args[0], _SHORT), _VECTOR), lanes)

    return VECTOR(types.int64), codegen


@_intrinsic
def load(typing_context: Any, array: Any, at: Any) -> Any:
    """The numbers ``array[at + j]`` of an array of 32-bit numbers."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        place = address(context, builder, args[0], array, args[1], _VECTOR)
        return builder.load(place, align=4)

    return VECTOR(array, types.int64), codegen


@_intrinsic
def store(typing_context: Any, array: Any, at: Any, vector: Any) -> Any:
    """``array[at + j] = vector[j]`` in an array of 32-bit numbers."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        place = address(context, builder, args[0], array, args[1], _VECTOR)
        builder.store(args[2], place, align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, VECTOR), codegen


@_intrinsic
def lowest(typing_context: Any, vector: Any) -> Any:
    """The least number of a vector."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        number = call(builder, f"llvm.vector.reduce.smin.v{SHORT_LANES}i32", _SHORT, args[0])
        return builder.sext(number, _LONG)

    return types.int64(VECTOR), codegen


@_intrinsic
def shared_bits(typing_context: Any, words: Any, at: Any, word: Any, times: Any) -> Any:
    """``popcount(word & words[at + j]) * times``; the product has at most 31 bits."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        there = builder.load(address(context, builder, args[0], words, args[1], _WORDS), align=8)
        shared = builder.and_(there, _spread(builder, args[2], _WORDS))
        counts = call(builder, f"llvm.ctpop.v{SHORT_LANES}i64", _WORDS, shared)
        short = builder.trunc(counts, _VECTOR)
        return builder.mul(short, _spread(builder, builder.trunc(args[3], _SHORT), _VECTOR))

    return VECTOR(words, types.int64, types.uint64, types.int64), codegen
