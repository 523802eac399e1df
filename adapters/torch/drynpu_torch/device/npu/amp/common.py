"""Whether mixed precision can be had."""

from __future__ import annotations

from drynpu_torch.device._state import state

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Return whether there is no device, as with ``DRYNPU_DEVICES=0``."""
    return not state().device_count
