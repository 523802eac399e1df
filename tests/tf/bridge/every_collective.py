"""One rank of two: every collective of npu_bridge, in a graph and one by one, and what it leaves."""

from __future__ import annotations

import json
import sys

import numpy as np
import tensorflow as tf
from npu_bridge.hccl import hccl_ops
from npu_bridge.npu_init import (
    NPUBroadcastGlobalVariablesCallback,
    create_group,
    get_rank_id,
    get_rank_size,
    npu_allreduce,
)

rank, size = get_rank_id(), get_rank_size()
assert size == 2
mine = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32) * (rank + 1)
create_group("all", 2, [0, 1])
create_group("alone", 1, [rank])


def calls():
    x = tf.constant(mine)
    found = {name: hccl_ops.allreduce(x, name) for name in ("sum", "prod", "max", "min")}
    found["list"] = hccl_ops.allreduce([x, x[0]], "sum")[1]
    found["gather"] = hccl_ops.allgather(x, 2)
    found["broadcast"] = hccl_ops.broadcast([x, x[:1]], 1)[1]
    found["reduce"] = hccl_ops.reduce(x, "sum", 0) if rank == 0 else hccl_ops.reduce(x, "sum", 0) * 0
    found["scatter"] = hccl_ops.reduce_scatter(x, "sum", 2)
    found["group"] = hccl_ops.allreduce(x, "sum", group="all")
    found["alone"] = hccl_ops.allreduce(x, "sum", group="alone")
    found["half"] = tf.cast(hccl_ops.allreduce(tf.cast(x, tf.float16), "sum"), tf.float32)
    found["bfloat"] = tf.cast(hccl_ops.allreduce(tf.cast(x, tf.bfloat16), "sum"), tf.float32)
    found["whole"] = hccl_ops.allreduce(tf.cast(x, tf.int32), "sum")
    found["mean"] = npu_allreduce(x)
    sparse = npu_allreduce(tf.IndexedSlices(x[:1], tf.constant([rank]), tf.constant([3, 2])))
    found["sparse"] = tf.math.unsorted_segment_sum(sparse.values, sparse.indices, 3)
    # Rank 0 sends one element to itself and three to the other; rank 1 sends two to each.
    counts, starts = ([1, 3], [0, 1]) if rank == 0 else ([2, 2], [0, 2])
    back, places = ([1, 2], [0, 1]) if rank == 0 else ([3, 2], [0, 3])
    found["all to all"] = hccl_ops.all_to_all_v(tf.reshape(x, [-1]), counts, starts, back, places)
    found["all to all c"] = hccl_ops.all_to_all_v_c(tf.reshape(x, [-1]), [[1, 3], [2, 2]], rank)
    if rank == 0:
        sent = hccl_ops.send(x, 7, 1)
        with tf.control_dependencies([sent] if isinstance(sent, tf.Operation) else []):
            found["message"] = tf.identity(x)
    else:
        found["message"] = hccl_ops.receive([2, 2], tf.float32, 7, 0)
    return found


def plain(values):
    return {name: np.asarray(value).tolist() for name, value in values.items()}


if sys.argv[1] == "eager":
    found = plain(calls())
    with tf.GradientTape() as tape:
        x = tf.Variable(mine)
        y = tf.reduce_sum(hccl_ops.allreduce(x, "sum") * (rank + 1.0))
    found["gradient"] = tape.gradient(y, x).numpy().tolist()
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, input_shape=(1,))])
    model.layers[0].set_weights([np.array([[rank + 5.0]], np.float32)])
    callback = NPUBroadcastGlobalVariablesCallback(0)
    callback.set_model(model)
    callback.on_batch_begin(0)
    found["weight"] = model.get_weights()[0].tolist()
else:
    with tf.Graph().as_default():
        nodes = calls()
        x = tf.constant(mine)
        nodes["gradient"] = tf.gradients(hccl_ops.allreduce(x, "sum") * (rank + 1.0), x)[0]
        with tf.compat.v1.Session() as session:
            found = plain(session.run(nodes))
print("found=" + json.dumps(found))
