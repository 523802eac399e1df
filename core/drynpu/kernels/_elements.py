"""
Element operations of element-wise kernels: how much the vector unit does for one element.

It is our count: 1 where the unit has an instruction (addition, division, exp, log, sqrt, ...), more where it evaluates
a polynomial or a chain; 16 for GELU with erf is that of device_and_cost_model.md 2. A kernel costs the same, whichever
framework launches it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["element_operations", "kernel_types"]

_BY_OPERATIONS: Final = {
    0: "OnesLike ZerosLike",
    2: """
        AbsGrad ApproximateEqual ClipByValue ClipByValueV2 DivNoNan Expm1 FloorDiv LeakyRelu LeakyReluGrad Log1p
        MulNoNan PRelu Relu6 Relu6Grad Sign SqrtGrad SquaredDifference TruncateDiv Xdivy Xlogy
    """,
    3: "HardSigmoid HardSigmoidGrad InvGrad NanToNum ReciprocalGrad RsqrtGrad SigmoidGrad Softsign TanhGrad",
    4: """
        CeluV2 Elu EluGrad FloorMod HardSwish HardSwishGrad Mod PReluGrad Pow Selu SeluGrad Sigmoid SoftsignGrad
        TruncateMod
    """,
    5: "Swish",
    6: "Cosh LogAddExp LogSigmoid Sinh Softplus SoftplusGrad SoftplusV2",
    7: "SiluGrad",
    8: "Acosh Asinh Atanh FastGelu Tanh",
    10: "FastGeluGrad Mish",
    12: "Cos Erf MishGrad Sin",
    13: "Erfc",
    16: "Acos Asin Atan Erfinv Gelu GeluV2 Tan",
    20: "Atan2 GeluGrad",
}
_OPERATIONS: Final[Mapping[str, float]] = MappingProxyType(
    {name: float(operations) for operations, names in _BY_OPERATIONS.items() for name in names.split()}
)


def element_operations(op_type: str) -> float:
    """Return the element operations per element of a kernel of GE's type *op_type*, 1 for one that is not listed."""
    return _OPERATIONS.get(op_type, 1.0)


def kernel_types(names: str) -> dict[str, str]:
    """
    Return GE's types by operator: *names* are a framework's, apart by blanks, with ``=<GE type>`` where that differs.

    ``"Add AddV2=Add"`` is ``{"Add": "Add", "AddV2": "Add"}``.
    """
    parts = (entry.partition("=") for entry in names.split())
    return {name: op_type or name for name, _, op_type in parts}
