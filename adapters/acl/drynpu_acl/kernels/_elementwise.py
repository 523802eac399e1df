"""Element-wise operators of ONNX: their costs where they are fused, and the format of the images they work on."""

from __future__ import annotations

from typing import Final

from drynpu.kernels import NodeCall, TensorDesc, element_operations, ops
from drynpu_acl.kernels._work import blocked, is_image

KERNEL_TYPES: Final = ops.kernel_types_of("onnx", "elementwise", "accumulation")


def operations_of(name: str) -> float:
    """Return the operations per element of a fused element-wise operator, 1 for others (a bias)."""
    return element_operations(KERNEL_TYPES.get(name, ""))


def image_of(call: NodeCall, tensor: TensorDesc) -> TensorDesc:
    """Return a tensor as the node works on it: blocked where the compiler chose so."""
    return blocked(tensor) if "_blocked" in call.attrs and is_image(tensor) else tensor
