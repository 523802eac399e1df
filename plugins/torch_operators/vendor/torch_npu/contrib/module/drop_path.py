"""The facade of ``torch_npu.contrib.module.drop_path``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.dropouts import NpuDropPath

__all__ = ["NpuDropPath"]
