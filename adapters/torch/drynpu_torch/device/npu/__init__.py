"""
``torch.npu``, which is also ``torch_npu.npu``: the documented functions of the vendor's module.

A documented name that drynpu does not provide raises an ``AttributeError`` that says so.
"""

from __future__ import annotations

from typing import Final, NoReturn

from drynpu_torch.device.npu import _devices, _settings, amp, memory, random, streams, utils
from drynpu_torch.device.npu._devices import *
from drynpu_torch.device.npu._settings import *
from drynpu_torch.device.npu.amp import get_amp_supported_dtype, is_bf16_supported
from drynpu_torch.device.npu.memory import *
from drynpu_torch.device.npu.mstx import mstx
from drynpu_torch.device.npu.random import *
from drynpu_torch.device.npu.streams import *

__all__ = ["amp", "get_amp_supported_dtype", "is_bf16_supported", "memory", "mstx", "random", "streams", "utils"]
__all__ += _devices.__all__
__all__ += _settings.__all__
__all__ += memory.__all__
__all__ += random.__all__
__all__ += streams.__all__

_NOT_PROVIDED: Final = """
ExternalEvent MemPool NPUGraph NPUPluggableAllocator SyncLaunchStream caching_allocator_alloc caching_allocator_delete
change_current_allocator check_uce_in_memory clear_npu_overflow_flag current_blas_handle
disable_deterministic_with_backward empty_virt_addr_cache enable_deterministic_with_backward finalize_dump
get_allocator_backend get_autocast_dtype get_device_limit get_npu_overflow_flag get_per_process_memory_fraction
get_stream_limit get_sync_debug_mode graph graph_pool_handle graph_task_group_begin graph_task_group_end
graph_task_update_begin graph_task_update_end host_empty_cache host_memory_stats init_dump ipc_collect
is_autocast_enabled is_current_stream_capturing make_graphed_callables npugraph_ex npurt profile
profileConfig  reset_stream_limit restart_device set_aoe set_autocast_dtype
set_autocast_enabled set_device_limit set_dump set_stream_limit set_sync_debug_mode
stop_device stress_detect use_mem_pool utilization
"""
"""Names of the vendor's module that drynpu does not have."""


def _is_in_bad_fork() -> bool:
    """Return whether a fork has broken the device in this process, which does not happen here."""
    return False


def __getattr__(name: str) -> NoReturn:
    if name in _NOT_PROVIDED.split():
        raise AttributeError(f"torch.npu.{name} exists in torch_npu, but drynpu does not provide it yet")
    raise AttributeError(f"module 'torch.npu' has no attribute {name!r}")
