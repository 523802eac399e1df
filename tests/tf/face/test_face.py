"""``drynpu run`` of a TensorFlow 1 script as it is."""

from __future__ import annotations

import sys
from typing import Any

import pytest

SCRIPT = """
import json
import numpy as np
import tensorflow as tf
from npu_bridge.npu_init import *
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.framework import ops

features = tf.placeholder(tf.float32, [None, 8])
with tf.variable_scope("dense"):
    logits = tf.matmul(features, tf.get_variable("kernel", [8, 4]))
train = tf.train.AdamOptimizer().minimize(tf.reduce_mean(logits))
config = tf.ConfigProto(allow_soft_placement=True)
custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
custom_op.name = "NpuOptimizer"
custom_op.parameter_map["profiling_mode"].b = True
custom_op.parameter_map["profiling_options"].s = tf.compat.as_bytes('{"output":"./out"}')
with tf.Session(config=config) as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(train, {features: np.ones((2, 8))})
layer = tf.keras.layers.Dense(2)
v1 = tf.Session is tf.compat.v1.Session
print("kinds=" + json.dumps([tf.executing_eagerly(), v1, isinstance(config, config_pb2.ConfigProto)]))
"""
RUN = (sys.executable, "-W", "ignore", "-m", "drynpu", "run")


def test_a_script_for_tensorflow_1_runs_as_it_is(scripts: Any) -> None:
    run = scripts(SCRIPT, program=(*RUN, "--quiet"))
    assert "dense/MatMul" in run.prof().column("op_summary", "Op Name")
    (line,) = [line for line in run.said if "v1 face" in line]
    assert "script.py gets" in line
    assert line.endswith("(uses tf.ConfigProto, tf.Session, tf.get_variable, ...); --no-tf1 turns that off.")
    assert run.printed("kinds") == [False, True, True]


@pytest.mark.slow
def test_the_face_can_be_forced_and_refused(scripts: Any) -> None:
    plain = "import tensorflow as tf\nprint('v1=%d' % hasattr(tf, 'Session'))\n"
    assert scripts(plain, program=(*RUN, "--tf1")).printed("v1") == 1
    refused = scripts(SCRIPT, program=(*RUN, "--no-tf1"), status=1)
    assert "not compatible with eager execution" in refused.stderr
    assert not [line for line in refused.said if "v1 face" in line]
