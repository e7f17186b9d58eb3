"""Vector instructions of the sweep: eight blocks of 64 rows at a time.

All take flat arrays and offsets, which the caller promises to be inside. See
:mod:`solver.kernels.simd` for why the compiler does not generate such code by itself.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

BLOCK = 64
"""Rows of a block: the bits of a word."""

GROUP = 8
"""Blocks that are worked on at a time."""

_INT = ir.IntType(64)
_SHORT = ir.IntType(32)
_VECTOR = ir.VectorType(_INT, GROUP)
_intrinsic: Any = intrinsic
_allocate: Any = cgutils.alloca_once


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _load(builder: Any, data: Any, at: Any, to: Any, align: int) -> Any:
    address = builder.bitcast(builder.gep(data, [at]), to.as_pointer())
    return builder.load(address, align=align)


def _store(builder: Any, data: Any, at: Any, value: Any) -> None:
    address = builder.bitcast(builder.gep(data, [at]), value.type.as_pointer())
    builder.store(value, address, align=8)


def _call(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    declare: Any = cgutils.get_or_insert_function
    return builder.call(declare(builder.module, kind, name), arguments)


def _spread(builder: Any, number: Any, width: int = GROUP) -> Any:
    nothing = ir.Constant(ir.VectorType(number.type, width), ir.Undefined)
    one = builder.insert_element(nothing, number, ir.Constant(_SHORT, 0))
    return builder.shuffle_vector(
        one, nothing, ir.Constant(ir.VectorType(_SHORT, width), [0] * width)
    )


def _shuffle(builder: Any, a: Any, b: Any, places: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_SHORT, GROUP), places))


def _lane(builder: Any, vector: Any, place: int) -> Any:
    return builder.extract_element(vector, ir.Constant(_SHORT, place))


def _max(builder: Any, a: Any, b: Any) -> Any:
    return _call(builder, f"llvm.smax.v{GROUP}i64", _VECTOR, a, b)


def _word_below(builder: Any, ranks: Any, at: Any, limit: Any) -> Any:
    """The word whose bit ``j`` says ``ranks[at + j] < limit``."""
    row = ir.VectorType(limit.type, BLOCK)
    there = _load(builder, ranks, at, row, limit.type.width // 8)
    return builder.bitcast(builder.icmp_signed("<", there, _spread(builder, limit, BLOCK)), _INT)


def _rows_below(builder: Any, ranks: Any, at: Any, block: Any, limit: Any) -> Any:
    """:func:`_word_below` of a group of blocks."""
    mask = ir.Constant(_VECTOR, ir.Undefined)
    for j in range(GROUP):
        rows = builder.mul(builder.add(block, ir.Constant(_INT, j)), ir.Constant(_INT, BLOCK))
        word = _word_below(builder, ranks, builder.add(at, rows), limit)
        mask = builder.insert_element(mask, word, ir.Constant(_SHORT, j))
    return mask


def _running_sum(builder: Any, counts: Any) -> Any:
    """Each lane with the sum of those up to it, in three steps."""
    zero = ir.Constant(_VECTOR, None)
    for step in (1, 2, 4):
        places = [i - step if i >= step else GROUP for i in range(GROUP)]
        counts = builder.add(counts, _shuffle(builder, counts, zero, places))
    return counts


def _largest(builder: Any, vector: Any) -> Any:
    return _call(builder, f"llvm.vector.reduce.smax.v{GROUP}i64", _INT, vector)


def _of_ranks(
    context: Any, builder: Any, kinds: Any, arrays: Any, code: Any, result: Any, emit: Any
) -> Any:
    """What ``emit`` makes of the ranks and of a code of their type.

    It is written for short and for long ranks; those that are there are taken at run time.
    """
    place = _allocate(builder, result)
    long_ranks = context.make_array(kinds[1])(context, builder, arrays[1])
    with builder.if_else(cgutils.is_not_null(builder, long_ranks.nitems)) as (long, short):
        for i, branch in ((1, long), (0, short)):
            with branch:
                limit = builder.trunc(code, ir.IntType(kinds[i].dtype.bitwidth))
                ranks = _data(context, builder, kinds[i], arrays[i])
                builder.store(emit(ranks, limit), place)
    return builder.load(place)


@_intrinsic
def word_below(typing_context: Any, short_ranks: Any, long_ranks: Any, at: Any, code: Any) -> Any:
    """The word whose bit ``j`` says ``ranks[at + j] < code``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def below(ranks: Any, limit: Any) -> Any:
            return _word_below(builder, ranks, args[2], limit)

        return _of_ranks(context, builder, signature.args[:2], args[:2], args[3], _INT, below)

    return types.uint64(short_ranks, long_ranks, types.int64, types.int64), codegen


def _sweep_code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The code of :func:`sweep`."""
    kinds = signature.args
    (planes_, prefix_, ends_, totals_, cumulated_, words_, bounds_, carries_, out_) = (
        _data(context, builder, kinds[i], args[i]) for i in (4, 6, 8, 14, 15, 16, 17, 18, 19)
    )
    ranks_at_, code_, planes_at_, prefix_at_, ends_at_ = (args[i] for i in (2, 3, 5, 7, 9))
    groups_, stride_, classes_, digits_ = args[10:14]
    zero = ir.Constant(_VECTOR, None)

    def variable(value: Any) -> Any:
        place = _allocate(builder, value.type)
        builder.store(value, place)
        return place

    def number(value: int) -> Any:
        return ir.Constant(_INT, value)

    add, mul = builder.add, builder.mul
    highest = [variable(zero) for _ in range(2)]
    best = [
        variable(_spread(builder, builder.load(builder.gep(out_, [number(i)])))) for i in (0, 1)
    ]
    # By side: largest class weight up to the block's end, from its beginning and from its end
    # on, and the largest sum of the first two for two different classes.
    reach = [[variable(zero) for _ in range(4)] for _ in range(2)]
    with cgutils.for_range(builder, groups_, intp=_INT) as group:
        block = mul(group.index, number(GROUP))

        def below(ranks: Any, limit: Any, block: Any = block) -> Any:
            return _rows_below(builder, ranks, ranks_at_, block, limit)

        mask = _of_ranks(context, builder, kinds[:2], args[:2], code_, _VECTOR, below)
        _store(builder, words_, block, mask)
        for place in (*reach[0], *reach[1]):
            builder.store(zero, place)
        with cgutils.for_range(builder, classes_, intp=_INT) as klass:
            k = klass.index
            counts = variable(zero)
            with cgutils.for_range(builder, digits_, intp=_INT) as digit:
                plane = add(mul(k, digits_), digit.index)
                at = add(add(planes_at_, mul(plane, stride_)), block)
                word = builder.and_(_load(builder, planes_, at, _VECTOR, 8), mask)
                ones = _call(builder, f"llvm.ctpop.v{GROUP}i64", _VECTOR, word)
                ones = builder.shl(ones, _spread(builder, digit.index))
                builder.store(add(builder.load(counts), ones), counts)
            running = _running_sum(builder, builder.load(counts))
            later = [GROUP - 1, *range(GROUP, 2 * GROUP - 1)]
            carry = builder.gep(carries_, [k])
            carried = _spread(builder, builder.load(carry))
            running = add(running, carried)
            earlier = _shuffle(builder, carried, running, later)
            builder.store(_lane(builder, running, GROUP - 1), carry)
            _store(builder, cumulated_, add(mul(k, stride_), block), running)
            whole = _load(
                builder, prefix_, add(add(prefix_at_, mul(k, stride_)), block), _VECTOR, 8
            )
            carry = builder.gep(carries_, [add(k, classes_)])
            carried = _spread(builder, builder.load(carry))
            before = _shuffle(builder, carried, whole, later)
            builder.store(_lane(builder, whole, GROUP - 1), carry)
            parts = (
                (running, earlier),
                (builder.sub(whole, running), builder.sub(before, earlier)),
            )
            for side, (until, since) in enumerate(parts):
                at = add(mul(number(side), classes_), k)
                total = _spread(builder, builder.load(builder.gep(totals_, [at])))
                ahead, rest = builder.sub(total, since), builder.sub(total, until)
                most, mine, after, pair = reach[side]
                both = _max(
                    builder,
                    add(until, builder.load(mine)),
                    add(ahead, builder.load(most)),
                )
                for place, value in ((pair, both), (most, until), (mine, ahead), (after, rest)):
                    builder.store(_max(builder, builder.load(place), value), place)
        end = _load(builder, ends_, add(ends_at_, block), _VECTOR, 8)
        for side in range(2):
            most, _, after, pair = reach[side]
            at = add(mul(number(side), stride_), block)
            bound = builder.load(pair)
            _store(builder, bounds_, at, bound)
            builder.store(_max(builder, builder.load(highest[side]), bound), highest[side])
            value = builder.and_(add(builder.load(most), builder.load(after)), end)
            builder.store(_max(builder, builder.load(best[side]), value), best[side])
    for i, place in enumerate((*best, *highest)):
        builder.store(_largest(builder, builder.load(place)), builder.gep(out_, [number(i)]))
    return context.get_dummy_value()


@_intrinsic
def sweep(
    typing_context: Any,
    short_ranks: Any,  # of the split feature, in the order of the swept one
    long_ranks: Any,  # or these
    ranks_at: Any,
    code: Any,
    planes: Any,  # class and weight bits of the rows, in the order of the swept feature
    planes_at: Any,
    prefix: Any,
    prefix_at: Any,
    ends: Any,
    ends_at: Any,
    groups: Any,
    stride: Any,  # blocks of a plane
    classes: Any,
    digits: Any,
    totals: Any,  # classes of the left, classes of the right part
    cumulated: Any,  # out (classes, stride): class weights of the left part to the block's end
    words: Any,  # out (stride): rows of the left part
    bounds: Any,  # out (2, stride)
    carries: Any,  # scratch (2 · classes), zero
    out: Any,  # in: largest class weights; out: best values at ends of blocks, highest bounds
) -> Any:
    """Sweep one feature over both parts of a split at once.

    For every block it gives the class weights of the part's rows before the block's end, and a
    bound on the weight that a split by this feature inside the block classifies correctly: the
    largest weight of one class left of the block's end plus that of another right of its beginning.
    (If both leaves have the same class, the split is useless.)
    """

    arguments = (
        short_ranks, long_ranks, types.int64, types.int64, planes, types.int64, prefix, types.int64,
        ends, types.int64, types.int64, types.int64, types.int64, types.int64,
        totals, cumulated, words, bounds, carries, out,
    )  # fmt: skip
    return types.void(*arguments), _sweep_code


@_intrinsic
def refine(
    typing_context: Any,
    planes: Any,
    planes_at: Any,
    stride: Any,
    classes: Any,
    digits: Any,
    word: Any,  # rows of the part in this block
    tails: Any,
    counts: Any,  # class weights before the block, class weights from it on
) -> Any:
    """Largest weight that a threshold inside one block classifies correctly."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        planes_, counts_ = (_data(context, builder, signature.args[i], args[i]) for i in (0, 7))
        at_, stride_, classes_, digits_, word_, tails_ = args[1:7]
        zero = ir.Constant(_VECTOR, None)

        def variable() -> Any:
            place = _allocate(builder, _VECTOR)
            builder.store(zero, place)
            return place

        def constants(numbers: list[int]) -> Any:
            return ir.Constant(_VECTOR, numbers)

        parts = range(BLOCK // GROUP)
        left, right = [variable() for _ in parts], [variable() for _ in parts]
        rows = [[GROUP * c + j for j in range(GROUP)] for c in parts]
        with cgutils.for_range(builder, classes_, intp=_INT) as klass:
            k = klass.index
            before = _spread(builder, builder.load(builder.gep(counts_, [k])))
            since = _spread(builder, builder.load(builder.gep(counts_, [builder.add(k, classes_)])))
            sums = [variable() for _ in parts]
            with cgutils.for_range(builder, digits_, intp=_INT) as digit:
                plane = builder.add(builder.mul(k, digits_), digit.index)
                at = builder.add(at_, builder.mul(plane, stride_))
                mine = builder.and_(builder.load(builder.gep(planes_, [at])), word_)
                mine, shift = _spread(builder, mine), _spread(builder, digit.index)
                for c in parts:
                    until = constants([(2 << i) - 1 for i in rows[c]])
                    ones = _call(
                        builder, f"llvm.ctpop.v{GROUP}i64", _VECTOR, builder.and_(mine, until)
                    )
                    ones = builder.shl(ones, shift)
                    builder.store(builder.add(builder.load(sums[c]), ones), sums[c])
            for c in parts:
                running = builder.load(sums[c])
                for place, value in (
                    (left[c], builder.add(before, running)),
                    (right[c], builder.sub(since, running)),
                ):
                    builder.store(_max(builder, builder.load(place), value), place)
        best = zero
        tail = _spread(builder, tails_)
        for c in parts:
            allowed = builder.icmp_unsigned(
                "!=", builder.and_(tail, constants([1 << i for i in rows[c]])), zero
            )
            value = builder.add(builder.load(left[c]), builder.load(right[c]))
            best = _max(builder, best, builder.select(allowed, value, zero))
        return _call(builder, f"llvm.vector.reduce.smax.v{GROUP}i64", _INT, best)

    arguments = (
        planes, types.int64, types.int64, types.int64, types.int64,
        types.uint64, types.uint64, counts,
    )  # fmt: skip
    return types.int64(*arguments), codegen
