"""Names of ``torch.npu`` that other modules of the vendor's have too, for scripts that import them from there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_DUMPS: Final = ("finalize_dump", "init_dump", "set_dump")

ALSO_IN: Final[Mapping[str, tuple[str, ...]]] = {
    "memory": (
        *("MemPool", "NPUPluggableAllocator", "change_current_allocator", "use_mem_pool"),
        *("caching_allocator_alloc", "caching_allocator_delete", "get_allocator_backend"),
        *("empty_virt_addr_cache", "host_empty_cache", "host_memory_stats", "host_memory_stats_as_nested_dict"),
        *("reset_accumulated_host_memory_stats", "reset_peak_host_memory_stats"),
    ),
    "npu_config": ("set_aoe", *_DUMPS),
    "utils": (
        *("check_uce_in_memory", "current_blas_handle", "ipc_collect", "set_op_timeout_ms", "stress_detect", *_DUMPS),
        *("get_sync_debug_mode", "set_sync_debug_mode"),
        *("obfuscation_calculate", "obfuscation_finalize", "obfuscation_initialize"),
    ),
}
"""Modules of torch_npu/npu in Ascend/pytorch, with the names that are at home elsewhere here."""
