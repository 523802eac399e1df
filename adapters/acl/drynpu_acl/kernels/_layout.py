"""Formats: which tensors of a graph are blocked, and where kernels change that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import define, field

from drynpu.kernels import TensorDesc
from drynpu.kernels.ops import FormatPass, GraphOperator, Place, is_image
from drynpu_acl.kernels._nodes import CONVOLUTIONS, KERNEL_TYPES, SHAPE_READERS

_IMAGE_WORKERS: Final = frozenset(
    {*CONVOLUTIONS, "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "BatchNormalization"}
)
# They make values of the shape of their input or of constants; C0 depends on the type, so comparisons stay plain.
_FOLLOWERS: Final = frozenset(KERNEL_TYPES) - {
    *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", "And", "Or", "Xor", "IsNaN", "IsInf", "Where")
}


@define
class OnnxFormats(FormatPass):
    """Which operators of ONNX work on blocked images: *known* are constants."""

    known: frozenset[str] = frozenset()
    tensors: Mapping[str, TensorDesc] = field(factory=dict)

    def images(self, operator: GraphOperator) -> tuple[int, ...]:
        """Return the first input of an operator that works on images; weights are none."""
        works = operator.op_type in _IMAGE_WORKERS and self._result(operator) is not None
        return tuple(i for i in self._image_inputs(operator) if works and i == 0)

    def makes_image(self, operator: GraphOperator) -> bool:
        """Return whether it returns a blocked image: each of them does."""
        del operator
        return True

    def follows(self, operator: GraphOperator) -> tuple[int, ...]:
        """Return the images that an element-wise operator takes."""
        out = self._result(operator) if operator.op_type in _FOLLOWERS else None
        tensors = [self.tensors.get(name) for name, _ in operator.inputs if name]
        # Whole images and single numbers go in; anything that has to be stretched is read plain.
        whole = out is not None and all(
            t is not None and (t.shape == out.shape or t.elements == 1) and t.dtype == out.dtype for t in tensors
        )
        return self._image_inputs(operator) if whole else ()

    def is_constant(self, place: Place) -> bool:
        """Return whether a tensor is known when the model is compiled."""
        return place[0] in self.known

    def channels_first(self, operator: GraphOperator) -> bool:
        """Return whether images are NCHW: all are."""
        del operator
        return True

    def reads_shape(self, operator: GraphOperator) -> bool:
        """Return whether an operator only reads the shape of what it takes."""
        return operator.op_type in SHAPE_READERS

    def _result(self, operator: GraphOperator) -> TensorDesc | None:
        """Return the image that an operator returns."""
        image = self.tensors.get(operator.outputs[0][0]) if operator.outputs else None
        return image if image is not None and is_image(image.shape) else None

    def _image_inputs(self, operator: GraphOperator) -> tuple[int, ...]:
        described = ((i, name, self.tensors.get(name)) for i, (name, _) in enumerate(operator.inputs))
        return tuple(i for i, name, t in described if name not in self.known and t is not None and is_image(t.shape))
