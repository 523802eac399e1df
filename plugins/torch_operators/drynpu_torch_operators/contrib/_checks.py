"""What functions and modules of ``torch_npu.contrib`` check of their arguments, and say of their future."""

from __future__ import annotations

import warnings

from torch import Tensor

from drynpu_torch_operators.operators import errors


def require(condition: bool, text: str, code: str = errors.VALUE, kind: type[Exception] = ValueError) -> None:
    """Raise *kind* with the vendor's text and tag unless *condition* holds."""
    if not condition:
        raise kind(errors.tagged(text, code))


def deprecated(name: str, advice: str) -> None:
    """Warn as the vendor does that *name* goes away."""
    warnings.warn(f"torch_npu.contrib.{name} is deprecated. {advice}", FutureWarning, stacklevel=3)


def floats(boxes: Tensor) -> Tensor:
    """Return boxes in FP32, which is also what the vendor makes of those in FP16."""
    return boxes.float()
