"""What ``torch_npu.npu`` gets from the plugin: modules alone, no names."""

from __future__ import annotations

__all__: list[str] = []
