"""Trains with the vendor's operators in a profiled session or in functions of npu_device, and prints the losses."""

from __future__ import annotations

import json
import sys

import numpy as np
import tensorflow.compat.v1 as tf
from npu_bridge.estimator import npu_aicore_ops, npu_ops
from npu_bridge.estimator.npu_unary_ops import npu_unary_ops
from npu_bridge.helper import helper
from npu_bridge.npu_init import *  # noqa: F403 - as ported scripts do

gen_npu_ops = helper.get_gen_ops()
draw = np.random.RandomState(3)
x, labels = draw.randn(4, 6).astype(np.float32), draw.randn(4, 5).astype(np.float32)
OPTIONS = '{"output":"out","task_trace":"on","training_trace":"on"}'


def loss_of(batch, weight, keep_prob):
    """Return the loss of a layer of every activation, each in a scope of its name."""
    hidden = npu_ops.dropout(tf.matmul(batch, weight), keep_prob, seed=5, name="dropped")
    hidden = npu_unary_ops.gelu(hidden)
    hidden = npu_aicore_ops.fast_gelu(hidden)
    hidden = npu_aicore_ops.prelu(hidden, tf.constant(np.full(5, 0.25, np.float32)))
    hidden = npu_aicore_ops.dropout_v3(hidden, 0.75, seed=7)
    return tf.reduce_mean(tf.squared_difference(npu_aicore_ops.centralization(hidden, axes=[1]), labels))


def session():
    """Train by sess.run, with LARS and a step of Adam by the vendor's operators."""
    tf.disable_v2_behavior()
    features, keep_prob = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.float32, [])
    weight = tf.get_variable("weight", initializer=tf.constant(draw.randn(6, 5).astype(np.float32)), use_resource=True)
    first, second = (
        tf.get_variable(name, initializer=tf.constant(np.full((6, 5), 0.1, np.float32)), use_resource=True)
        for name in ("first", "second")
    )
    loss = loss_of(features, weight, keep_prob)
    (slope,) = tf.gradients(loss, [weight])
    scaled = npu_ops.LARSV2(weight, slope, 0.1, 0.01)
    step = npu_ops.adam_apply_one_with_decay_assign(
        scaled, second, first, weight, 0.01, 0.9, 0.1, 0.99, 0.01, 0.05, 1e-6
    )
    config = tf.ConfigProto()
    optimizer = config.graph_options.rewrite_options.custom_optimizers.add(name="NpuOptimizer")
    optimizer.parameter_map["use_off_line"].b = True
    optimizer.parameter_map["profiling_mode"].b = True
    optimizer.parameter_map["profiling_options"].s = OPTIONS.encode()
    with tf.Session(config=config) as opened:
        opened.run(tf.global_variables_initializer())
        losses = [float(opened.run([loss, step], {features: x, keep_prob: 0.6})[0]) for _ in range(2)]
    print("losses=" + json.dumps(losses))


def function():
    """Train by a function that is called twice in another one, as layers of one kind are."""
    import npu_device

    profiling = npu_device.global_options().profiling_config
    profiling.enable_profiling, profiling.profiling_options = True, OPTIONS
    npu_device.open().as_default()
    batch, weight = tf.constant(x), tf.Variable(draw.randn(6, 6).astype(np.float32))

    @tf.function
    def layer(batch):
        return npu_unary_ops.gelu(npu_ops.dropout(batch, 0.6, seed=5))

    @tf.function
    def step(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(layer(layer(tf.matmul(batch, weight))))
        slope = tape.gradient(loss, weight)
        weight.assign_sub(0.1 * slope)
        return loss

    print("losses=" + json.dumps([float(step(batch)) for _ in range(2)]))


if __name__ == "__main__":
    {"session": session, "function": function}[sys.argv[1]]()
