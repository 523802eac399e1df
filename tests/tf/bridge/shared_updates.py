"""
Trains by Adam whose updates the ranks share out: ``shared_updates.py resource|reference alone|shared``.

Prints the losses of this rank, its weights at the end, which rank updates which variable, and how many slots there are.
With ``alone`` plain TensorFlow trains with the batches of both ranks.
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import tensorflow.compat.v1 as tf

STEPS = 3
kind, way = sys.argv[1:]
tf.disable_eager_execution()
if kind == "resource":
    tf.enable_resource_variables()
else:
    tf.disable_resource_variables()
rank = int(os.environ.get("RANK_ID", "0"))
data = np.random.default_rng(5)
inputs, labels = data.normal(size=(STEPS, 8, 6)).astype(np.float32), data.normal(size=(STEPS, 8)).astype(np.float32)
words = data.integers(0, 5, (STEPS, 8))
mine = slice(None) if way == "alone" else slice(4 * rank, 4 * rank + 4)


def variable(name, *shape):
    start = np.random.default_rng(len(name)).normal(size=shape).astype(np.float32)
    return tf.get_variable(name, initializer=start)


features, targets = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.float32, [None])
tokens = tf.placeholder(tf.int64, [None])
hidden = tf.tanh(features @ variable("first", 6, 16) + variable("bias", 16))
hidden += tf.nn.embedding_lookup(variable("words", 5, 16), tokens)
found = tf.reduce_sum(hidden @ variable("matrix", 16, 4) * variable("scales", 4), 1)
loss = tf.reduce_mean(tf.square(found - targets))
step = tf.train.get_or_create_global_step()
optimizer = tf.train.AdamOptimizer(0.02)
config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
if way == "shared":
    from npu_bridge.npu_init import NPUDistributedOptimizer

    optimizer = NPUDistributedOptimizer(optimizer, is_weight_update_sharding=True)
    parameters = config.graph_options.rewrite_options.custom_optimizers.add(name="NpuOptimizer").parameter_map
    parameters["use_off_line"].b = True
    parameters["profiling_mode"].b = True
    parameters["profiling_options"].s = b'{"output":"out","training_trace":"on","task_time":"on"}'
train = optimizer.minimize(loss, step)
with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    feeds = zip(inputs[:, mine], labels[:, mine], words[:, mine], strict=True)
    losses = [session.run([loss, train], {features: x, targets: y, tokens: w})[0] for x, y, w in feeds]
    weights = session.run(tf.trainable_variables())
    print("steps=" + json.dumps(int(session.run(step))))
print("losses=" + json.dumps([float(each) for each in losses]))
print("weights=" + json.dumps([each.tolist() for each in weights]))
print("slots=" + json.dumps(sum("Adam" in each.name for each in tf.global_variables())))
if way == "shared":
    from npu_bridge.estimator.npu import util

    print("owners=" + json.dumps([util.get_gid_by_weight(each) for each in tf.trainable_variables()]))
    items = util.get_all_grad_item()
    print("bytes=" + json.dumps([util.GradDivisionItem(item.grad, item.var).size for item in items]))
    print("by_gradient=" + json.dumps([util.get_gid_by_grad(item.grad) for item in items]))
    util.add_grads_and_vars([(item.grad, item.var) for item in reversed(items)], 2)
    print("turned=" + json.dumps([util.get_gid_by_weight(each) for each in tf.trainable_variables()]))
