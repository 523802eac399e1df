"""The facade of ``torch_npu.contrib.module.multihead_attention``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.attention import (
    Matmul_transpose,
    MultiheadAttention,
    _MHAConfig,
    _NpuLinear,
    _quant_noise,
)

__all__ = ["Matmul_transpose", "MultiheadAttention", "_MHAConfig", "_NpuLinear", "_quant_noise"]
