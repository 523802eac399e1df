"""Loss scales of graphs that have operators with dependencies."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCALED = """
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
from npu_bridge.npu_init import *

x = tf.placeholder(tf.float32, [None, 3])
y = tf.layers.batch_normalization(tf.layers.dense(x, 4), training=True)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    manager = ExponentialUpdateLossScaleManager(init_loss_scale=2**10, incr_every_n_steps=1000)
    optimizer = NPULossScaleOptimizer(tf.train.AdamOptimizer(0.1), manager)
    train = optimizer.minimize(tf.reduce_mean(y * y))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(train, {x: [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]})
    print("scale=%d" % sess.run(manager.get_loss_scale()))
"""


def test_a_loss_scale_waits_for_no_dependency_that_is_open_where_it_is_made(scripts: Any) -> None:
    assert scripts(SCALED, environment={"DRYNPU_QUIET": "1"}).printed("scale") == 1024
