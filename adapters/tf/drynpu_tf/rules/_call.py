"""Calls of TensorFlow's operators as rules read them."""

from __future__ import annotations

from drynpu.kernels import NodeCall, TensorDesc
from drynpu.kernels.ops import blocked_image, is_image
from drynpu_tf.rules._elementwise import operations_of


class TfCall(NodeCall):
    """A node of a TensorFlow graph; images are NHWC unless it says otherwise, weights [KH, KW, C, N]."""

    weight_format = "HWCN"

    @property
    def channels_first(self) -> bool:
        """Whether images of this call are NCHW."""
        return self.text("data_format", "NHWC") == "NCHW"

    @property
    def compiled(self) -> bool:
        """Whether the call is part of a compiled graph."""
        return "_graph" in self.attrs

    def image(self, image: TensorDesc) -> TensorDesc:
        """Return an image in the blocked format in a compiled graph, as it is outside."""
        inside = self.compiled and is_image(image.shape)
        return blocked_image(image, channels_first=self.channels_first) if inside else image

    def operations_of(self, name: str) -> float:
        """Return the operations per element of a fused element-wise operator, 1 for others (a bias)."""
        return operations_of(name)
