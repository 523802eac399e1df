"""The facade of ``apex.amp.handle``."""

from __future__ import annotations

from drynpu_apex.amp import (
    Handle as AmpHandle,
)
from drynpu_apex.amp import (
    disable_casts,
    scale_loss,
)

__all__ = [
    "AmpHandle",
    "disable_casts",
    "scale_loss",
]
