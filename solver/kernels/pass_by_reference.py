"""Named tuples of arrays that reach a kernel as one pointer.

numba passes a named tuple by value. A helper that takes five tuples of twenty arrays then has 700
arguments, and each of its calls copies all of them: that took most of the time of compilation.
A record is one pointer to a block of 64-bit words, which is filled when Python calls the kernel.
"""

from __future__ import annotations

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

    Kernels may change the arrays' elements, but neither make such a tuple nor replace its fields.
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
