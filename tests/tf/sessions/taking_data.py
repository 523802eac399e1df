"""Sessions that take their data from iterators: the script whose directories test_taking_data.py reads."""

from __future__ import annotations

import json

import npu_bridge  # noqa: F401
import numpy as np
import tensorflow.compat.v1 as tf
from npu_bridge.estimator.npu import util

tf.disable_v2_behavior()
DATA = np.random.RandomState(0)
FEATURES, GOALS = DATA.rand(24, 6).astype(np.float32), DATA.rand(24).astype(np.float32)
found = {}


def config(output, enable_data_pre_proc=True, **options):
    """Return a configuration that leaves its profile in *output*; ``None`` for no NPU."""
    if output is None:
        return None
    proto = tf.ConfigProto()
    custom_op = proto.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["enable_data_pre_proc"].b = enable_data_pre_proc
    custom_op.parameter_map["profiling_mode"].b = True
    text = json.dumps({"output": f"./{output}", "training_trace": "on", "aicpu": "on", **options})
    custom_op.parameter_map["profiling_options"].s = tf.compat.as_bytes(text)
    return proto


def train(output, runs, steps_per_run=1, one_shot=False, **options):
    """Return the losses that runs of the training fetch, and the weights after them."""
    with tf.Graph().as_default(), tf.Session(config=config(output, **options)) as session:
        dataset = tf.data.Dataset.from_tensor_slices((FEATURES, GOALS)).batch(4).repeat()
        make = tf.data.make_one_shot_iterator if one_shot else tf.data.make_initializable_iterator
        iterator = make(dataset)
        features, goals = iterator.get_next()
        weights = tf.get_variable("w", [6, 1], initializer=tf.ones_initializer(), use_resource=True)
        loss = tf.reduce_mean((tf.matmul(features, weights)[:, 0] - goals) ** 2)
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        if not one_shot:
            session.run(iterator.initializer)
        train_op = util.set_iteration_per_loop(session, train_op, steps_per_run)
        losses = [float(session.run([loss, train_op])[0]) for _ in range(runs)]
        return [losses, session.run(weights).tolist()]


found["plain"] = train(None, 6)
found["loop"] = train("loop", 2, 3)
found["host"] = train(None, 1, 3)
found["fed"] = train("fed", 2, 3, enable_data_pre_proc=False)
found["one shot"] = train("one_shot", 2, 3, one_shot=True)
found["off"] = train("off", 1, task_time="off")

with tf.Graph().as_default(), tf.Session(config=config("host_only")) as session:
    session.run(tf.data.make_initializable_iterator(tf.data.Dataset.range(3)).initializer)

with tf.Graph().as_default(), tf.Session(config=config("growing")) as session:
    square = tf.random.uniform([4, 4])
    _, grown = tf.while_loop(
        lambda turn, rows: turn < 3,
        lambda turn, rows: (turn + 1, tf.concat([rows, tf.matmul(rows, square)], 0)),
        [0, tf.random.uniform([2, 4])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 4])],
    )
    found["grown"] = [session.run(grown).shape[0] for _ in range(2)]
print("found=" + json.dumps(found))
