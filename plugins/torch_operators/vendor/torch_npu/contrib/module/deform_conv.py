"""The facade of ``torch_npu.contrib.module.deform_conv``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.regions import DCNv2, ModulatedDeformConv, ModulatedDeformConv2dFunction

__all__ = ["DCNv2", "ModulatedDeformConv", "ModulatedDeformConv2dFunction"]
