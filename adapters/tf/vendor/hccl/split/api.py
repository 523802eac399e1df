"""``hccl.split.api``: how gradients are grouped."""

from __future__ import annotations

from drynpu_tf.bridge.ranks import (
    set_split_strategy_by_idx,
    set_split_strategy_by_size,
)

__all__ = [
    "set_split_strategy_by_idx",
    "set_split_strategy_by_size",
]
