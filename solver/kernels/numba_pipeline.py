"""numba's compiler without the work that kernels do not need.

numba optimises every function by itself and makes machine code of it, also of helpers that only
other compiled functions call. Here a helper stays LLVM code until a kernel that calls it is
compiled: all of it is optimised once, together, and only the kernel becomes machine code.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

from numba.core import compiler, postproc, transforms, typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher

from solver.kernels.array_elements import ElementLower
from solver.kernels.pass_by_reference import Record


class _Code(JITCodeLibrary):
    def _optimize_functions(self, module: Any) -> None:
        """Leave single functions as they are: they are optimised where all come together."""
        module.data_layout = self._codegen._data_layout


class _HelperCode(_Code):
    """The LLVM code of one helper, neither optimised with its callees nor compiled."""

    def finalize(self) -> None:
        self._final_module.verify()
        self._finalized = True


class _KernelCode(_Code):
    """The code of a kernel and of all its helpers, optimised together."""

    def _optimize_final_module(self) -> None:
        # numba runs a cheaper pass before this one, to prune reference counts. Kernels have none.
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class _Lower(ElementLower):
    def setup_function(self, fndesc: Any) -> None:
        """Tell LLVM that no store in the function changes a record."""
        super().setup_function(fndesc)  # type: ignore[no-untyped-call]
        arguments = {a.name: a for a in self.context.call_conv.get_arguments(self.function)}
        for name, kind in zip(fndesc.args, fndesc.argtypes, strict=True):
            if isinstance(kind, Record):
                for attribute in ("noalias", "captures(none)", "nonnull"):
                    with contextlib.suppress(ValueError):  # numba 0.62 has no captures(none)
                        arguments["arg." + name].add_attribute(attribute)


class _NoMachineCode:
    """Stands where numba expects the compiled function that Python calls."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.name} is a helper: only kernels can call it")


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerHelper(typed_passes.NativeLowering):
    _name = "lower_helper"
    lowering_class = _Lower

    def run_pass(self, state: Any) -> bool:
        context, name = state.targetctx, state.func_id.func_qualname
        state.library = library = _HelperCode(context.codegen(), name)  # type: ignore[no-untyped-call]
        state.flags.no_compile = True
        super().run_pass(state)  # type: ignore[no-untyped-call]
        library.finalize()
        function = _NoMachineCode(name)
        # A caller links what it names here, and nothing further: so a helper names its callees too.
        linked = [library, *library._linking_libraries]
        context.insert_user_function(function, state["cr"].fndesc, linked)
        state["cr"] = state["cr"]._replace(cfunc=function)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerKernel(typed_passes.NativeLowering):
    _name = "lower_kernel"
    lowering_class = _Lower

    def run_pass(self, state: Any) -> bool:
        state.library = _KernelCode(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        state.library.enable_object_caching()
        return bool(super().run_pass(state))  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect garbage rarely: numba keeps most of its many objects, and looking took a fifth."""
    usual = gc.get_threshold()
    gc.set_threshold(20_000, 20, 1_000)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


_NEEDLESS = (
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.DeadBranchPrune,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.InlineInlinables,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    typed_passes.DumpParforDiagnostics,
    typed_passes.IRLegalization,
)
"""Passes for what kernels do without: closures, expressions of whole arrays, counted references.

The last one notes where a variable is used last, so that its reference is given up there.
"""


_signatures: dict[Any, Any] = {}


@contextlib.contextmanager
def _known_functions() -> Iterator[None]:
    """Look an operator or a builtin up once for the same types.

    At each use numba tries one definition after the other, when it infers types and again when it
    writes code.
    """
    builtin: Any = types.Function
    look_up = builtin.get_call_type

    def get_call_type(function: Any, typing: Any, arguments: Any, keywords: Any) -> Any:
        if getattr(function.typing_key, "__module__", "") not in ("_operator", "builtins"):
            return look_up(function, typing, arguments, keywords)
        key = function, tuple(arguments), tuple(keywords.items())
        if key not in _signatures:
            _signatures[key] = look_up(function, typing, arguments, keywords)
        return _signatures[key]

    builtin.get_call_type = get_call_type
    try:
        yield
    finally:
        builtin.get_call_type = look_up


@contextlib.contextmanager
def _no_lifetimes() -> Iterator[None]:
    """Do not look where each variable is alive: numba does after many passes, for other code."""
    processor: Any = postproc.PostProcessor
    run = processor.run

    def run_quickly(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        code = self.func_ir
        if emit_dels or code.is_generator:  # a function of numba's own
            run(self, emit_dels, extend_lifetimes)
            return
        code.blocks = transforms.canonicalize_cfg(code.blocks)
        code.variable_lifetime = postproc.VariableLifetime(code.blocks)
        code.generator_info = None

    processor.run = run_quickly
    try:
        yield
    finally:
        processor.run = run


@cache
def _size(target: Any, kind: Any) -> int:
    """Bytes of a type. To ask LLVM, numba writes and reads a whole module."""
    return int(kind.get_abi_size(target))


def _pipeline(lowering: Any) -> Any:
    """numba's pipeline with another pass in the place of the one that makes machine code."""

    class Pipeline(compiler.CompilerBase):
        def define_pipelines(self) -> list[Any]:
            passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes.passes = [
                (lowering if each is typed_passes.NativeLowering else each, why)
                for each, why in passes.passes
                if each not in _NEEDLESS
            ]
            passes._finalized = False
            passes.finalize()
            return [passes]

        def _compile_core(self) -> Any:  # one thread at a time: numba holds a lock
            context: Any = self.state.targetctx
            # numba looks for new definitions whenever it handles an array. There are none.
            context.refresh = lambda: None
            context.get_abi_sizeof = partial(_size, context.target_data)
            with _rare_collections(), _known_functions(), _no_lifetimes():
                return super()._compile_core()  # type: ignore[no-untyped-call]

    return Pipeline


KERNEL_PIPELINE = _pipeline(_LowerKernel)
_HELPER_PIPELINE = _pipeline(_LowerHelper)


class Helper(CPUDispatcher):
    """A function that only compiled functions call.

    Parameters
    ----------
    function : callable
    options : mapping
        Further options of ``numba.njit``.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        chosen = {
            "nopython": True,
            "boundscheck": None,
            "no_cpython_wrapper": True,
            "no_cfunc_wrapper": True,
            **options,
        }
        super().__init__(function, targetoptions=chosen, pipeline_class=_HELPER_PIPELINE)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile the helper once for all numbers of a type; numba does for each constant again.

        LLVM still knows the constant where it merges the helper into its caller.
        """
        args = tuple(map(types.unliteral, args))
        kws = {name: types.unliteral(kind) for name, kind in kws.items()}
        return super().get_call_template(args, kws)

    def add_overload(self, result: Any) -> None:
        """Note what was compiled; there is nothing that Python could call."""
        self.overloads[tuple(result.signature.args)] = result
