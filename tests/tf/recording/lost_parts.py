"""
Train beside a recording of which one step after the other raises: ``lost_parts.py KIND STEP ...``.

KIND is ``sessions``, or ``functions`` with one step; a step is ``module:function`` or ``nothing``. The last line has
the losses of each training.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import numpy as np

DATA = np.arange(40, dtype=np.float32).reshape(5, 8) / 40


def in_sessions(output):
    import npu_bridge  # noqa: F401 - brings the NPU to TensorFlow
    import tensorflow.compat.v1 as tf

    tf.disable_eager_execution()
    tf.reset_default_graph()
    features = tf.placeholder(tf.float32, [None, 8])
    kernel = tf.get_variable("kernel", [8, 3], initializer=tf.ones_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(features, kernel) - 1.0))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    config = tf.ConfigProto()
    custom = config.graph_options.rewrite_options.custom_optimizers.add()
    custom.name = "NpuOptimizer"
    custom.parameter_map["use_off_line"].b = True
    custom.parameter_map["profiling_mode"].b = True
    options = json.dumps({"output": output, "task_time": "on", "training_trace": "on"})
    custom.parameter_map["profiling_options"].s = options.encode()
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        return [float(session.run([loss, train], {features: DATA})[0]) for _ in range(3)]


def in_functions(output):
    import npu_device as npu
    import tensorflow as tf

    options = npu.global_options()
    options.profiling_config.enable_profiling = True
    options.profiling_config.profiling_options = json.dumps({"output": output, "task_time": "on"})
    npu.open().as_default()
    kernel = tf.Variable(tf.ones([8, 3]))

    @tf.function
    def train(data):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(data, kernel) - 1.0))
        kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
        return loss

    losses = []
    for _ in range(3):
        losses.append(float(train(tf.constant(DATA))))
        tf.square(kernel)
    return losses


def fail(*_, **__):
    raise ZeroDivisionError("for this test")


def failing(step):
    if step == "nothing":
        return nullcontext()
    module_name, _, path = step.partition(":")
    *parents, name = path.split(".")
    owner = functools.reduce(getattr, parents, importlib.import_module(module_name))
    return mock.patch.object(owner, name, fail)


kind, *steps = sys.argv[1:]
losses = []
for number, step in enumerate(steps):
    Path(str(number)).mkdir()
    print(f"[drynpu] begin {step}", file=sys.stderr, flush=True)
    if kind == "functions":  # which are recorded until the process ends
        failing(step).__enter__()
        losses.append(in_functions(str(number)))
    else:
        with failing(step):
            losses.append(in_sessions(str(number)))
print("losses=" + json.dumps(losses))
