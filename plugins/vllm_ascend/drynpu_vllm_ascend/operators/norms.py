"""Norms that vLLM-Ascend fuses with what stands around them."""

from __future__ import annotations

from typing import Final

from torch import Tensor

from drynpu_vllm_ascend.operators._int8 import quantised_by_row
from drynpu_vllm_ascend.served import ServedOperator

_QUANTISING: Final = 6
"""Element operations of the largest number of a row, and of the quotients; assumed."""
_RMS: Final = 5
"""Element operations of the norm, as drynpu.kernels.ops.norm has them; an addition is one more."""


def _add_rms_norm_bias(
    x1: Tensor, x2: Tensor, gamma: Tensor, beta: Tensor | None, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    total = x1.float() + x2.float()
    axes = tuple(range(-gamma.dim(), 0))
    rstd = total.square().mean(axes, keepdim=True).add(epsilon).rsqrt()
    y = total * rstd * gamma.float()
    return (y if beta is None else y + beta.float()).to(x1.dtype), rstd, total.to(x1.dtype)


def _rms_norm_dynamic_quant(
    x: Tensor, gamma: Tensor, smooth_scale: Tensor | None, beta: Tensor | None, epsilon: float
) -> tuple[Tensor, Tensor]:
    y = x.float() * x.float().square().mean(-1, keepdim=True).add(epsilon).rsqrt() * gamma.float()
    y = y if beta is None else y + beta.float()
    return quantised_by_row(y if smooth_scale is None else y * smooth_scale.float())


OPERATORS: Final = (
    ServedOperator(
        schema="npu_rms_norm_dynamic_quant(Tensor x, Tensor gamma, Tensor? smooth_scale=None, Tensor? beta=None,"
        " float epsilon=1e-6) -> (Tensor y_out, Tensor scale_out)",
        compute=_rms_norm_dynamic_quant,
        kernel="RmsNormDynamicQuant",
        cost=_RMS + _QUANTISING,
    ),
    ServedOperator(
        schema="npu_add_rms_norm_bias(Tensor x1, Tensor x2, Tensor gamma, Tensor? beta=None, float epsilon=1e-6)"
        " -> (Tensor y, Tensor rstd, Tensor x)",
        compute=_add_rms_norm_bias,
        kernel="AddRmsNormBias",
        cost=_RMS + 2,
    ),
)
