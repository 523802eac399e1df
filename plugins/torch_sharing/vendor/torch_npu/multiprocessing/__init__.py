"""The facade of ``torch_npu.multiprocessing``."""

from __future__ import annotations

from torch_npu.multiprocessing import reductions

__all__ = ["reductions"]
