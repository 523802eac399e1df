"""What ``torch_npu.contrib`` gets from the plugin: functions and modules, which it has by name, too."""

from __future__ import annotations

from torch_npu.contrib import function, module
from torch_npu.contrib.function import *
from torch_npu.contrib.module import *

__all__ = ["function", "module", *function.__all__, *module.__all__]
