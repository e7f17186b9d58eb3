"""Vector instructions for the sums of several subsets at once.

A *lane* is a subset of the current rows: bit ``k`` of ``bits[row]`` says whether lane ``k`` holds
the row; the other rows form its complement. One pass over the rows in the order of a feature keeps
the running sums of all lanes in vector registers. So it finds the best stump of :data:`LANES`
subsets and of their complements. Each addition and multiplication follows IEEE 754, so results are
the same on all processors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8

_INT = ir.IntType(64)
_SHORT = ir.IntType(32)
_REAL = ir.DoubleType()
_VECTOR = ir.VectorType(_REAL, LANES)
_MASK = ir.VectorType(ir.IntType(1), LANES)
_ZERO = ir.Constant(_VECTOR, None)
_intrinsic: Any = intrinsic
_allocate: Any = cgutils.alloca_once
_loop: Any = cgutils.for_range


def _int(number: int) -> Any:
    return ir.Constant(_INT, number)


def _splat(builder: Any, number: Any) -> Any:
    """A vector of one number."""
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    one = builder.insert_element(nothing, number, ir.Constant(_SHORT, 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(_SHORT, LANES), [0] * 8))


def _vector_at(builder: Any, data: Any, index: Any) -> Any:
    """Where the vector of this number begins in an array of numbers."""
    place = builder.gep(data, [builder.mul(index, _int(LANES))])
    return builder.bitcast(place, _VECTOR.as_pointer())


def _load(builder: Any, place: Any) -> Any:
    return builder.load(place, align=8)


def _store(builder: Any, value: Any, place: Any) -> None:
    builder.store(value, place, align=8)


def _mask(builder: Any, bits: Any, row: Any) -> Any:
    return builder.bitcast(builder.load(builder.gep(bits, [row])), _MASK)


def _data(context: Any, builder: Any, kinds: Any, args: Any, i: int) -> Any:
    return context.make_array(kinds[i])(context, builder, args[i]).data


@_intrinsic
def sum_lanes(
    typing_context: Any,
    bits: Any,  # (rows,)
    rows: Any,
    sums: Any,  # (rows, width)
    width: Any,
    out: Any,  # (width, LANES): sums of every lane
) -> Any:
    """Sums over the rows of every lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        bits_, sums_, out_ = (_data(context, builder, kinds, args, i) for i in (0, 2, 4))
        with _loop(builder, args[3], intp=_INT) as column:
            place = _allocate(builder, _VECTOR)
            builder.store(_ZERO, place)
            with _loop(builder, args[1], intp=_INT) as row:
                at = builder.add(builder.mul(row.index, args[3]), column.index)
                number = builder.load(builder.gep(sums_, [at]))
                kept = builder.select(
                    _mask(builder, bits_, row.index), _splat(builder, number), _ZERO
                )
                builder.store(builder.fadd(builder.load(place), kept), place)
            _store(builder, builder.load(place), _vector_at(builder, out_, column.index))
        return context.get_dummy_value()

    return types.void(bits, types.int64, sums, types.int64, out), codegen


def _sweep(outputs: int | None, sides: tuple[int, ...]) -> Callable[..., None]:
    """A sweep for this many outputs, held in registers; None: for any number, held in memory."""

    @_intrinsic
    def sweep(
        typing_context: Any,
        order: Any,  # (rows,) from order_at on: 2 · row + (whether it is the last of its value)
        order_at: Any,
        rows: Any,
        bits: Any,  # (rows,)
        sums: Any,  # (rows, width): weight, then weight · value of every output, ...
        width: Any,
        count: Any,  # outputs
        totals: Any,  # (2, width, LANES): sums of the lanes, and of their complements
        least: Any,  # (2, LANES): smallest weight of a leaf
        scratch: Any,  # (2, 1 + outputs, LANES)
        gains: Any,  # (2, LANES) out
    ) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            names = (
                "order", "order_at", "rows", "bits", "sums", "width", "count", "totals", "least",
                "scratch", "gains",
            )  # fmt: skip
            arrays = {"order", "bits", "sums", "totals", "least", "scratch", "gains"}
            given = {
                name: _data(context, builder, signature.args, args, i) if name in arrays else value
                for i, (name, value) in enumerate(zip(names, args, strict=True))
            }
            _emit(builder, given, outputs, sides)
            return context.get_dummy_value()

        signature = types.void(
            order, types.int64, types.int64, bits, sums, types.int64, types.int64, totals,
            least, scratch, gains,
        )  # fmt: skip
        return signature, codegen

    return sweep  # type: ignore[no-any-return]


class _Sums:
    """Running sums of the lanes and of all rows: a vector for the weight and for every output."""

    def __init__(self, builder: Any, given: dict[str, Any], outputs: int | None) -> None:
        self.builder, self.outputs = builder, outputs
        self.columns = builder.add(given["count"], _int(1))
        self.scratch, self.totals = given["scratch"], given["totals"]
        self.width = given["width"]
        if outputs is not None:
            self.held = [[_allocate(builder, _VECTOR) for _ in range(outputs + 1)] for _ in "lr"]

    def columns_from(self, first: int, body: Callable[[Any], None]) -> None:
        """The body for every column: 0 is the weight, the others are the outputs."""
        if self.outputs is not None:
            for q in range(first, self.outputs + 1):
                body(q)
        else:
            start, stop = _int(first), self.columns
            with _loop(self.builder, stop, start=start, intp=_INT) as column:
                body(column.index)

    def place(self, kind: int, q: Any) -> Any:
        """Where the sum of the lanes (kind 0) or of all rows (1) is held."""
        if self.outputs is not None:
            return self.held[kind][q]
        index = self.builder.add(self.builder.mul(self.columns, _int(kind)), q)
        return _vector_at(self.builder, self.scratch, index)

    def of(self, side: int, q: Any) -> Any:
        """The sum of the lanes (side 0) or of their complements (side 1) so far."""
        lanes = _load(self.builder, self.place(0, q))
        if side == 0:
            return lanes
        return self.builder.fsub(_load(self.builder, self.place(1, q)), lanes)

    def total(self, side: int, q: Any) -> Any:
        """The sum of the lanes or of their complements at the end."""
        column = _int(q) if isinstance(q, int) else q
        index = self.builder.add(self.builder.mul(self.width, _int(side)), column)
        return _load(self.builder, _vector_at(self.builder, self.totals, index))


def _emit(builder: Any, given: dict[str, Any], outputs: int | None, sides: tuple[int, ...]) -> None:
    """The code of a sweep.

    With weight w and sum s of the rows so far, W and S of the whole, a stump there saves |sW − Sw|²
    / (w(W − w)) / W of a leaf's squared error. The largest fraction is found by products: a
    division would take longer than everything else.
    """
    sums = _Sums(builder, given, outputs)
    best = {side: [_allocate(builder, _VECTOR) for _ in range(2)] for side in sides}
    total = _allocate(builder, _VECTOR)
    one = ir.Constant(_VECTOR, [1.0] * LANES)
    for numerator, denominator in best.values():
        builder.store(_ZERO, numerator)
        builder.store(one, denominator)
    for kind in range(2):
        sums.columns_from(0, lambda q, kind=kind: _store(builder, _ZERO, sums.place(kind, q)))  # type: ignore[misc]
    places = {side: _vector_at(builder, given["least"], _int(side)) for side in sides}
    least = {side: _load(builder, place) for side, place in places.items()}
    with _loop(builder, given["rows"], intp=_INT) as position:
        at = builder.add(given["order_at"], position.index)
        entry = builder.load(builder.gep(given["order"], [at]))
        row = builder.zext(builder.lshr(entry, ir.Constant(_SHORT, 1)), _INT)
        mask = _mask(builder, given["bits"], row)
        first = builder.mul(row, given["width"])

        def add(q: Any) -> None:
            column = _int(q) if isinstance(q, int) else q
            number = builder.load(builder.gep(given["sums"], [builder.add(first, column)]))
            everywhere = _splat(builder, number)
            for kind, more in ((0, builder.select(mask, everywhere, _ZERO)), (1, everywhere)):
                place = sums.place(kind, q)
                _store(builder, builder.fadd(_load(builder, place), more), place)

        sums.columns_from(0, add)
        with builder.if_then(builder.trunc(entry, ir.IntType(1))):
            for side in sides:
                zero = 0 if outputs is not None else _int(0)
                weight, whole = sums.of(side, zero), sums.total(side, zero)
                rest = builder.fsub(whole, weight)
                builder.store(_ZERO, total)

                def square(q: Any, side: int = side, weight: Any = weight, w: Any = whole) -> None:
                    moment = builder.fsub(
                        builder.fmul(sums.of(side, q), w), builder.fmul(sums.total(side, q), weight)
                    )
                    product = builder.fmul(moment, moment)
                    builder.store(builder.fadd(builder.load(total), product), total)

                sums.columns_from(1, square)
                numerator, denominator = best[side]
                above, below = builder.load(total), builder.fmul(weight, rest)
                better = builder.fcmp_ordered(
                    ">",
                    builder.fmul(above, builder.load(denominator)),
                    builder.fmul(builder.load(numerator), below),
                )
                for part in (weight, rest):
                    better = builder.and_(better, builder.fcmp_ordered(">=", part, least[side]))
                for place, value in ((numerator, above), (denominator, below)):
                    builder.store(builder.select(better, value, builder.load(place)), place)
    for side in sides:
        whole = sums.total(side, 0 if outputs is not None else _int(0))
        some = builder.fcmp_ordered(">", whole, one)
        whole = builder.select(some, whole, one)
        numerator, denominator = (builder.load(place) for place in best[side])
        gain = builder.fdiv(builder.fdiv(numerator, denominator), whole)
        _store(builder, gain, _vector_at(builder, given["gains"], _int(side)))


_BOTH = (0, 1)
sweep_one: Any = _sweep(1, _BOTH)
sweep_two: Any = _sweep(2, _BOTH)
sweep_three: Any = _sweep(3, _BOTH)
sweep_many: Any = _sweep(None, _BOTH)
