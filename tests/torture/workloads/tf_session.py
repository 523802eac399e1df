"""A TensorFlow 1 session that is profiled from its first run to its end."""

from __future__ import annotations

import json
import time

import npu_bridge  # noqa: F401 - brings the NPU to TensorFlow
import numpy as np
import tensorflow.compat.v1 as tf

STEPS = 10
"""They last long enough that steps are saved while others follow."""


def main() -> object:
    """Train, and return the losses."""
    tf.disable_eager_execution()
    tf.set_random_seed(3)
    features = tf.placeholder(tf.float32, [None, 8])
    kernel = tf.get_variable("kernel", [8, 3], initializer=tf.ones_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(features, kernel) - 1.0))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    config = tf.ConfigProto()
    custom = config.graph_options.rewrite_options.custom_optimizers.add()
    custom.name = "NpuOptimizer"
    custom.parameter_map["use_off_line"].b = True
    custom.parameter_map["profiling_mode"].b = True
    options = json.dumps({"output": "out", "task_trace": "on", "training_trace": "on", "aicpu": "on"})
    custom.parameter_map["profiling_options"].s = options.encode()
    data = np.arange(40, dtype=np.float32).reshape(5, 8) / 40
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        losses = []
        for _ in range(STEPS):
            losses.append(round(float(session.run([loss, train], {features: data})[0]), 6))
            time.sleep(0.15)
        return losses
