"""What ``torch_npu`` gets from the plugin."""

from __future__ import annotations

from torch_npu import multiprocessing

__all__ = ["multiprocessing"]
