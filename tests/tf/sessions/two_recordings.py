"""Record sessions that overlap, fail or are forgotten, each case into its folder; ``<case>-then`` is recorded after."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import npu_bridge  # noqa: F401 - brings the NPU to TensorFlow
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow import profiler

tf.disable_eager_execution()
DATA = np.arange(40, dtype=np.float32).reshape(5, 8) / 40
features = tf.placeholder(tf.float32, [None, 8])
kernel = tf.get_variable("kernel", [8, 3], initializer=tf.ones_initializer())
loss = tf.reduce_mean(tf.square(tf.matmul(features, kernel) - 1.0))
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
begin = tf.global_variables_initializer()
kept = []


def session(output):
    Path(output).mkdir(exist_ok=True)
    config = tf.ConfigProto()
    custom = config.graph_options.rewrite_options.custom_optimizers.add()
    custom.name = "NpuOptimizer"
    custom.parameter_map["use_off_line"].b = True
    custom.parameter_map["profiling_mode"].b = True
    custom.parameter_map["profiling_options"].s = json.dumps({"output": output, "task_time": "on"}).encode()
    return tf.Session(config=config)


def work(each):
    each.run(begin)
    for _ in range(3):
        each.run([loss, train], {features: DATA})


def failed(folder):
    with suppress(ValueError), session(folder) as each:
        work(each)
        each.run(loss, {features: np.ones((3, 4), np.float32)})


def overlapping(folder):
    first, second = session(folder), session(f"{folder}-elsewhere")
    work(first)
    first.close()
    work(second)
    second.close()


def beside_tensorflow(folder):
    profiler.experimental.start("log")
    with session(folder) as each:
        work(each)
    profiler.experimental.stop()


def beside_a_forgotten_profiler_of_tensorflow(folder):
    profiler.experimental.start("log")
    with session(folder) as each:
        work(each)


def dropped(folder):
    work(session(folder))


def forgotten(folder):
    kept.append(session(folder))
    work(kept[0])


for case in (
    failed,
    overlapping,
    beside_tensorflow,
    beside_a_forgotten_profiler_of_tensorflow,
    dropped,
    forgotten,
):
    case(case.__name__)
    with session(f"{case.__name__}-then") as each:
        work(each)
