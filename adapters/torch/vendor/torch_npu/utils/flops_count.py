"""The facade of ``torch_npu.utils.flops_count``."""

from __future__ import annotations

from drynpu_torch.services import FlopsCounter

_FlopsCounter = FlopsCounter

__all__ = ["FlopsCounter"]
