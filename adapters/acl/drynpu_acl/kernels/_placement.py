"""Operators that launch nothing."""

from __future__ import annotations

from typing import Final

_FREE: Final = "Reshape Flatten Squeeze Unsqueeze Identity Dropout Constant ConstantOfShape Shape Size"
FREE: Final = frozenset(_FREE.split())
"""What launches nothing: changes of shape share memory, dropout does nothing in inference, the rest is compiled in."""
