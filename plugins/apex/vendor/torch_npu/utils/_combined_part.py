"""What ``torch_npu.utils`` gets from the plugin: functions that combine tensors."""

from __future__ import annotations

from drynpu_apex.fused import combine as npu_combine_tensors
from drynpu_apex.fused import combined_part as get_part_combined_tensor
from drynpu_apex.fused import is_combined as is_combined_tensor_valid

__all__ = ["get_part_combined_tensor", "is_combined_tensor_valid", "npu_combine_tensors"]
