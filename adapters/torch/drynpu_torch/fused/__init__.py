"""
Optimizers over combined tensors: the parameters of one dtype in one buffer, updated by one sequence of operators.

That is how torch_npu's ``NpuFused...`` optimizers work (``torch_npu/optim``): element-wise operators on the whole
buffer, not one fused kernel. The formulas are those of ``torch.optim``.
"""

from __future__ import annotations

from drynpu_torch.fused._base import NpuFusedOptimizerBase
from drynpu_torch.fused._combine import combine, combined_part, is_combined
from drynpu_torch.fused._optimizers import NpuFusedAdadelta, NpuFusedAdam, NpuFusedAdamW, NpuFusedRMSprop, NpuFusedSGD

__all__ = [
    "NpuFusedAdadelta",
    "NpuFusedAdam",
    "NpuFusedAdamW",
    "NpuFusedOptimizerBase",
    "NpuFusedRMSprop",
    "NpuFusedSGD",
    "combine",
    "combined_part",
    "is_combined",
]
