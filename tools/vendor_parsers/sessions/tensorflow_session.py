"""
Two steps of a small network by sess.run.

    drynpu run tensorflow_session.py FOLDER LEVEL [METRICS]
"""

from __future__ import annotations

import json
import sys

import npu_bridge  # noqa: F401 - brings the NPU to TensorFlow
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig


def main() -> None:
    """Record."""
    folder, level, *metrics = sys.argv[1:]
    options = {"output": folder, "training_trace": "on", "task_time": level}
    options |= {"aic_metrics": metrics[0]} if metrics and metrics[0] else {}
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
    chosen = config.graph_options.rewrite_options.custom_optimizers.add()
    chosen.name = "NpuOptimizer"
    chosen.parameter_map["use_off_line"].b = True
    chosen.parameter_map["profiling_mode"].b = True
    chosen.parameter_map["profiling_options"].s = tf.compat.as_bytes(json.dumps(options))
    tf.disable_v2_behavior()
    features = tf.placeholder(tf.float32, [32, 64])
    hidden = tf.nn.relu(tf.matmul(features, tf.get_variable("kernel", [64, 10])))
    loss = tf.reduce_mean(tf.square(hidden))
    train = tf.train.AdamOptimizer(0.01).minimize(loss)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run([loss, train], {features: np.ones((32, 64), np.float32)})


if __name__ == "__main__":
    main()
