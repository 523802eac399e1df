"""
Optimizers over combined tensors: the parameters of one dtype in one buffer, updated by one sequence of operators.

That is how torch_npu's ``NpuFused...`` optimizers work (``torch_npu/optim``): element-wise operators on the whole
buffer, not one fused kernel. The formulas come from ``torch.optim`` if that has the optimizer.
"""

from __future__ import annotations

from drynpu_apex.fused._base import NpuFusedOptimizerBase, Slice, slices_of_groups
from drynpu_apex.fused._combine import combine, combined_part, is_combined, storage_size
from drynpu_apex.fused._layerwise import (
    SCHEDULES,
    NpuFusedAdamP,
    NpuFusedBertAdam,
    NpuFusedLamb,
    warmup_constant,
    warmup_cosine,
    warmup_linear,
    warmup_poly,
    whole_norm,
)
from drynpu_apex.fused._optimizers import (
    NpuFusedAdadelta,
    NpuFusedAdam,
    NpuFusedAdamW,
    NpuFusedRMSprop,
    NpuFusedRMSpropTF,
    NpuFusedSGD,
    check_betas,
    check_positive,
)

__all__ = [
    "SCHEDULES",
    "NpuFusedAdadelta",
    "NpuFusedAdam",
    "NpuFusedAdamP",
    "NpuFusedAdamW",
    "NpuFusedBertAdam",
    "NpuFusedLamb",
    "NpuFusedOptimizerBase",
    "NpuFusedRMSprop",
    "NpuFusedRMSpropTF",
    "NpuFusedSGD",
    "Slice",
    "check_betas",
    "check_positive",
    "combine",
    "combined_part",
    "is_combined",
    "slices_of_groups",
    "storage_size",
    "warmup_constant",
    "warmup_cosine",
    "warmup_linear",
    "warmup_poly",
    "whole_norm",
]
