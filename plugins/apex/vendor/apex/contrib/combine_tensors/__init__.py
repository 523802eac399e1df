"""The facade of ``apex.contrib.combine_tensors``."""

from __future__ import annotations

from apex.contrib.combine_tensors.combine_tensors import (
    combine_npu,
    get_aligned_storage_size,
    get_part_combined_tensor,
    is_combined_tensor_valid,
)

__all__ = [
    "combine_npu",
    "get_aligned_storage_size",
    "get_part_combined_tensor",
    "is_combined_tensor_valid",
]
