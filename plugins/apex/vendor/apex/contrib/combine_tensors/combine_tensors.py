"""The facade of ``apex.contrib.combine_tensors.combine_tensors``."""

from __future__ import annotations

from drynpu_apex.fused import (
    combine as combine_npu,
)
from drynpu_apex.fused import (
    combined_part as get_part_combined_tensor,
)
from drynpu_apex.fused import (
    is_combined as is_combined_tensor_valid,
)
from drynpu_apex.fused import (
    storage_size as get_aligned_storage_size,
)

__all__ = [
    "combine_npu",
    "get_aligned_storage_size",
    "get_part_combined_tensor",
    "is_combined_tensor_valid",
]
