"""What ``torch_npu.contrib`` gets from the plugin: a module alone, no names."""

from __future__ import annotations

__all__: list[str] = []
