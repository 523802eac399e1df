"""``npu_cube_ops``: operators of the cube unit."""

from __future__ import annotations

from drynpu_tf.bridge.generated import (
    deformable_conv2d,
)

__all__ = [
    "deformable_conv2d",
]
