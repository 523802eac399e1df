"""What importing ``npu_bridge`` does: TensorFlow's sessions read the NPU's options from here on."""

from __future__ import annotations

from drynpu import require

require("tensorflow", "tf")

from drynpu_tf.sessions import install  # noqa: E402 - the line above says which extra brings TensorFlow

__all__: list[str] = []

install()
