"""The facade of ``torch_npu.contrib``; its module ``transfer_to_npu`` takes effect when it is imported."""

from __future__ import annotations

from torch_npu.contrib import function as function
from torch_npu.contrib import module as module
from torch_npu.contrib.function import *
from torch_npu.contrib.module import *

__all__ = [*function.__all__, *module.__all__]
