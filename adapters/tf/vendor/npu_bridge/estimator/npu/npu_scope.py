"""``npu_scope``: scopes that mark operators."""

from __future__ import annotations

from drynpu_tf.bridge.scopes import (
    keep_dtype_scope,
    npu_mem_type_scope,
    npu_recompute_scope,
    npu_stage_scope,
    npu_variable_scope,
    npu_weight_prefetch_scope,
    op_specified_engine_scope,
    without_npu_compile_scope,
)

__all__ = [
    "keep_dtype_scope",
    "npu_mem_type_scope",
    "npu_recompute_scope",
    "npu_stage_scope",
    "npu_variable_scope",
    "npu_weight_prefetch_scope",
    "op_specified_engine_scope",
    "without_npu_compile_scope",
]
