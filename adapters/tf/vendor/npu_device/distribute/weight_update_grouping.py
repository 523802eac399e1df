"""``npu_device.distribute.weight_update_grouping``."""

from __future__ import annotations

from drynpu_tf.device2.distribution import grouping_broadcast, grouping_gradients_apply

__all__ = [
    "grouping_broadcast",
    "grouping_gradients_apply",
]
