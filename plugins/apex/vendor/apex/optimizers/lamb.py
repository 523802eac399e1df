"""The facade of ``apex.optimizers.lamb``."""

from __future__ import annotations

from drynpu_apex.optimizers import (
    Lamb,
)

__all__ = [
    "Lamb",
]
