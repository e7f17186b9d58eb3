"""Named tuples of arrays that reach a kernel as one pointer.

numba passes a named tuple by value. A helper that takes five tuples of twenty arrays then has 700
arguments, and each of its calls copies all of them: that took most of the time of compilation.
A record is one pointer to a block of 64-bit words, which is filled when Python calls the kernel.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any, TypeVar

import numba.extending
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate

Cls = TypeVar("Cls", bound=type)

_WORD = ir.IntType(64)
_typeof: Any = numba.extending.typeof_impl
_intrinsic: Any = numba.extending.intrinsic


class Record(types.Type):
    """The numba type of a named tuple that :func:`by_reference` marks.

    Attributes
    ----------
    record : str
        Name of the named tuple.
    fields : dict
        numba type of every field.
    at : dict
        First word of every field.
    words : int
        Words of the block.
    """

    def __init__(self, name: str, fields: dict[str, Any]) -> None:
        self.record = name
        self.fields = fields
        self.at: dict[str, int] = {}
        self.words = 0
        for field, kind in fields.items():
            if not isinstance(kind, types.Array | types.Number | types.Boolean | Record):
                raise TypeError(
                    f"{name}.{field} is neither an array, a number nor a record: {kind}"
                )
            self.at[field] = self.words
            self.words += _words(kind)
        members = ", ".join(f"{field}: {kind}" for field, kind in fields.items())
        # The names of functions repeat the types of their arguments: short, but one for each type.
        self._short = name + hashlib.sha256(members.encode()).hexdigest()[:12]
        super().__init__(f"{name}({members})")

    @property
    def mangling_args(self) -> tuple[str, tuple[Any, ...]]:
        """What stands for the type in the names of compiled functions."""
        return self._short, ()


def by_reference(cls: Cls) -> Cls:
    """Let kernels take a named tuple of arrays and numbers as one pointer.

    Kernels may change the arrays' elements, but neither make such a tuple, except by
    :func:`sub_record`, nor replace its fields.
    """
    fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]

    @_typeof.register(cls)
    def _(value: Any, context: Any) -> Record:
        kinds = (_typeof(member, context) for member in value)
        return Record(cls.__qualname__, dict(zip(fields, kinds, strict=True)))

    return cls


@numba.extending.register_model(Record)
class _Pointer(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.PointerType(_WORD))  # type: ignore[no-untyped-call]

    def as_return(self, builder: Any, value: Any) -> Any:
        """Refuse: what :func:`sub_record` gives ends with the function that called it."""
        raise TypeError("a compiled function cannot return a record")


@numba.extending.infer_getattr
class _Fields(AttributeTemplate):
    key = Record

    def generic_resolve(self, record: Any, name: str) -> Any:  # type: ignore[override]
        return record.fields.get(name)


@lower_getattr_generic(Record)
def _load_field(context: Any, builder: Any, record: Any, pointer: Any, name: str) -> Any:
    kind, word = record.fields[name], record.at[name]
    if isinstance(kind, Record):
        return builder.gep(pointer, [ir.Constant(_WORD, word)], inbounds=True)
    model = context.data_model_manager[kind]
    if not isinstance(kind, types.Array):
        value = builder.load(_address(builder, pointer, word, model.get_data_type()))
        return model.from_data(builder, value)
    return builder.load(_address(builder, pointer, word, model.get_value_type()))


@_intrinsic
def sub_record(typing_context: Any, record: Any, i: Any) -> Any:
    """The record of the arrays ``array[i]``, for all arrays of a record; ``i`` is in their range.

    The function that calls it cannot return it.
    """
    if not isinstance(record, Record) or not isinstance(i, types.Integer):
        return None
    inner: dict[str, Any] = {}
    for name, kind in record.fields.items():
        if not isinstance(kind, types.Array) or kind.ndim < 2 or kind.layout != "C":
            raise TypeError(f"{record.record}.{name} has no arrays inside: {kind}")
        inner[name] = kind.copy(ndim=kind.ndim - 1)
    return Record(record.record, inner)(record, types.int64), _fill_from_record


def _fill_from_record(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write the headers of the inner arrays to a block on the stack."""
    (outer, _), inner, (pointer, i) = signature.args, signature.return_type, args
    block = cgutils.alloca_once(builder, _WORD, size=inner.words)

    def read(word: int) -> Any:
        return builder.load(_address(builder, pointer, word, _WORD))

    def write(word: int, value: Any) -> None:
        builder.store(value, _address(builder, block, word, value.type))

    for name, kind in inner.fields.items():
        # An array's header: two objects, number of items, bytes of one, data, shape, strides.
        old, new, n = outer.at[name], inner.at[name], kind.ndim
        shape = [read(old + 6 + axis) for axis in range(n)]
        strides = [read(old + 7 + n + axis) for axis in range(n)]
        size = functools.reduce(builder.mul, shape)
        data = builder.add(read(old + 4), builder.mul(i, read(old + 6 + n)))
        nothing = ir.Constant(_WORD, 0)
        header = [nothing, nothing, size, read(old + 3), data, *shape, *strides]
        for word, value in enumerate(header):
            write(new + word, value)
    return block


@numba.extending.unbox(Record)
def _fill(record: Any, value: Any, c: Any) -> Any:
    """Write the tuple's fields to a block on the stack."""
    block = cgutils.alloca_once(c.builder, _WORD, size=record.words)
    return numba.extending.NativeValue(block, is_error=_fill_block(record, value, c, block))


def _fill_block(record: Record, value: Any, c: Any, block: Any) -> Any:
    """Write the fields from a word on; whether that failed. Records in a record lie inside it."""
    failed = cgutils.false_bit
    for i, (name, kind) in enumerate(record.fields.items()):
        member, word = c.pyapi.tuple_getitem(value, i), record.at[name]
        if isinstance(kind, Record):
            inside = c.builder.gep(block, [ir.Constant(_WORD, word)], inbounds=True)
            failed = c.builder.or_(failed, _fill_block(kind, member, c, inside))
            continue
        if isinstance(kind, types.Array):
            place = _address(c.builder, block, word, cgutils.int8_t)
            wrong = cgutils.is_not_null(c.builder, c.pyapi.numba_array_adaptor(member, place))
        else:
            native, model = c.unbox(kind, member), c.context.data_model_manager[kind]
            wrong, data = native.is_error, model.as_data(c.builder, native.value)
            c.builder.store(data, _address(c.builder, block, word, data.type))
        failed = c.builder.or_(failed, wrong)
    return failed


def _words(kind: Any) -> int:
    """Words that a field takes."""
    if isinstance(kind, Record):
        return kind.words
    return 5 + 2 * kind.ndim if isinstance(kind, types.Array) else 1


def _address(builder: Any, pointer: Any, word: int, kind: Any) -> Any:
    at = builder.gep(pointer, [ir.Constant(_WORD, word)], inbounds=True)
    return builder.bitcast(at, ir.PointerType(kind))
