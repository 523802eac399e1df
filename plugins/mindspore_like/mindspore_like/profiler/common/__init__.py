"""``mindspore.profiler.common``: constants."""

from __future__ import annotations

from mindspore_like.profiler.common import constant

__all__ = ["constant"]
