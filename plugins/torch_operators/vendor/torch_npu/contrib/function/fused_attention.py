"""The facade of ``torch_npu.contrib.function.fused_attention``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.attention import check_fused as _check_compatibility_once
from drynpu_torch_operators.contrib.attention import has_fused_formats as _is_format_matched
from drynpu_torch_operators.contrib.attention import npu_fused_attention, npu_fused_attention_with_layernorm

__all__ = [
    "_check_compatibility_once",
    "_is_format_matched",
    "npu_fused_attention",
    "npu_fused_attention_with_layernorm",
]
