"""The facade of ``torch_npu.contrib.module.channel_shuffle``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.layers import ChannelShuffle

__all__ = ["ChannelShuffle"]
