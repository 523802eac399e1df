"""Parts of ``tf.contrib`` around Estimator: TPUEstimator on this machine, loss scales, tables, modes."""

from __future__ import annotations

import sys
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import json
import npu_bridge
import numpy as np
import tensorflow as tf

tpu = tf.contrib.tpu


def model_fn(features, labels, mode, params):
    weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(features["x"] * weight - labels))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tpu.TPUEstimatorSpec(mode=mode, loss=loss, train_op=train, eval_metrics=(lambda: {}, []))


def input_fn(params):
    data = tf.data.Dataset.from_tensor_slices(({"x": [1.0, 2.0]}, [2.0, 4.0])).repeat()
    return data.apply(tf.contrib.data.batch_and_drop_remainder(params["batch_size"]))


place = tpu.InputPipelineConfig.PER_HOST_V2
found = {}
config = tpu.RunConfig(
    master="", model_dir="./model", tpu_config=tpu.TPUConfig(iterations_per_loop=1, per_host_input_for_training=place)
)
estimator = tpu.TPUEstimator(
    use_tpu=False, model_fn=model_fn, config=config, train_batch_size=2, eval_batch_size=2
)
estimator.train(input_fn, max_steps=2)
found["weight"] = float(estimator.get_variable_value("weight"))

variable = tf.get_variable("v", initializer=[1.0, 2.0])
scale = tf.placeholder(tf.float32, [])
manager = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(8.0, 2)
optimizer = tf.contrib.mixed_precision.LossScaleOptimizer(tf.train.GradientDescentOptimizer(0.5), manager)
train = optimizer.minimize(tf.reduce_sum(variable * scale))
table = tf.contrib.lookup.HashTable(
    tf.contrib.lookup.KeyValueTensorInitializer(tf.constant([3, 5], tf.int64), tf.constant([0.5, 0.25])), -1.0
)
values = table.lookup(tf.constant([5, 3, 4], tf.int64))
hooks = tf.contrib.learn.monitors.replace_monitors_with_hooks([tf.train.StopAtStepHook(1)], None)
with tf.Session() as session:
    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
    found["steps"] = []
    for slope in (1.0, float("inf"), 1.0):
        session.run(train, {scale: slope})
        found["steps"].append([session.run(variable).tolist(), float(session.run(manager.get_loss_scale()))])
    found["table"] = session.run(values).tolist()
found["modes"] = [tf.contrib.learn.ModeKeys.TRAIN, tf.contrib.learn.ModeKeys.INFER, len(hooks)]
x = tf.placeholder(tf.float32, [None, 2])
same = tf.contrib.framework.python.framework.tensor_util.with_same_shape(tf.zeros([3, 2]), x)
with tf.Session() as session:
    found["shape"] = list(session.run(same, {x: np.zeros([3, 2])}).shape)
    try:
        session.run(same, {x: np.zeros([4, 2])})
    except tf.errors.InvalidArgumentError as error:
        found["refused"] = "Wrong shape for Placeholder" in str(error)
for tensor in (tf.zeros([3, 2]), tf.zeros([4, 2])):
    try:
        tf.contrib.framework.with_same_shape(tf.zeros([3, 2]), tensor)
    except ValueError as error:
        found["static"] = str(error)
print("found=" + json.dumps(found))
"""
RUN = (sys.executable, "-W", "ignore", "-m", "drynpu", "run", "--quiet")


def test_training_around_estimator(scripts: Any) -> None:
    run = scripts(SCRIPT, program=RUN)
    assert not [line for line in run.stderr.splitlines() if "drynpu_tf" in line and "deprecated" in line]
    found = run.printed("found")
    # The slope at 0 is -(1 * 2 + 2 * 4) = -10; after a step of 0.1 the weight is 1, and then 1.5.
    assert found["weight"] == pytest.approx(1.5)
    # A step that overflows changes nothing. Two good ones in a row would double the scale.
    assert found["steps"] == [[[0.5, 1.5], 8.0], [[0.5, 1.5], 8.0], [[0.0, 1.0], 8.0]]
    assert found["table"] == [0.25, 0.5, -1.0]
    assert found["modes"] == ["train", "infer", 1]
    assert found["shape"] == [3, 2]
    assert found["refused"]
    assert found["static"].startswith("Invalid shape for tensor zeros")
