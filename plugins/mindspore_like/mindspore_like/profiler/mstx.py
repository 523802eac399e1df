"""``mindspore.profiler.mstx``: marks and ranges of the script's own."""

from __future__ import annotations

from mindspore_like._runtime import RUNTIME

__all__ = ["Mstx"]

Mstx = RUNTIME.surface.mstx
