"""Nodes of a graph, and operators that the passes over it know by type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import field, frozen

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
