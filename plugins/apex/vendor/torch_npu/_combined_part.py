"""What ``torch_npu`` gets from the plugin: optimizers over combined tensors."""

from __future__ import annotations

from torch_npu import optim

__all__ = ["optim"]
