"""
``torch.npu``, which is also ``torch_npu.npu``: the documented functions of the vendor's module.

What is documented there and not provided here raises an ``AttributeError`` that says so.
"""

from __future__ import annotations

from typing import NoReturn

from drynpu_torch.device._streams import Event, Stream
from drynpu_torch.device.npu import amp, memory, random, streams, utils
from drynpu_torch.device.npu._devices import (
    DeviceProperties,
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_initialized,
    set_device,
)
from drynpu_torch.device.npu._settings import (
    aclnn,
    config,
    conv,
    get_mm_bmm_format_nd,
    is_jit_compile_false,
    matmul,
    set_compile_mode,
    set_mm_bmm_format_nd,
    set_option,
)
from drynpu_torch.device.npu.amp import get_amp_supported_dtype, is_bf16_supported
from drynpu_torch.device.npu.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
)
from drynpu_torch.device.npu.mstx import mstx
from drynpu_torch.device.npu.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from drynpu_torch.device.npu.streams import (
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
    synchronize,
)

__all__ = [
    "DeviceProperties",
    "Event",
    "Stream",
    "StreamContext",
    "aclnn",
    "amp",
    "can_device_access_peer",
    "config",
    "conv",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_mm_bmm_format_nd",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_jit_compile_false",
    "manual_seed",
    "manual_seed_all",
    "matmul",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "mstx",
    "random",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_compile_mode",
    "set_device",
    "set_mm_bmm_format_nd",
    "set_option",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "streams",
    "synchronize",
    "utils",
]

_NOT_PROVIDED = frozenset(
    [
        "ExternalEvent",
        "MemPool",
        "NPUGraph",
        "NPUPluggableAllocator",
        "SyncLaunchStream",
        "caching_allocator_alloc",
        "caching_allocator_delete",
        "change_current_allocator",
        "check_uce_in_memory",
        "clear_npu_overflow_flag",
        "current_blas_handle",
        "disable_deterministic_with_backward",
        "empty_virt_addr_cache",
        "enable_deterministic_with_backward",
        "finalize_dump",
        "get_allocator_backend",
        "get_autocast_dtype",
        "get_device_limit",
        "get_npu_overflow_flag",
        "get_per_process_memory_fraction",
        "get_stream_limit",
        "get_sync_debug_mode",
        "graph",
        "graph_pool_handle",
        "graph_task_group_begin",
        "graph_task_group_end",
        "graph_task_update_begin",
        "graph_task_update_end",
        "host_empty_cache",
        "host_memory_stats",
        "init_dump",
        "ipc_collect",
        "is_autocast_enabled",
        "is_current_stream_capturing",
        "make_graphed_callables",
        "memory_snapshot",
        "npugraph_ex",
        "npurt",
        "profile",
        "profileConfig",
        "reset_accumulated_memory_stats",
        "reset_stream_limit",
        "restart_device",
        "set_aoe",
        "set_autocast_dtype",
        "set_autocast_enabled",
        "set_device_limit",
        "set_dump",
        "set_per_process_memory_fraction",
        "set_stream_limit",
        "set_sync_debug_mode",
        "stop_device",
        "stress_detect",
        "use_mem_pool",
        "utilization",
    ]
)


def _is_in_bad_fork() -> bool:
    """Whether this process was forked from one that used the device; nothing is lost in a fork here."""
    return False


def __getattr__(name: str) -> NoReturn:
    if name in _NOT_PROVIDED:
        raise AttributeError(f"torch.npu.{name} exists in torch_npu, but drynpu does not provide it yet")
    raise AttributeError(f"module 'torch.npu' has no attribute {name!r}")
