"""Train three steps of a small network by ``sess.run`` with a summary of variables, every profiling option on."""

from __future__ import annotations

import json

import npu_bridge  # noqa: F401
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

OPTIONS = {
    "output": "out",
    "training_trace": "on",
    "task_time": "l2",
    "aicpu": "on",
    "hccl": "on",
    "l2": "on",
    "runtime_api": "on",
    "msproftx": "on",
    "task_memory": "on",
    "fp_point": "",
    "bp_point": "",
    "aic_metrics": "ArithmeticUtilization",
    "sys_hardware_mem_freq": 100,
    "sys_io_sampling_freq": 100,
    "sys_interconnection_freq": 50,
    "host_sys": "cpu,mem,disk,network",
    "host_sys_usage": "cpu,mem",
    "host_sys_usage_freq": 50,
}

tf.disable_v2_behavior()
tf.set_random_seed(1)
random = np.random.RandomState(0)
pictures = tf.data.Dataset.from_tensor_slices((random.rand(12, 8, 8, 1).astype(np.float32), random.randint(0, 4, 12)))
features, labels = tf.data.make_one_shot_iterator(pictures.batch(4, drop_remainder=True).repeat()).get_next()
hidden = tf.layers.conv2d(features, 5, 3, activation=tf.nn.relu, name="conv")
hidden = tf.layers.batch_normalization(tf.layers.max_pooling2d(hidden, 2, 2), training=True, name="norm")
logits = tf.layers.dense(tf.reshape(hidden, [-1, 5 * 9]), 4, name="dense")
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits), name="loss")
train = tf.train.AdamOptimizer(0.01).minimize(loss)
best = tf.nn.top_k(logits, 2)
config = tf.ConfigProto()
config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
custom_op.name = "NpuOptimizer"
custom_op.parameter_map["use_off_line"].b = True
custom_op.parameter_map["profiling_mode"].b = True
custom_op.parameter_map["profiling_options"].s = tf.compat.as_bytes(json.dumps(OPTIONS))
with tf.Session(config=config) as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(3):
        sess.run([loss, train])
    sess.run(best)
