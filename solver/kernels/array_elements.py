"""The LLVM code that reads or writes one element of an array, in few instructions.

For each element numba copies the array's header to the stack, reads all lengths and strides back
twice, and leaves it to LLVM to find that most of it is needless. That was more than half of the
code of the kernels. Here only what the address depends on is taken from the header.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.lowering import Lower
from numba.np.arrayobj import fix_integer_index


class ElementLower(Lower):
    """numba's writer of LLVM code, with a shorter way to the elements of arrays of numbers."""

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Read ``value[index]``."""
        array, at = signature.args
        if not self._is_element(array, at):
            return super().lower_getitem(resty, expr, value, index, signature)  # type: ignore[no-untyped-call]
        item = self.context.unpack_value(
            self.builder, array.dtype, self._address(value, index, array, at)
        )
        return self.context.cast(self.builder, item, array.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Write ``target_var[index_var] = value_var``."""
        array, at, kind = signature.args
        if not self._is_element(array, at):
            return super().lower_setitem(target_var, index_var, value_var, signature)  # type: ignore[no-untyped-call]
        place = self._address(target_var, index_var, array, at)
        value = self._cast_var(value_var, kind)  # type: ignore[no-untyped-call]
        item = self.context.cast(self.builder, value, kind, array.dtype)
        return self.context.pack_value(self.builder, array.dtype, item, place)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Assign to a variable. Its old value holds no reference that must be given up."""
        if argidx is not None or name in self._singly_assigned_vars or self._disable_sroa_like_opt:
            super().storevar(value, name, argidx)  # type: ignore[no-untyped-call]
        else:
            self.builder.store(value, self.getvar(name))  # type: ignore[no-untyped-call]

    def _is_element(self, array: Any, at: Any) -> bool:
        """Whether an index names one number of an array, and nobody asked for checks."""
        kinds = _kinds(at)
        return (
            isinstance(array, types.Array)
            and isinstance(array.dtype, types.Number | types.Boolean)
            and array.aligned
            and len(kinds) == array.ndim
            and all(isinstance(kind, types.Integer) for kind in kinds)
            and not self.context.enable_boundscheck
        )

    def _address(self, variable: Any, index: Any, array: Any, at: Any) -> Any:
        """Where the element is; as in Python, a negative index counts from the end."""
        context, builder = self.context, self.builder
        header = self.loadvar(variable.name)  # type: ignore[no-untyped-call]
        position = context.data_model_manager[array].get_field_position
        axes = range(array.ndim)

        def read(field: str, *axis: int) -> Any:
            return builder.extract_value(header, [position(field), *axis])

        indices = self._cast_var(index, at)  # type: ignore[no-untyped-call]
        if isinstance(at, types.BaseTuple):
            indices = cgutils.unpack_tuple(builder, indices)
        else:
            indices = [indices]
        shape = [read("shape", axis) for axis in axes]
        strides = [read("strides", axis) for axis in axes] if array.layout == "A" else []
        indices = [
            fix_integer_index(context, builder, *each)
            for each in zip(_kinds(at), indices, shape, strict=True)
        ]
        return cgutils.get_item_pointer2(
            context, builder, read("data"), shape, strides, array.layout, indices
        )


def _kinds(at: Any) -> Any:
    """The type of each index."""
    return at.types if isinstance(at, types.BaseTuple) else (at,)  # type: ignore[attr-defined]
