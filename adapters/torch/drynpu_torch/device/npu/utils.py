"""The functions that scripts import from ``torch_npu.npu.utils``."""

from __future__ import annotations

from drynpu_torch.device.npu._devices import (
    current_device,
    device,
    device_of,
    get_device_name,
    get_device_properties,
    set_device,
)
from drynpu_torch.device.npu.amp import is_bf16_supported
from drynpu_torch.device.npu.streams import (
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
    synchronize,
)

__all__ = [
    "StreamContext",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_of",
    "get_device_name",
    "get_device_properties",
    "is_bf16_supported",
    "set_device",
    "set_stream",
    "stream",
    "synchronize",
]
