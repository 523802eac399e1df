"""What ``triton.jit`` makes of a function where no driver of Triton is active: a kernel that can be launched."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Final, TypeAlias

import torch
from attrs import define as value

from drynpu import CaptureError
from drynpu_torch.device import state
from drynpu_vllm_ascend.served import Arguments, define
from drynpu_vllm_ascend.triton_kernels import drafts, slots
from drynpu_vllm_ascend.triton_kernels._calls import INTERPRETED, launch_interpreted
from drynpu_vllm_ascend.triton_kernels._interpreted import can_interpret
from drynpu_vllm_ascend.triton_kernels.foreign import Foreign

NAMESPACE: Final = "triton_kernels"
_KERNELS: Final = {kernel.name: kernel for kernel in (*slots.KERNELS, *drafts.KERNELS)}

Supplier: TypeAlias = Callable[[Arguments], Arguments]
"""States arguments of a kernel that follow from the others."""


def kernel_names() -> tuple[str, ...]:
    """Return the names of the operators, with their namespace, as recordings have them."""
    return tuple(f"{NAMESPACE}::{name}" for name in (*_KERNELS, INTERPRETED.name))


def patch_stand_in(module: ModuleType) -> None:
    """Let the decorators of vLLM's stand-in for Triton make kernels that can be launched."""
    stand_in = module.TritonPlaceholder
    initialise = stand_in.__init__

    @functools.wraps(initialise)
    def with_kernels(self: ModuleType) -> None:
        initialise(self)
        decorators = {"jit": jit, "heuristics": heuristics, "autotune": autotune, "Config": Config}
        self.__dict__.update(decorators, next_power_of_2=next_power_of_2, runtime=_runtime())

    stand_in.__init__ = with_kernels


def _runtime() -> SimpleNamespace:
    """Return what code of the host asks Triton's driver for: the cores of the device."""
    utils = SimpleNamespace(get_device_properties=device_properties)
    return SimpleNamespace(driver=SimpleNamespace(active=SimpleNamespace(utils=utils)))


def device_properties(device: int = 0) -> Mapping[str, int]:
    """Return how many cores the simulated device has, as Triton-Ascend's driver does."""
    del device
    chip = state().chip
    return {"num_aicore": chip.cube_cores, "num_vectorcore": chip.vector_cores}


def next_power_of_2(number: int) -> int:
    """Return the least power of two that is not less than a positive number, as ``triton.next_power_of_2`` does."""
    return 1 << (number - 1).bit_length()


def jit(function: FunctionType | None = None, **options: object) -> object:
    """Return a kernel, or a decorator that makes one, as ``triton.jit`` does."""
    del options
    return Kernel if function is None else Kernel(function)


def heuristics(values: Mapping[str, Callable[[Arguments], object]]) -> Callable[[Kernel], Kernel]:
    """Let a kernel get arguments that are computed from the others, as ``triton.heuristics`` does."""
    return lambda kernel: kernel.supplied(lambda present: {name: value(present) for name, value in values.items()})


def autotune(configs: Sequence[Config], **options: object) -> Callable[[Kernel], Kernel]:
    """Let a kernel get the arguments of the first configuration: there is no device on which one is the fastest."""
    del options
    return lambda kernel: kernel.supplied(lambda _: configs[0].arguments)


@value
class Config:
    """Arguments of a kernel, as ``triton.Config`` has them; what a compiler wants to know besides is left out."""

    arguments: Arguments

    def __init__(self, kwargs: Arguments, *others: object, **options: object) -> None:
        del others, options
        self.arguments = kwargs


class Kernel:
    """A Triton kernel, launched as ``kernel[grid](...)``. ``interpretable`` is the function that it was made of."""

    def __init__(self, function: FunctionType, suppliers: Sequence[Supplier] = ()) -> None:
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self.interpretable = function
        self._suppliers = suppliers

    def supplied(self, supplier: Supplier) -> Kernel:
        """Return this kernel with more arguments that need not be given."""
        return Kernel(self.interpretable, (*self._suppliers, supplier))

    def __getitem__(self, grid: object) -> Callable[..., None]:
        """Return what launches the kernel for each program of a grid."""
        return functools.partial(self._launch, grid)

    def _launch(self, grid: Foreign, *args: object, **kwargs: object) -> None:
        arguments = self._bound(args, kwargs)
        if self.__name__ in _KERNELS:
            overload = _operator(self.__name__)
            named = {key.lower(): value for key, value in arguments.items()}
            overload(**{each.name: named[each.name] for each in overload._schema.arguments})
        elif can_interpret():
            programs = tuple(grid(arguments) if callable(grid) else grid)
            launch_interpreted(_operator(INTERPRETED.name), self.interpretable, programs, arguments)
        else:
            raise CaptureError(
                f"{self.interpretable.__module__}.{self.__name__} is a Triton kernel that drynpu does not compute "
                "itself; install triton, whose interpreter does"
            )

    def _bound(self, args: Sequence[object], kwargs: Arguments) -> Arguments:
        """Return all arguments by name; options of the compiler, such as ``num_warps``, are left out."""
        signature = inspect.signature(self.interpretable)
        values = {**signature.bind_partial(*args).arguments, **kwargs}
        for supplier in self._suppliers:
            values = {**supplier(values), **values}
        bound = signature.bind(**{name: value for name, value in values.items() if name in signature.parameters})
        bound.apply_defaults()
        return bound.arguments


@functools.cache
def _operator(name: str) -> torch._ops.OpOverload:
    define(_library(), NAMESPACE, _KERNELS.get(name, INTERPRETED))
    return getattr(getattr(torch.ops, NAMESPACE), name).default  # type: ignore[no-any-return]


@functools.cache
def _library() -> torch.library.Library:
    return torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]
