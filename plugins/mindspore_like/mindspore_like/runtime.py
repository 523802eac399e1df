"""``mindspore.runtime``: streams, which marks take, and waiting."""

from __future__ import annotations

from mindspore_like._runtime import Stream

__all__ = ["Stream", "current_stream", "synchronize"]


def synchronize() -> None:
    """Do nothing: NumPy has computed when it returns."""


def current_stream() -> Stream:
    """Return a stream for ``mstx.mark``."""
    return Stream()
