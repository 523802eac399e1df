"""One rank of a data-parallel training in sessions: ``training_ranks.py OPTIMIZER``, ranks named by the environment."""

from __future__ import annotations

import json
import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
from npu_bridge.estimator.npu.npu_hook import broadcast_global_variables  # noqa: E402
from npu_bridge.npu_init import *  # noqa: E402, F403

STEPS, BATCH = 4, 8
kind = sys.argv[1]
rank, size = get_rank_id(), get_rank_size()  # noqa: F405
rng = np.random.default_rng(3)
x_all, y_all = (rng.normal(size=(STEPS, BATCH, width)).astype(np.float32) for width in (5, 2))
share = slice(rank * BATCH // size, (rank + 1) * BATCH // size)

x, y = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.float32, [None, 2])
# Every rank begins with weights of its own: the broadcast has to make them equal.
start = np.random.default_rng(5 + rank)
first = tf.get_variable("first", initializer=start.normal(size=(5, 7)).astype(np.float32))
bias = tf.get_variable("bias", initializer=np.zeros(7, np.float32))
second = tf.get_variable("second", initializer=start.normal(size=(7, 2)).astype(np.float32))
loss = tf.reduce_mean(tf.square(tf.matmul(tf.tanh(tf.matmul(x, first) + bias), second) - y))
plain = tf.train.MomentumOptimizer(0.05, 0.9)
if kind == "wrapper":
    train = npu_distributed_optimizer_wrapper(plain).minimize(loss)  # noqa: F405
elif kind == "optimizer":
    train = NPUDistributedOptimizer(plain).minimize(loss)  # noqa: F405
else:
    # As scripts do that call hccl_ops themselves: operators that do not depend on each other.
    pairs = plain.compute_gradients(loss)
    train = plain.apply_gradients([(hccl_ops.allreduce(grad, "sum") / size, v) for grad, v in pairs])  # noqa: F405
mean_loss = hccl_ops.allreduce(loss, "sum") / size  # noqa: F405

config = tf.ConfigProto(inter_op_parallelism_threads=1)
options = config.graph_options.rewrite_options.custom_optimizers.add(name="NpuOptimizer").parameter_map
options["profiling_mode"].b = True
options["profiling_options"].s = json.dumps(
    {"output": f"out{rank}", "training_trace": "on", "task_time": "on", "hccl": "on"}
).encode()
broadcast = broadcast_global_variables(0, 1)
losses = []
with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    session.run(broadcast)
    for step in range(STEPS):
        fed = {x: x_all[step][share], y: y_all[step][share]}
        losses.append(float(session.run([mean_loss, train], fed)[0]))
    weights = session.run([first, second])
print("losses=" + json.dumps(losses))
print("weights=" + json.dumps([float(np.abs(each).sum()) for each in weights]))
print("threads=" + json.dumps(config.inter_op_parallelism_threads))
