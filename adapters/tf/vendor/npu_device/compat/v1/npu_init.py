"""``npu_device.compat.v1.npu_init``: the names of ``npu_bridge.npu_init``."""

from __future__ import annotations

from npu_bridge.npu_init import *
from npu_bridge.npu_init import __all__ as __all__
