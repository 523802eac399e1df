"""The facade of ``torch_npu.utils.serialization``."""

from __future__ import annotations

from torch import load

from drynpu_torch.services import save_async

__all__ = ["load", "save_async"]
