"""What ``torch_npu`` gets from the plugin: its operators and the packages that stand on them."""

from __future__ import annotations

from torch_npu import _operator_names, atb, dynamo
from torch_npu._operator_names import *

__all__ = ["atb", "dynamo"]
__all__ += _operator_names.__all__
