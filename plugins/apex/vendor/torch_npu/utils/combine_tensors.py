"""The facade of ``torch_npu.utils.combine_tensors``: tensors that lie side by side in one."""

from __future__ import annotations

from torch_npu.utils._combined_part import get_part_combined_tensor, is_combined_tensor_valid, npu_combine_tensors

__all__ = ["get_part_combined_tensor", "is_combined_tensor_valid", "npu_combine_tensors"]
