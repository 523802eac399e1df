"""What each framework calls the neutral operators, and where it keeps their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from drynpu.kernels._named import Named
from drynpu.kernels.ops.names import mindspore, onnx, tf, torch

__all__ = ["NAMES"]

NAMES: Final[Mapping[str, tuple[Named, ...]]] = MappingProxyType(
    {"torch": torch.ROWS, "tf": tf.ROWS, "mindspore": mindspore.ROWS, "onnx": onnx.ROWS}
)
"""What a framework calls the operators, by framework."""
