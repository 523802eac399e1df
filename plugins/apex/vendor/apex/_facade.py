"""The body of the facade; it runs only where no genuine apex is found."""

from __future__ import annotations

import torch_npu as _torch_npu  # noqa: F401 - it puts the device in place
from apex import amp, contrib, fp16_utils, multi_tensor_apply, normalization, optimizers, parallel
from apex.multi_tensor_apply import MultiTensorApply, multi_tensor_applier

__all__ = [
    "MultiTensorApply",
    "amp",
    "contrib",
    "fp16_utils",
    "multi_tensor_applier",
    "multi_tensor_apply",
    "normalization",
    "optimizers",
    "parallel",
]
