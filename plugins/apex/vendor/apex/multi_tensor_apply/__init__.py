"""The facade of ``apex.multi_tensor_apply``."""

from __future__ import annotations

from apex.multi_tensor_apply.multi_tensor_apply import MultiTensorApply

multi_tensor_applier = MultiTensorApply(2048 * 32)

__all__ = ["MultiTensorApply", "multi_tensor_applier"]
