"""``npu_strategy.NPUStrategy``: one replica in this process."""

from __future__ import annotations

import tensorflow.compat.v2 as tf

from drynpu import say_once
from drynpu_tf.bridge.ranks import get_rank_size


class NPUStrategy(tf.compat.v1.distribute.OneDeviceStrategy):
    """TensorFlow's one-device strategy; with several ranks each trains on all the data by itself."""

    def __init__(self, device: str = "/cpu:0") -> None:
        if get_rank_size() > 1:
            say_once("NPUStrategy: each rank runs by itself here, with one replica and all the data")
        super().__init__(device)
