"""The functions that scripts import from ``torch_npu.npu.autocast_utils``."""

from __future__ import annotations

from drynpu_torch.device.npu._control import get_autocast_dtype as get_autocast_dtype
from drynpu_torch.device.npu._control import is_autocast_enabled as is_autocast_enabled
from drynpu_torch.device.npu._control import set_autocast_dtype as set_autocast_dtype
from drynpu_torch.device.npu._control import set_autocast_enabled as set_autocast_enabled
from drynpu_torch.device.npu.amp import get_amp_supported_dtype as get_amp_supported_dtype
