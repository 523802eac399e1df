"""The precision that a script requests: ``precision_mode``, ``precision_mode_v2`` and ``modify_mixlist``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drynpu_tf.rules import Precision, read_precision

PRECISION_NOTE: Final = (
    "precision_mode changes types and times of kernels alone: the CPU computes in the types of the graph"
)
"""What readers of a profile have to know of a precision that is not the graph's."""


def precision_of(get: Callable[[str], Any]) -> Precision | None:
    """Return the precision of options, which *get* returns by name, as text or bytes; ``None`` where types stay."""

    def text(name: str) -> str:
        value = get(name)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")

    return read_precision(text("precision_mode") or text("precision_mode_v2"), text("modify_mixlist"))
