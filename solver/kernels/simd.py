"""Vector instructions for kernels: operations on LANES neighbouring numbers of an array at once.

Alone, the compiler works on single numbers: it does not know that arrays do not overlap, or that no
index counts from the end. Here the caller promises both, and that the arrays are long enough. A
processor with shorter vectors runs the same code in parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16
"""Numbers that are worked on at a time: two of the widest vector registers."""

_INT = ir.IntType(64)
_FLOAT = ir.FloatType()
_LANE = {types.int64: _INT, types.uint64: _INT, types.float32: _FLOAT}  # no others are added
_intrinsic: Any = intrinsic
_declare: Any = cgutils.get_or_insert_function
_VECTOR = ir.VectorType(_INT, LANES)


def _load(context: Any, builder: ir.IRBuilder, array: Any, kind: Any, at: Any, to: Any) -> Any:
    return builder.load(
        address(context, builder, array, kind, at, to), align=kind.dtype.bitwidth // 8
    )


def _store(context: Any, builder: ir.IRBuilder, array: Any, kind: Any, at: Any, value: Any) -> None:
    place = address(context, builder, array, kind, at, value.type)
    builder.store(value, place, align=kind.dtype.bitwidth // 8)


def address(context: Any, builder: ir.IRBuilder, array: Any, kind: Any, at: Any, to: Any) -> Any:
    """A pointer of type ``to`` to an element of an array."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), to.as_pointer())


def _spread(builder: ir.IRBuilder, number: Any, kind: Any = _VECTOR) -> Any:
    """A vector of one number."""
    nothing = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return builder.shuffle_vector(one, nothing, everywhere)


def call(builder: ir.IRBuilder, name: str, result: Any, *arguments: Any) -> Any:
    """The result of an instruction that LLVM names as a function."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(_declare(builder.module, kind, name), arguments)


Emit = Callable[[ir.IRBuilder, Any, Any], Any]


def _operation(emit: Emit) -> Any:
    """An instruction that sets ``out[out_at + j]`` to what comes of it and of ``a[a_at + j]``."""

    def generate(typing_context: Any, out: Any, out_at: Any, a: Any, a_at: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            first = _load(context, builder, args[0], out, args[1], _VECTOR)
            second = _load(context, builder, args[2], a, args[3], _VECTOR)
            _store(context, builder, args[0], out, args[1], emit(builder, first, second))
            return context.get_dummy_value()

        return types.void(out, types.int64, a, types.int64), codegen

    return intrinsic(generate)


def _named(name: str) -> Emit:
    return lambda builder, a, b: call(builder, f"llvm.{name}.v{LANES}i64", _VECTOR, a, b)


lanes_add: Any = _operation(lambda builder, a, b: builder.add(a, b))
lanes_sub: Any = _operation(lambda builder, a, b: builder.sub(a, b))
lanes_max: Any = _operation(_named("smax"))


@_intrinsic
def lanes_fill(typing_context: Any, out: Any, out_at: Any, number: Any) -> Any:
    """``out[out_at + j] = number``."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        _store(context, builder, args[0], out, args[1], _spread(builder, args[2]))
        return context.get_dummy_value()

    return types.void(out, types.int64, types.int64), codegen


@_intrinsic
def add_popcounts(
    typing_context: Any, out: Any, out_at: Any, words: Any, at: Any, word: Any, times: Any
) -> Any:
    """``out[out_at + j] += popcount(word & words[at + j]) * times``."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        there = _load(context, builder, args[2], words, args[3], _VECTOR)
        shared = builder.and_(there, _spread(builder, args[4]))
        counts = call(builder, f"llvm.ctpop.v{LANES}i64", _VECTOR, shared)
        counts = builder.mul(counts, _spread(builder, args[5]))
        before = _load(context, builder, args[0], out, args[1], _VECTOR)
        _store(context, builder, args[0], out, args[1], builder.add(before, counts))
        return context.get_dummy_value()

    signature = types.void(out, types.int64, words, types.int64, types.uint64, types.int64)
    return signature, codegen


@_intrinsic
def add_marked(typing_context: Any, out: Any, out_at: Any, number: Any, word: Any) -> Any:
    """``out[out_at + j] += number`` for the ones ``j`` of a word; there must be 64 numbers."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        all64 = ir.VectorType(_LANE[out.dtype], 64)
        marks = builder.bitcast(args[3], ir.VectorType(ir.IntType(1), 64))
        before = _load(context, builder, args[0], out, args[1], all64)
        add = builder.fadd if out.dtype == types.float32 else builder.add
        after = add(before, _spread(builder, args[2], all64))
        _store(context, builder, args[0], out, args[1], builder.select(marks, after, before))
        return context.get_dummy_value()

    return types.void(out, types.int64, out.dtype, types.uint64), codegen


@_intrinsic
def sum_marked(typing_context: Any, numbers: Any, at: Any, word: Any) -> Any:
    """Sum of ``numbers[at + j]`` over the ones ``j`` of a word; there must be 64 numbers."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        all64 = ir.VectorType(_INT, 64)
        marks = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), 64))
        there = _load(context, builder, args[0], numbers, args[1], all64)
        kept = builder.select(marks, there, ir.Constant(all64, None))
        return call(builder, "llvm.vector.reduce.add.v64i64", _INT, kept)

    return types.uint64(numbers, types.int64, types.uint64), codegen


@_intrinsic
def sum_set(typing_context: Any, numbers: Any, words: Any, n_words: Any) -> Any:
    """Sum of ``numbers`` over the ones of some words; there must be 64 numbers for each.

    Floats are added in an order that is the same on every machine.
    """
    is_float = numbers.dtype == types.float32

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        all64 = ir.VectorType(_LANE[numbers.dtype], 64)
        nothing, add = ir.Constant(all64, None), builder.fadd if is_float else builder.add
        total = cgutils.alloca_once_value(builder, nothing)
        with cgutils.for_range(builder, args[2]) as loop:
            at = builder.shl(loop.index, ir.Constant(_INT, 6))
            word = _load(context, builder, args[1], words, loop.index, _INT)
            marks = builder.bitcast(word, ir.VectorType(ir.IntType(1), 64))
            there = _load(context, builder, args[0], numbers, at, all64)
            kept = builder.select(marks, there, nothing)
            builder.store(add(builder.load(total), kept), total)
        return _sum_lanes(builder, builder.load(total), add)

    return (types.float32 if is_float else types.uint64)(numbers, words, types.int64), codegen


def _sum_lanes(builder: ir.IRBuilder, vector: Any, add: Any) -> Any:
    """Sum of all lanes: one half is added to the other until one number is left."""
    n, index = vector.type.count, ir.IntType(32)
    while n > 1:
        n //= 2
        halves = (
            builder.shuffle_vector(
                vector, vector, ir.Constant(ir.VectorType(index, n), [*range(at, at + n)])
            )
            for at in (0, n)
        )
        vector = add(*halves)
    return builder.extract_element(vector, ir.Constant(index, 0))


@_intrinsic
def sum_columns(
    typing_context: Any, out: Any, row: Any, at: Any, words: Any, numbers: Any, which: Any, n: Any
) -> Any:
    """``out[row, 64 * at + j] = Σ numbers[i]`` over those ``i`` of the first ``n`` in ``which``
    whose word ``words[at, i]`` has the one ``j``."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        all64 = ir.VectorType(_INT, 64)

        def place(array: Any, kind: Any, row: Any, column: Any, to: Any) -> Any:
            made = context.make_array(kind)(context, builder, array)
            row_bytes, _ = cgutils.unpack_tuple(builder, made.strides, 2)
            start = builder.ptrtoint(made.data, _INT)
            start = builder.add(start, builder.mul(row, row_bytes))
            start = builder.add(start, builder.shl(column, ir.Constant(_INT, 3)))
            return builder.inttoptr(start, to.as_pointer())

        total = cgutils.alloca_once_value(builder, ir.Constant(all64, None))
        with cgutils.for_range(builder, args[6], intp=_INT) as loop:
            i = _load(context, builder, args[5], which, loop.index, _INT)
            number = _load(context, builder, args[4], numbers, i, _INT)
            word = builder.load(place(args[3], words, args[2], i, _INT))
            marks = builder.bitcast(word, ir.VectorType(ir.IntType(1), 64))
            before = builder.load(total)
            after = builder.add(before, _spread(builder, number, all64))
            builder.store(builder.select(marks, after, before), total)
        to = place(args[0], out, args[1], builder.shl(args[2], ir.Constant(_INT, 6)), all64)
        builder.store(builder.load(total), to, align=8)
        return context.get_dummy_value()

    signature = types.void(out, types.int64, types.uint64, words, numbers, which, types.uint64)
    return signature, codegen
