"""The facade of ``apex.amp.scaler``."""

from __future__ import annotations

from drynpu_apex.amp import (
    LossScaler,
)

__all__ = [
    "LossScaler",
]
