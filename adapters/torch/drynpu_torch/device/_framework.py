"""Patches outside ``torch.Tensor``: autocast, generators, loading, default device, accelerator, compile."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext

from drynpu_torch.device._placement import storage_device
from drynpu_torch.device._sink import mark_storage
from drynpu_torch.device._state import DEVICE_TYPE, DeviceLike, DeviceState
from drynpu_torch.device._streams import Stream
from drynpu_torch.device.npu import memory
from drynpu_torch.device.npu.streams import current_stream, set_stream, synchronize

_BEFORE_EVERY_BUILT_IN = 5
"""Priority of our rule for storage locations. PyTorch's own begin at 10 and would allocate, which crashes."""
_FUSING = ("inductor", "npu")
"""Backends whose fused kernels would be CPU code here: PyTorch's default, and the name of torchair's."""
_OPERATOR_BY_OPERATOR = "aot_eager"
"""The backend that traces and differentiates as the fusing ones do, and leaves the operators as they are."""
_NOTICE = (
    "the simulated npu does not model fused kernels: torch.compile traces and differentiates the graph, and runs it "
    "operator by operator (backend 'aot_eager' in place of {backend!r}). Name backend='eager' or 'aot_eager' to "
    "silence this."
)


def patch_framework(state: DeviceState) -> None:
    """Patch the functions of PyTorch that ask an accelerator for what a CPU tensor cannot answer."""
    _patch_autocast()
    torch.Generator = _Generator  # type: ignore[misc, assignment]
    torch.get_default_device = _make_get_default_device(state, torch.get_default_device)
    _patch_accelerator(state)
    patch_compile()
    torch.UntypedStorage.npu = _make_storage_npu(state)  # type: ignore[attr-defined]
    torch.serialization.register_package(_BEFORE_EVERY_BUILT_IN, lambda _: None, functools.partial(_restore, state))


def patch_compile() -> None:
    """Let ``torch.compile`` run a graph operator by operator where a backend would fuse kernels for the CPU."""
    torch.compile = _operator_by_operator(torch.compile)


def patch_legacy_executor() -> None:
    """
    Let TorchScript's other executor run where a script chooses the legacy one.

    The fuser of that knows PyTorch's devices alone and refuses every call with a tensor of another: "Unknown device for
    graph fuser". Both run the same operators.
    """
    chosen = torch._C._jit_set_profiling_executor(True)

    def set_profiling_executor(profiling_flag: bool) -> bool:
        nonlocal chosen
        before, chosen = chosen, profiling_flag
        return before

    torch._C._jit_set_profiling_executor = set_profiling_executor


def _compute_type(device_type: str) -> str:
    """Return the device type that computes for *device_type*."""
    return "cpu" if device_type == DEVICE_TYPE else device_type


def _patch_autocast() -> None:
    """Let autocast for ``npu`` be the CPU's, with the default dtype (float16) and the checks of the device."""
    autocast = torch.amp.autocast_mode.autocast
    original_init, is_enabled = autocast.__init__, torch.is_autocast_enabled
    get_dtype, set_dtype, set_enabled = torch.get_autocast_dtype, torch.set_autocast_dtype, torch.set_autocast_enabled

    @functools.wraps(original_init)
    def init(self: torch.autocast, *args: Any, **kwargs: Any) -> None:
        original_init(self, *args, **kwargs)
        self.device = _compute_type(self.device)

    def is_autocast_enabled(*device_type: str) -> bool:
        return is_enabled(*map(_compute_type, device_type))

    def get_autocast_dtype(device_type: str) -> torch.dtype:
        return get_dtype(_compute_type(device_type) if is_autocast_enabled(device_type) else device_type)

    def set_autocast_dtype(device_type: str, dtype: torch.dtype) -> None:
        set_dtype(device_type, dtype)
        if is_autocast_enabled(device_type):
            set_dtype(_compute_type(device_type), dtype)

    def set_autocast_enabled(*arguments: Any) -> None:
        set_enabled(*(_compute_type(a) if isinstance(a, str) else a for a in arguments))  # type: ignore[arg-type]

    autocast.__init__ = init  # type: ignore[method-assign]
    torch.is_autocast_enabled = is_autocast_enabled  # type: ignore[assignment]
    torch.get_autocast_dtype = get_autocast_dtype
    torch.set_autocast_dtype = set_autocast_dtype
    torch.set_autocast_enabled = set_autocast_enabled  # type: ignore[assignment]
    for name in ("custom_fwd", "custom_bwd"):
        setattr(torch.amp, name, _with_compute_type(getattr(torch.amp, name)))


def _with_compute_type(decorator: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(decorator)
    def wrapper(function: object = None, *, device_type: str, **kwargs: object) -> Any:
        return decorator(function, device_type=_compute_type(device_type), **kwargs)

    return wrapper


class _GeneratorType(type):
    def __call__(cls, device: torch.device | str | int | None = None) -> torch._C.Generator:
        if isinstance(device, int):  # a bare index means the accelerator, as everywhere in PyTorch
            device = torch.device(DEVICE_TYPE, device)
        if device is None or torch.device(device).type == DEVICE_TYPE:
            return torch._C.Generator()
        return torch._C.Generator(device)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch._C.Generator)


class _Generator(metaclass=_GeneratorType):
    """``torch.Generator`` that gives a CPU generator for ``npu``, because the CPU draws the device's numbers."""


def _make_get_default_device(state: DeviceState, original: Callable[[], torch.device]) -> Callable[[], torch.device]:
    """Return a ``get_default_device`` that names the current npu; PyTorch would ask a new tensor, which says cpu."""

    @functools.wraps(original)
    def get_default_device() -> torch.device:
        modes = _get_current_function_mode_stack()  # type: ignore[no-untyped-call]
        contexts = [mode for mode in modes if isinstance(mode, DeviceContext)]
        context = contexts[-1] if contexts else getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
        if context is not None and context.device.type == DEVICE_TYPE and context.device.index is None:
            return torch.device(DEVICE_TYPE, state.current_device)
        return original()

    return get_default_device


def _restore(state: DeviceState, storage: torch.UntypedStorage, location: str) -> torch.UntypedStorage | None:
    """Leave a storage that is loaded to the device in host memory, and note the device on it."""
    if str(location).partition(":")[0] != DEVICE_TYPE:
        return None
    return mark_storage(storage, state.device_index(str(location)))


def _make_storage_npu(state: DeviceState) -> Callable[..., torch.UntypedStorage]:
    """Return the method behind ``map_location=lambda storage, location: storage.npu(0)``."""

    def npu(
        self: torch.UntypedStorage,
        device: DeviceLike = None,
        non_blocking: bool = False,  # noqa: ARG001
    ) -> torch.UntypedStorage:
        """Return a copy of the storage on *device*, or the storage itself if it was created for that device."""
        index = state.device_index(device)
        return self if storage_device(self) == index else mark_storage(self.clone(), index)  # type: ignore[no-untyped-call]

    return npu


# N22, docs/tricks.md
def _patch_accelerator(state: DeviceState) -> None:
    """Answer for ``torch.accelerator``, whose C functions have no device behind a Python backend."""

    def exchange(index: int) -> int:
        return state.select_device(index)

    answers: dict[str, Callable[..., Any]] = {
        "getDeviceIndex": lambda: state.current_device,
        "setDeviceIndex": exchange,
        "exchangeDevice": exchange,
        "maybeExchangeDevice": exchange,
        "getStream": current_stream,
        "setStream": _set_stream,
        "synchronizeDevice": synchronize,
        "isAllocatorInitialized": lambda: True,
        "emptyCache": memory.empty_cache,
        "emptyHostCache": lambda: None,
        "getDeviceStats": memory.memory_stats_as_nested_dict,
        "getMemoryInfo": memory.mem_get_info,
        "resetPeakStats": memory.reset_peak_memory_stats,
        "resetAccumulatedStats": lambda _=None: None,
    }
    for name, answer in answers.items():
        setattr(torch._C, f"_accelerator_{name}", answer)


def _set_stream(stream: torch.Stream) -> None:
    if not isinstance(stream, Stream):
        stream = Stream(stream.device_index, stream_id=stream.stream_id)
    set_stream(stream)


def _operator_by_operator(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compile(*args: object, backend: object = _FUSING[0], **kwargs: object) -> Any:  # noqa: A001 - PyTorch's name
        if backend in _FUSING and not kwargs.get("disable"):
            warnings.warn(_NOTICE.format(backend=backend), stacklevel=2)
            # mode and options belong to the backend that does not run.
            kwargs = {name: value for name, value in kwargs.items() if name not in ("mode", "options")}
            backend = _OPERATOR_BY_OPERATOR
        return original(*args, backend=backend, **kwargs)

    return compile
