"""Calls of TensorFlow's operators as rules read them."""

from __future__ import annotations

from drynpu.kernels import NodeCall
from drynpu_tf.rules._elementwise import operations_of


class TfCall(NodeCall):
    """A node of a TensorFlow graph; images are NHWC unless it says otherwise, weights [KH, KW, C, N]."""

    # Bodies of loops in a trace come without attributes: of their products the first way that fits is taken.
    guesses = True

    @property
    def channels_first(self) -> bool:
        """Whether images of this call are NCHW."""
        return self.text("data_format", "NHWC") == "NCHW"

    def operations_of(self, name: str) -> float:
        """Return the operations per element of a fused element-wise operator, 1 for others (a bias)."""
        return operations_of(name)
