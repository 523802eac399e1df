"""The facade of ``apex.parallel.LARC``."""

from __future__ import annotations

from drynpu_apex.parallel import (
    LARC,
)

__all__ = [
    "LARC",
]
