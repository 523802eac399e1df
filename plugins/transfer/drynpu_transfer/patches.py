"""Patches that give CUDA's names in PyTorch the meaning of the NPU's."""

from __future__ import annotations

import functools
import logging
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch
from torch.autograd.profiler_util import Kernel
from torch.utils import _triton, cpp_extension
from torch.utils._device import _device_constructors

from drynpu_torch import profiler
from drynpu_torch.device import npu
from drynpu_torch.distributed import ProcessGroupHCCL
from drynpu_torch.install import install
from drynpu_transfer.classes import event_class
from drynpu_transfer.devices import to_npu, with_hccl_backend, with_npu_devices

_FACTORIES = (
    "arange as_tensor asarray bartlett_window blackman_window empty empty_like empty_quantized empty_strided eye "
    "frombuffer full full_like get_device_module hamming_window hann_window kaiser_window linspace load logspace "
    "normal ones ones_like rand rand_like randint randint_like randn randn_like randperm range scalar_tensor "
    "set_default_device sparse_compressed_tensor sparse_coo_tensor sparse_csr_tensor tensor tril_indices triu_indices "
    "zeros zeros_like"
)
_METHODS = "new_empty new_empty_strided new_full new_ones new_tensor new_zeros pin_memory to"
TRANSFERRED: Mapping[str, tuple[str, ...]] = {
    "torch": tuple(_FACTORIES.split()),
    "torch.Tensor": tuple(_METHODS.split()),
    "torch.nn.Module": ("to", "to_empty"),
    "torch.fft": ("fftfreq", "rfftfreq"),
}
"""Functions whose device arguments are translated, by where they are."""

_TAKES_INDEX = ("to", "to_empty")
_JIT_WARNING = (
    "torch.jit.script and torch.jit.script_method will be disabled by transfer_to_npu, which currently does not "
    "support them, if you need to enable them, please do not use transfer_to_npu."
)
_CONFIG_WARNING = (
    "The parameter experimental_config of torch.profiler.profile has been removed by the tool because it can only be "
    "used with CUDA. Please manually modify the code to use an experimental_config parameter that supports NPU."
)


@functools.cache
def transfer() -> None:
    """
    Patch PyTorch so that CUDA names mean the NPU; later calls change nothing.

    ``torch.cuda.*`` answers with ``torch.npu.*``, ``.cuda()`` moves to the NPU, device arguments that say ``cuda`` are
    read as ``npu``, ``nccl`` as ``hccl``, and ``torch.profiler`` is the NPU's profiler. ``torch.jit.script`` returns
    its function uncompiled, as with the vendor's tool.

    Raises
    ------
    RuntimeError
        Another package uses PyTorch's slot for an outside device.
    """
    install()
    # A device context (``with torch.device("cuda")``) knows the functions that it changes as they are at its first use.
    _device_constructors()
    _patch_cuda()
    _patch_devices()
    _patch_distributed()
    _patch_profiler()
    _patch_compilers()
    _announce()


def _patch_cuda() -> None:
    """Give ``torch.cuda`` and its submodules the names of the NPU's."""
    for npu_module, cuda_module in (
        (npu, torch.cuda),
        (npu.amp, torch.cuda.amp),
        (npu.random, torch.cuda.random),
        (npu.memory, torch.cuda.memory),
        (npu.streams, torch.cuda.streams),
    ):
        for name in npu_module.__all__:
            value = getattr(npu_module, name)
            if not isinstance(value, ModuleType):
                setattr(cuda_module, name, with_npu_devices(value) if _is_function(value) else value)
    for name in ("_record_memory_history", "_snapshot", "_dump_snapshot"):
        setattr(torch.cuda.memory, name, with_npu_devices(getattr(npu.memory, name)))
    for name in ("autocast_mode", "common", "grad_scaler"):
        setattr(torch.cuda.amp, name, getattr(npu.amp, name))
    torch.cuda.default_generators = npu.random.generators_by_device()  # type: ignore[assignment]
    if "NPUGraph" in npu.__all__:  # the plugin torch_graphs is on
        torch.cuda.CUDAGraph = npu.NPUGraph  # type: ignore[misc, assignment]
    torch.cuda.DoubleTensor = npu.FloatTensor  # type: ignore[attr-defined] # as the vendor's tool
    # N22, docs/tricks.md
    torch._C._host_emptyCache = npu.host_empty_cache
    torch.cuda.device = _device_context  # type: ignore[assignment, misc]
    torch.cuda._lazy_init = lambda: None
    torch.cuda._is_in_bad_fork = lambda: False


def _device_context(device: object) -> Any:
    return npu.device(to_npu(device))


def _patch_devices() -> None:
    for owner, path in zip((torch, torch.Tensor, torch.nn.Module, torch.fft), TRANSFERRED, strict=True):
        for name in TRANSFERRED[path]:
            original = getattr(owner, name, None)
            if original is not None:
                setattr(owner, name, with_npu_devices(original, indices=name in _TAKES_INDEX))
    # The constructors alone are patched, so that classes stay classes.
    for kind in (
        torch.amp.autocast_mode.autocast,
        torch.amp.GradScaler,
        torch.utils._device.DeviceContext,
        torch.utils.data.DataLoader,
    ):
        kind.__init__ = with_npu_devices(kind.__init__)  # type: ignore[method-assign]
    generators = type(torch.Generator)  # the metaclass that the device has put there
    generators.__call__ = with_npu_devices(generators.__call__)  # type: ignore[method-assign]
    torch.Event = event_class(torch.Event)  # type: ignore[misc]
    torch.Tensor.cuda = torch.Tensor.npu  # type: ignore[attr-defined, method-assign]
    torch.Tensor.is_cuda = torch.Tensor.is_npu  # type: ignore[attr-defined]
    torch.nn.Module.cuda = torch.nn.Module.npu  # type: ignore[attr-defined, method-assign]


def _patch_distributed() -> None:
    if not torch.distributed.is_available():
        return
    for name in ("init_process_group", "new_group"):
        setattr(torch.distributed, name, with_npu_devices(with_hccl_backend(getattr(torch.distributed, name))))
    make_mesh = with_npu_devices(torch.distributed.device_mesh.init_device_mesh)
    torch.distributed.init_device_mesh = torch.distributed.device_mesh.init_device_mesh = make_mesh
    forget_nccl()
    torch.distributed.is_nccl_available = lambda: True
    for module in (torch.distributed, torch.distributed.distributed_c10d):
        module.ProcessGroupNCCL = ProcessGroupHCCL  # type: ignore[attr-defined]
    parallel = torch.nn.parallel.DistributedDataParallel
    parallel.__init__ = with_npu_devices(parallel.__init__)  # type: ignore[method-assign]


def forget_nccl() -> None:
    """Take cuda from the devices that have a backend by default, where PyTorch's version has such a table."""
    getattr(torch.distributed.Backend, "default_device_backend_map", {}).pop("cuda", None)


def _patch_profiler() -> None:
    torch.profiler.profile = without_cuda_config(_profile)  # type: ignore[misc, assignment]
    # A named tuple has no constructor of its own to patch, but a function that makes it.
    Kernel.__new__ = with_npu_devices(Kernel.__new__)  # type: ignore[method-assign]
    for name in ("schedule", "tensorboard_trace_handler", "ProfilerAction"):
        setattr(torch.profiler, name, getattr(profiler, name))


def _profile(**arguments: Any) -> profiler.profile:
    """Return ``torch_npu.profiler.profile`` for PyTorch's activities."""
    activity = torch.profiler.ProfilerActivity
    meaning = {activity.CPU: profiler.ProfilerActivity.CPU, activity.CUDA: profiler.ProfilerActivity.NPU}
    if arguments.get("activities"):
        arguments["activities"] = [meaning.get(item, item) for item in arguments["activities"]]
    return profiler.profile(**arguments)


def without_cuda_config(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap *function*: a configuration meant for CUDA among its arguments is left out, with a warning."""

    @functools.wraps(function)
    def wrapper(*args: object, **kwargs: object) -> Any:
        config = kwargs.get("experimental_config")
        if config is not None and not isinstance(config, profiler._ExperimentalConfig):
            logging.warning(_CONFIG_WARNING)  # noqa: LOG015 - the vendor's tool warns there
            del kwargs["experimental_config"]
        return function(*args, **kwargs)

    return wrapper


def _patch_compilers() -> None:
    warnings.warn(_JIT_WARNING, RuntimeWarning, stacklevel=4)
    torch.jit.script = _not_scripted
    torch.jit.script_method = lambda function: function
    _triton.has_triton = lambda: False  # type: ignore[assignment]
    cpp_extension.include_paths = with_npu_devices(cpp_extension.include_paths)


def _not_scripted(obj: object, *_: object, **__: object) -> Any:
    return obj


def _announce() -> None:
    """Say what changes in an ``ImportWarning``, which Python would hide by default."""
    counts = ", ".join(f"{len(names)} of {path}" for path, names in TRANSFERRED.items())
    with warnings.catch_warnings():
        warnings.simplefilter("always", ImportWarning)
        warnings.warn(
            "transfer_to_npu: torch.cuda.* is torch.npu.*, torch.Tensor.cuda and torch.nn.Module.cuda move to the npu, "
            "the backend nccl is hccl, torch.profiler is torch_npu.profiler, and 'cuda' means 'npu' in the device "
            f"arguments of functions ({counts}; drynpu_transfer.patches.TRANSFERRED lists them)",
            ImportWarning,
            stacklevel=4,
        )


def _is_function(value: object) -> bool:
    return callable(value) and not isinstance(value, type)
