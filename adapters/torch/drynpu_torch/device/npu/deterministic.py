"""The functions that scripts import from ``torch_npu.npu.deterministic``."""

from __future__ import annotations

from drynpu_torch.device.npu._control import disable_deterministic_with_backward as disable_deterministic_with_backward
from drynpu_torch.device.npu._control import enable_deterministic_with_backward as enable_deterministic_with_backward
