"""What ``torch_npu`` gets from the plugin: its operators and the packages that stand on them."""

from __future__ import annotations

from torch_npu import _operator_names, atb, dynamo
from torch_npu._operator_names import *

from drynpu_torch_operators.hifloat8_tensor import HiFloat8Tensor

__all__ = ["HiFloat8Tensor", "atb", "dynamo"]
__all__ += _operator_names.__all__
