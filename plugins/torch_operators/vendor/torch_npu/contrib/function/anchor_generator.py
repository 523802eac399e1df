"""The facade of ``torch_npu.contrib.function.anchor_generator``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.detection import npu_single_level_responsible_flags

__all__ = ["npu_single_level_responsible_flags"]
