"""The services of ``torch_npu.utils``: versions, floating point operations, threads and files."""

from __future__ import annotations

from drynpu_torch.device import Format
from drynpu_torch.device.npu.utils import get_cann_version
from drynpu_torch.services._environment import describe_environment, describe_extension, is_transfer_wanted
from drynpu_torch.services._flops import FlopsCounter
from drynpu_torch.services._tensors import (
    copy_memory_,
    empty_with_format,
    empty_with_swapped_memory,
    get_storage_size,
    unsupported_dtype,
)
from drynpu_torch.services._threads import reset_thread_affinity, save_async, set_thread_affinity

__all__ = [
    "FlopsCounter",
    "Format",
    "copy_memory_",
    "describe_environment",
    "describe_extension",
    "empty_with_format",
    "empty_with_swapped_memory",
    "get_cann_version",
    "get_storage_size",
    "is_transfer_wanted",
    "reset_thread_affinity",
    "save_async",
    "set_thread_affinity",
    "unsupported_dtype",
]
