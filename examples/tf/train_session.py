"""
Train a small classifier with sess.run, profiled by the options of the session.

An ordinary TensorFlow 1 script for an NPU: it imports nothing of drynpu. Options: --steps, --output, --plain (the same
training without the NPU).
"""

from __future__ import annotations

import argparse
import json

import npu_bridge  # noqa: F401 - brings the NPU to TensorFlow
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

FEATURES, CLASSES, BATCH = 64, 10, 32


def build_model():
    """Return the placeholders, the loss and the training operator."""
    features = tf.placeholder(tf.float32, [None, FEATURES], name="features")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    hidden = features
    for number, units in enumerate((128, 64)):
        with tf.variable_scope(f"layer{number}"):
            kernel = tf.get_variable("kernel", [hidden.shape[-1], units])
            bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
            hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(hidden, kernel, name="matmul"), bias))
    with tf.variable_scope("head"):
        logits = tf.matmul(hidden, tf.get_variable("kernel", [hidden.shape[-1], CLASSES]))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits), name="loss")
    return features, labels, loss, tf.train.AdamOptimizer(0.01).minimize(loss)


def session_config(output, plain):
    """Return the configuration that puts the session on the NPU and profiles it."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
    if plain:
        return config
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["use_off_line"].b = True
    custom_op.parameter_map["profiling_mode"].b = True
    options = {
        "output": output,
        "training_trace": "on",
        "task_time": "on",
        "fp_point": "",
        "bp_point": "",
        "aic_metrics": "PipeUtilization",
    }
    custom_op.parameter_map["profiling_options"].s = tf.compat.as_bytes(json.dumps(options))
    return config


def main():
    """Train and print the losses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--output", default="./tf_out")
    parser.add_argument("--plain", action="store_true")
    arguments = parser.parse_args()

    tf.disable_v2_behavior()
    tf.set_random_seed(1)
    data = np.random.RandomState(0)
    features, labels, loss, train = build_model()
    with tf.Session(config=session_config(arguments.output, arguments.plain)) as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(arguments.steps):
            batch = {features: data.rand(BATCH, FEATURES), labels: data.randint(0, CLASSES, BATCH)}
            value, _ = sess.run([loss, train], batch)
            print(f"step {step} loss {value:.9f}")


if __name__ == "__main__":
    main()
