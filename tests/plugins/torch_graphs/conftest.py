"""What scripts of the plugin are run with: the same as PyTorch's on the native device."""

from __future__ import annotations

from tests.torch.conftest import warm
from tests.torch.device.conftest import npu
from tests.torch.native.conftest import library, run

__all__ = ["library", "npu", "run", "warm"]
