"""The facade of ``torch_npu.utils``."""

from __future__ import annotations

from torch_npu.utils.asd_detector import register_asd_hook, set_asd_loss_scale

from drynpu_torch.fused import combine as npu_combine_tensors
from drynpu_torch.fused import combined_part as get_part_combined_tensor
from drynpu_torch.fused import is_combined as is_combined_tensor_valid
from drynpu_torch.services import FlopsCounter, get_cann_version, reset_thread_affinity, save_async, set_thread_affinity

__all__ = [
    "FlopsCounter",
    "get_cann_version",
    "get_part_combined_tensor",
    "is_combined_tensor_valid",
    "npu_combine_tensors",
    "register_asd_hook",
    "reset_thread_affinity",
    "save_async",
    "set_asd_loss_scale",
    "set_thread_affinity",
]
