"""Kernels without a formula: Triton's own interpreter runs them on the CPU, where Triton is installed."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Final

import numpy as np
import torch
from attrs import define, field

from drynpu_vllm_ascend.served import Work
from drynpu_vllm_ascend.triton_kernels import _extensions
from drynpu_vllm_ascend.triton_kernels._bfloat16 import compute_bfloat16
from drynpu_vllm_ascend.triton_kernels.foreign import Foreign

_BUILDER_NAMES: Final = ("create_masked_load", "create_masked_store", "create_dot")
_OPERATIONS: Final = 8
"""Element operations for each element that a kernel loads or stores; assumed: no compiler says what is in between."""
_WHOLE_BYTES: Final = 16 << 20
"""Without values, of a larger tensor so many bytes are counted: kernels look some rows up in a cache; assumed."""


@define
class Traffic:
    """What a run of a kernel has moved so far."""

    read: int = 0
    written: int = 0
    elements: int = 0
    sides: list[tuple[int, int, int]] = field(factory=list)

    def work(self) -> Work:
        """Return the work of the run."""
        operations = _OPERATIONS * self.elements
        return Work(vector_ops=operations, sides=self.sides, read=self.read, written=self.written)


def can_interpret() -> bool:
    """Return whether Triton is here, whose interpreter needs no device."""
    return importlib.util.find_spec("triton") is not None


def run_interpreted(function: FunctionType, grid: Sequence[int], arguments: Mapping[str, object]) -> Work:
    """
    Run a kernel for each program of *grid* on tensors of the CPU, in place, and return what it has moved.

    Raises
    ------
    Exception
        What the interpreter raises for a kernel that it cannot run.
    """
    traffic = Traffic()
    with _counted(traffic):
        _readable(function)[tuple(grid)](**arguments)
    return traffic.work()


def work_without_values(tensors: Sequence[torch.Tensor]) -> Work:
    """Return the work of a run whose values nobody knows: each tensor once, read and written."""
    size = sum(min(t.numel() * t.element_size(), _WHOLE_BYTES) for t in tensors)
    elements = sum(min(t.numel(), _WHOLE_BYTES // t.element_size()) for t in tensors)
    return Work(vector_ops=_OPERATIONS * elements, read=size, written=size)


@functools.cache
def _readable(function: FunctionType) -> Foreign:
    """
    Return a kernel for the interpreter.

    The modules of vLLM have stand-ins for Triton's language, so the function gets other global names.
    """
    names = dict(function.__globals__)
    copied = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copied.__kwdefaults__, copied.__module__ = function.__kwdefaults__, function.__module__
    for name, value in function.__globals__.items():
        if name in function.__code__.co_names or isinstance(value, ModuleType):
            names[name] = _seen_by_kernels(name, value)
    return _interpreter().InterpretedFunction(copied)


@functools.cache
def _interpreter() -> Foreign:
    """
    Import Triton's interpreter and let it run kernels of Ascend (N35, docs/tricks.md).

    vLLM-Ascend has put empty modules in the place of parts that the interpreter imports.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith("triton.experimental.") and module.__spec__ is None:
            del sys.modules[name]
    interpreter = importlib.import_module("triton.runtime.interpreter")
    with contextlib.suppress(ImportError):
        # It takes functions of the library as they are to be compiled.
        importlib.import_module("triton.experimental.gluon")
    _let_library_be_interpreted(interpreter)
    _allow_any_length(interpreter)
    compute_bfloat16(interpreter)
    return interpreter


def _let_library_be_interpreted(interpreter: Foreign) -> None:
    """Let functions such as ``tl.sum`` run in the interpreter; Triton compiles them unless it was told so at first."""
    from triton import language
    from triton.runtime.jit import JITFunction

    for module in (language, language.standard, language.random):
        for name, function in list(vars(module).items()):
            if isinstance(function, JITFunction):
                setattr(module, name, interpreter.InterpretedFunction(function.fn))


def _allow_any_length(interpreter: Foreign) -> None:
    """Allow blocks whose length is no power of two, as Triton-Ascend does."""
    from triton import _utils, language

    semantic = interpreter.interpreter_semantic

    def arange(start: int, end: int, *, ret_ty: Foreign = None) -> Foreign:
        kind = ret_ty or language.block_type(language.int32, [end - start])
        return semantic.make_tensor(semantic.builder.create_make_range(kind.to_ir(semantic.builder), start, end), kind)

    vars(semantic)["arange"] = arange
    vars(_utils)["is_power_of_two"] = lambda _: True


def _seen_by_kernels(name: str, value: object) -> object:
    import triton
    import triton.language

    if isinstance(value, ModuleType) and type(value) is not ModuleType:
        return triton if value.__name__ == "triton" else triton.language
    if isinstance(inner := getattr(value, "interpretable", None), FunctionType):
        return _readable(inner)
    return getattr(_extensions, name, value) if value is None else value


@contextlib.contextmanager
def _counted(traffic: Traffic) -> Iterator[None]:
    """Count the bytes that the interpreter loads and stores, and the sides of the products."""
    builder = _interpreter().interpreter_builder
    load, store, multiply = (getattr(builder, name) for name in _BUILDER_NAMES)

    def counted_load(pointers: Foreign, mask: Foreign, *others: Foreign) -> Foreign:
        value = load(pointers, mask, *others)
        count = int(np.count_nonzero(mask.data))
        traffic.read, traffic.elements = traffic.read + count * value.data.itemsize, traffic.elements + count
        return value

    def counted_store(pointers: Foreign, value: Foreign, mask: Foreign, *others: Foreign) -> Foreign:
        count = int(np.count_nonzero(mask.data))
        traffic.written, traffic.elements = traffic.written + count * value.data.itemsize, traffic.elements + count
        return store(pointers, value, mask, *others)

    def counted_product(left: Foreign, right: Foreign, *others: Foreign) -> Foreign:
        *_, rows, inner = left.data.shape
        traffic.sides.append((rows, inner, right.data.shape[-1]))
        return multiply(left, right, *others)

    vars(builder).update(zip(_BUILDER_NAMES, (counted_load, counted_store, counted_product), strict=True))
    try:
        yield
    finally:
        vars(builder).update(zip(_BUILDER_NAMES, (load, store, multiply), strict=True))
