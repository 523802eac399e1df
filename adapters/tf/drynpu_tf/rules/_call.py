"""Calls of TensorFlow's operators as rules read them, and which of the operators are element-wise."""

from __future__ import annotations

from typing import Final

from drynpu.kernels import (
    NO_DATA,
    KernelPlan,
    NodeCall,
    Operator,
    OperatorCall,
    TaskType,
    TensorDesc,
    launches_nothing,
    ops,
)
from drynpu.kernels.ops import blocked_image, is_image
from drynpu.kernels.ops.creation import fill
from drynpu.kernels.ops.elementwise import comparison, elementwise

KERNEL_TYPES: Final = ops.kernel_types_of("tf", elementwise, comparison, fill)
"""GE's types of the element-wise operators, by TensorFlow's."""
ELEMENTWISE: Final = frozenset(KERNEL_TYPES) - {"ClipByValue", "Select", "SelectV2", "Fill"}
"""Operators of one or two tensors that the graph engine fuses with one another."""
KEEPS_TYPE: Final = ELEMENTWISE - ops.kernel_types_of("tf", comparison).keys()
"""The ones that return the type of their input."""

# Sums and zeros of lists of tensors (gradients of loops): no kernel takes lists, and traces have no shapes of them.
_HAS_LISTS: Final = frozenset({"AddN", "ZerosLike"})
_FILLS: Final = frozenset({"Fill", "OnesLike", "ZerosLike"})
_ELEMENTWISE: Final = "drynpu.kernels.ops.elementwise"
_CHOOSES: Final = frozenset({"Select", "SelectV2"})
_MOVES: Final = frozenset({"drynpu.kernels.ops.movement", "drynpu.kernels.ops.scatter"})


class TfCall(NodeCall):
    """A node of a TensorFlow graph; images are NHWC unless it says otherwise, weights [KH, KW, C, N]."""

    outputs_optional = True
    kernel_types = KERNEL_TYPES
    weight_format = "HWCN"

    @property
    def channels_first(self) -> bool:
        """Whether images of this call are NCHW."""
        return self.text("data_format", "NHWC") in {"NCHW", "NCDHW"}

    @property
    def compiled(self) -> bool:
        """Whether the call is part of a compiled graph."""
        return "_graph" in self.attrs

    def image(self, image: TensorDesc) -> TensorDesc:
        """Return an image in the blocked format in a compiled graph, as it is outside."""
        inside = self.compiled and is_image(image.shape)
        return blocked_image(image, channels_first=self.channels_first) if inside else image

    def answer(self, operator: Operator) -> KernelPlan | None:
        """
        Return what *operator* makes of this call.

        Texts (names in a checkpoint, keys of a vocabulary) are moved, chosen and compared by the host: nothing is
        launched for them. Sums and zeros of lists of tensors run on the AI CPU.
        """
        kernel = self.binding.kernel
        moves = operator.__module__ in _MOVES or kernel in _CHOOSES
        if moves and self.outputs and all(t.dtype == NO_DATA for t in self.outputs):
            return launches_nothing(self.signature)
        if operator.__name__ == "comparison" and self.signature.tensors() and not self.tensors() and self.output():
            return launches_nothing(self.signature)
        elementwise = (operator.__module__ == _ELEMENTWISE and kernel != "Cast") or kernel in _FILLS
        if elementwise and self._has_lists_only:
            return self.plan(self.kernel(self.signature.name, [], [], task=TaskType.AI_CPU))
        return operator(self)

    @property
    def _has_lists_only(self) -> bool:
        if self.tensors() or self.output() is not None:
            return False
        return bool(self.signature.tensors()) or self.signature.name in _HAS_LISTS


def unary_chain(call: OperatorCall) -> KernelPlan | None:
    """Return the plan of ``_UnaryOpsComposition``: one kernel for several operators, with the type of the first."""
    x, names = call.tensor(0), call.texts("op_names")
    if x is None or not names:
        return None
    cost = sum(call.operations_of(name) for name in names)
    return call.plan(call.kernel(names[0], [x], [call.output() or x], cost=cost))
