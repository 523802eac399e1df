"""Nodes of ONNX graphs: as the model has them, and as calls that rules read; operators that passes know by type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import field, frozen

from drynpu.kernels import KernelPlan, KernelSpec, NodeCall, Operator, TensorDesc, plan_of
from drynpu.kernels.ops import blocked_image, is_image, kernel_types_of
from drynpu.kernels.ops.elementwise import accumulation, elementwise

KERNEL_TYPES: Final = kernel_types_of("onnx", elementwise, accumulation)
"""GE's types of the element-wise operators, by ONNX's."""
CONVOLUTIONS: Final = frozenset({"Conv", "ConvTranspose"})
SHAPE_READERS: Final = frozenset({"Shape", "Size"})
_FREE: Final = "Reshape Flatten Squeeze Unsqueeze Identity Dropout Constant ConstantOfShape Shape Size"
FREE: Final = frozenset(_FREE.split())
"""What launches nothing: changes of shape share memory, dropout does nothing in inference, the rest is compiled in."""


@frozen(eq=False)
class GraphNode:
    """A node as the model has it: names of tensors, attributes as plain values."""

    name: str
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Mapping[str, Any] = field(factory=dict)


class OnnxCall(NodeCall):
    """A node of a compiled model: the graph engine launches its kernels, and knows all formats."""

    kernel_types = KERNEL_TYPES

    @property
    def compiled(self) -> bool:
        """Always: models are compiled."""
        return True

    def image(self, image: TensorDesc) -> TensorDesc:
        """Return an image as the node works on it: blocked where the compiler chose so."""
        return blocked_image(image) if "_blocked" in self.attrs and is_image(image.shape) else image

    def answer(self, operator: Operator) -> KernelPlan | None:
        """Return what *operator* makes of a node; none where the shape of the result is not known."""
        return operator(self) if self.output() is not None else None

    def plan(self, *kernels: KernelSpec) -> KernelPlan:
        """Return the plan of a node; kernels without any element are left out."""
        return plan_of(*kernels, in_graph=True)

    def kernel(
        self, op_type: str, inputs: Sequence[TensorDesc], outputs: Sequence[TensorDesc], **options: object
    ) -> KernelSpec:
        """Return a vector kernel; element-wise ones work on blocked images where the compiler chose so."""
        if self.signature.name in KERNEL_TYPES:
            inputs, outputs = ([self.image(t) for t in tensors] for tensors in (inputs, outputs))
        return super().kernel(op_type, inputs, outputs, **options)
