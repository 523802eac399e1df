"""What ``triton.jit`` makes of a function where no driver of Triton is active: a kernel computed by a formula."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Final

import torch

from drynpu import CaptureError
from drynpu_vllm_ascend.served import define
from drynpu_vllm_ascend.triton_kernels import drafts, slots

NAMESPACE: Final = "triton_kernels"
_KERNELS: Final = {kernel.name: kernel for kernel in (*slots.KERNELS, *drafts.KERNELS)}


def kernel_names() -> tuple[str, ...]:
    """Return the names of the operators, with their namespace, as recordings have them."""
    return tuple(f"{NAMESPACE}::{name}" for name in _KERNELS)


def patch_stand_in(module: ModuleType) -> None:
    """Let the decorator of vLLM's stand-in for Triton make kernels that can be launched."""
    stand_in = module.TritonPlaceholder
    initialise = stand_in.__init__

    @functools.wraps(initialise)
    def with_kernels(self: ModuleType) -> None:
        initialise(self)
        self.__dict__["jit"] = jit

    stand_in.__init__ = with_kernels


def jit(function: FunctionType | None = None, **options: object) -> object:
    """Return a kernel, or a decorator that makes one, as ``triton.jit`` does."""
    del options
    return Kernel if function is None else Kernel(function)


class Kernel:
    """A Triton kernel, launched as ``kernel[grid](...)``; other kernels that call it never run."""

    def __init__(self, function: FunctionType) -> None:
        self.__doc__ = function.__doc__
        self._function = function

    def __getitem__(self, grid: object) -> Callable[..., None]:
        """Return what launches the kernel; its result does not hang on how the work is divided."""
        del grid
        return self._launch

    def _launch(self, *args: object, **kwargs: object) -> None:
        name = self._function.__name__
        if name not in _KERNELS:
            raise CaptureError(
                f"{self._function.__module__}.{name} is a Triton kernel that drynpu does not compute; "
                "switch off the option of the engine that launches it"
            )
        signature = inspect.signature(self._function)
        options = kwargs.keys() - signature.parameters.keys()  # of the compiler, such as num_warps
        bound = signature.bind(*args, **{key: value for key, value in kwargs.items() if key not in options})
        bound.apply_defaults()
        overload = _operator(name)
        arguments = {key.lower(): value for key, value in bound.arguments.items()}
        overload(**{each.name: arguments[each.name] for each in overload._schema.arguments})


@functools.cache
def _operator(name: str) -> torch._ops.OpOverload:
    define(_library(), NAMESPACE, _KERNELS[name])
    return getattr(getattr(torch.ops, NAMESPACE), name).default  # type: ignore[no-any-return]


@functools.cache
def _library() -> torch.library.Library:
    return torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]
