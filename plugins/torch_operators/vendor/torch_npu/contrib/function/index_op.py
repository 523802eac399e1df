"""The facade of ``torch_npu.contrib.function.index_op``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.functions import npu_fast_condition_index_put

__all__ = ["npu_fast_condition_index_put"]
