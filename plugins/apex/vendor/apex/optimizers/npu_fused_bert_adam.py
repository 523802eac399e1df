"""The facade of ``apex.optimizers.npu_fused_bert_adam``."""

from __future__ import annotations

from drynpu_apex.fused import (
    SCHEDULES,
    warmup_constant,
    warmup_cosine,
    warmup_linear,
    warmup_poly,
)
from drynpu_apex.optimizers import NpuFusedBertAdam

__all__ = ["SCHEDULES", "NpuFusedBertAdam", "warmup_constant", "warmup_cosine", "warmup_linear", "warmup_poly"]
