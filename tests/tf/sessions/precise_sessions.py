"""Trains the same network in a session for each precision mode; prints the losses of each."""

from __future__ import annotations

import json
from pathlib import Path

import npu_bridge.npu_init  # noqa: F401
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
LIST = Path("mixlist.json")
LIST.write_text(json.dumps({"black-list": {"to-add": ["MatMul"]}, "white-list": {"to-remove": ["Tanh"]}}))
MODES = {
    "none": {},
    "keep": {"precision_mode": "must_keep_origin_dtype"},
    "cube": {"precision_mode": "allow_fp32_to_fp16"},
    "all": {"precision_mode": "force_fp16"},
    "mixed": {"precision_mode": "allow_mix_precision"},
    "brain": {"precision_mode_v2": "mixed_bfloat16"},
    "inputs": {"precision_mode_v2": "cube_fp16in_fp32out"},
    "listed": {"precision_mode": "allow_mix_precision", "modify_mixlist": str(LIST)},
}
rng = np.random.default_rng(0)
x, wide, narrow = (rng.normal(size=shape).astype(np.float32) for shape in ((16, 32), (32, 64), (64, 8)))
losses = {}
for name, options in MODES.items():
    with tf.Graph().as_default():
        given = tf.placeholder(tf.float32, [16, 32])
        hidden = tf.tanh(tf.matmul(given, tf.get_variable("wide", initializer=wide)), name="hidden")
        logits = tf.matmul(hidden, tf.get_variable("narrow", initializer=narrow), name="logits")
        labels = tf.one_hot(np.arange(16) % 8, 8)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        config = tf.ConfigProto()
        parameters = config.graph_options.rewrite_options.custom_optimizers.add(name="NpuOptimizer").parameter_map
        parameters["profiling_mode"].b = True
        parameters["profiling_options"].s = json.dumps({"output": name, "task_time": "on"}).encode()
        for key, value in options.items():
            parameters[key].s = value.encode()
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            losses[name] = [float(session.run([loss, train], {given: x})[0]) for _ in range(2)]
with tf.Graph().as_default():
    given = tf.placeholder(tf.float32, [8, 16, 16, 3])
    layer = tf.layers.conv2d(given, 16, 3, use_bias=False)
    layer = tf.nn.relu(tf.layers.batch_normalization(layer, training=True))
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_mean(tf.square(layer)))
    config = tf.ConfigProto()
    parameters = config.graph_options.rewrite_options.custom_optimizers.add(name="NpuOptimizer").parameter_map
    parameters["profiling_mode"].b = True
    parameters["profiling_options"].s = json.dumps({"output": "image", "task_time": "on"}).encode()
    parameters["precision_mode"].s = b"allow_mix_precision"
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(train, {given: np.ones((8, 16, 16, 3), np.float32)})
print("losses=" + json.dumps(losses))
