"""
Element operations of element-wise kernels: how much the vector unit does for one element.

It is our count: 1 where the unit has an instruction (addition, division, exp, log, sqrt, ...), more where it evaluates
a polynomial or a chain; 16 for GELU with erf comes from device_and_cost_model.md 2. The counts of Cos, Sin, SwiGlu and
its gradient follow from the measured time of the vector pipe of A2 at 0.6 of its lanes: the angle is brought into its
period first. A kernel costs the same, whichever framework launches it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_BY_OPERATIONS: Final = {
    0: "OnesLike ZerosLike",
    2: """
        AbsGrad ApplyGradientDescent ApproximateEqual ClipByValue ClipByValueV2 DivNoNan Expm1 FloorDiv HardtanhGrad
        L2Loss LeakyRelu LeakyReluGrad Log1p LpNorm LpNormV2 MulNoNan PRelu ReduceLogSum Relu6 Relu6Grad Sign SqrtGrad
        SquareSumV1 SquaredDifference TruncateDiv Xdivy Xlogy
    """,
    3: """
        Addcdiv Addcmul GLU HardSigmoid HardSigmoidGrad InvGrad KLDivLossGrad Lerp MseLoss MseLossGrad NanToNum
        ReciprocalGrad RsqrtGrad SigmoidGrad Softsign SwiGlu TanhGrad
    """,
    4: """
        ApplyKerasMomentumD ApplyMomentum ApplyMomentumD CeluV2 Elu EluGrad EluGradV2 FloorMod HardSwish HardSwishGrad
        KLDivLoss Mod PReluGrad Pow SGD Selu SeluGrad Sigmoid SmoothL1Loss SmoothL1LossGrad SoftsignGrad
        SparseApplyKerasMomentum SparseApplyMomentum TruncateMod
    """,
    5: "ApplyAdagradD ApplyProximalGradientDescent SmoothL1LossV2 SmoothL1LossV2Grad SparseApplyAdagradD Swish",
    6: """
        ApplyAdagradV2D BinaryCrossEntropy BinaryCrossEntropyGrad Cosh LogAddExp LogSigmoid LogSigmoidGrad
        ReduceLogSumExp SigmoidCrossEntropyWithLogitsGrad Sinh SoftMarginLoss SoftMarginLossGrad Softplus SoftplusGrad
        SoftplusV2 SoftplusV2Grad SparseApplyAdagradV2D
    """,
    7: "ApplyAddSignD SiluGrad",
    8: """
        Acosh ApplyProximalAdagradD Asinh Atanh BCEWithLogitsLoss FastGelu SigmoidCrossEntropyWithLogits SwishGrad Tanh
        TopKD TopKV2
    """,
    9: "SwiGluGrad ApplyAdaMax ApplyAdaMaxD ApplyPowerSignD ApplyRMSPropD SparseApplyRMSPropD",
    10: "FastGeluGrad Mish",
    12: """
        ApplyAdadeltaD ApplyAdamD ApplyCenteredRMSPropD Erf MishGrad SparseApplyAdadeltaD
    """,
    13: "ApplyAdamWithAmsgradD Erfc",
    14: "ApplyAdamW ApplyAdamWV2 ApplyFtrl ApplyFtrlD SparseApplyFtrlD",
    15: "ApplyFtrlV2D SparseApplyFtrlV2D",
    16: "Acos Asin Atan Erfinv GeLU Gelu GeluV2",
    20: "Atan2 GeLUGrad GeluGrad Lamb",
    40: "Cos Sin Tan",
}
_OPERATIONS: Final[Mapping[str, float]] = MappingProxyType(
    {name: float(operations) for operations, names in _BY_OPERATIONS.items() for name in names.split()}
)


def counted_types() -> frozenset[str]:
    """Return the kernel types whose element operations are listed."""
    return frozenset(_OPERATIONS)


def element_operations(op_type: str) -> float:
    """Return the element operations per element of a kernel of GE's type *op_type*, 1 for one that is not listed."""
    return _OPERATIONS.get(op_type, 1.0)
