"""Mixed precision: CPU autocast and scaling, under the device's names and defaults."""

from __future__ import annotations

from drynpu_torch.device.npu.amp import autocast_mode as autocast_mode
from drynpu_torch.device.npu.amp import common as common
from drynpu_torch.device.npu.amp import grad_scaler as grad_scaler
from drynpu_torch.device.npu.amp.autocast_mode import (
    autocast,
    custom_bwd,
    custom_fwd,
    get_amp_supported_dtype,
    is_bf16_supported,
)
from drynpu_torch.device.npu.amp.grad_scaler import GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "get_amp_supported_dtype",
    "is_bf16_supported",
]
