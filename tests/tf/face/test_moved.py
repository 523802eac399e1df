"""Private names of TensorFlow 1.15 and of Keras 2.6 that scripts import still stand where those releases had them."""

from __future__ import annotations

import sys
from typing import Any

import pytest

V1 = """
import json
from npu_bridge.npu_init import *
from tensorflow.train import AdamOptimizer, Saver
from tensorflow.nn import rnn_cell
from tensorflow.python.distribute import distribution_strategy_context
from tensorflow.python.framework import graph_util, ops
from tensorflow.python.framework.graph_util import convert_variables_to_constants
from tensorflow.python.ops import array_ops, control_flow_ops, variable_scope
from tensorflow.python.util import nest
from tensorflow.python import pywrap_tensorflow

inputs = tf.placeholder(tf.float32, [2, 3], name="inputs")
kernel = variable_scope.variable(tf.ones([3, 4]), name="kernel")
rows = array_ops.unstack(tf.matmul(inputs, kernel))
total = control_flow_ops.cond(tf.constant(True), lambda: tf.add_n(rows), lambda: rows[0])
looped = control_flow_ops.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x * 2.0), (0, total))[1]
result = tf.identity(looped, name="result")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    frozen = convert_variables_to_constants(sess, sess.graph_def, ["result"])
    path = Saver().save(sess, "./model")
with tf.Graph().as_default() as graph:
    tf.import_graph_def(graph_util.extract_sub_graph(frozen, ["result"]), name="")
    with tf.Session() as sess:
        value = sess.run("result:0", {"inputs:0": [[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]]})
reader = pywrap_tensorflow.NewCheckpointReader(path)
found = {
    "value": value.tolist(),
    "variables": [node.op for node in frozen.node if "Variable" in node.op],
    "saved": reader.get_variable_to_shape_map(),
    "sequences": [nest.is_sequence([1]), nest.is_sequence(1)],
    "v1": [AdamOptimizer is tf.train.AdamOptimizer, rnn_cell.LSTMCell is tf.nn.rnn_cell.LSTMCell],
    "tensor": isinstance(inputs, ops.Tensor),
    "replica": distribution_strategy_context.get_replica_context() is not None,
}
print("found=" + json.dumps(found))
"""

V2 = """
import json
import npu_device
import tensorflow as tf
from keras import backend_config
from keras.layers.core import Dropout
from keras.optimizer_v2 import optimizer_v2
from keras.utils import control_flow_util

def call(self, inputs, training=None):
    return control_flow_util.smart_cond(training, lambda: inputs * 0.0, lambda: tf.identity(inputs))

Dropout.call = call
layer = tf.keras.layers.Dropout(0.5)
x = tf.ones([2])
found = [
    layer(x, training=True).numpy().tolist(),
    layer(x, training=False).numpy().tolist(),
    isinstance(tf.keras.optimizers.legacy.Adam(), optimizer_v2.OptimizerV2),
    backend_config.epsilon() == tf.keras.backend.epsilon(),
]
print("found=" + json.dumps(found))
"""
MISSING = """
import npu_device
try:
    import keras.layers.nothing
except ModuleNotFoundError as error:
    print("missing=\\"%s\\"" % error)
"""


def test_scripts_for_tensorflow_1_find_their_names(scripts: Any) -> None:
    run = scripts(V1, program=(sys.executable, "-W", "ignore", "-m", "drynpu", "run", "--quiet", "--tf1"))
    found = run.printed("found")
    assert found == {
        "value": [28.0] * 4,
        "variables": [],
        "saved": {"kernel": [3, 4]},
        "sequences": [True, False],
        "v1": [True, True],
        "tensor": True,
        "replica": True,
    }


@pytest.mark.slow
def test_no_deprecation_names_a_call_of_drynpu(scripts: Any) -> None:
    run = scripts(V1, program=(sys.executable, "-W", "ignore", "-m", "drynpu", "run", "--quiet", "--tf1"))
    deprecations = [line for line in run.stderr.splitlines() if "is deprecated" in line]
    assert deprecations, "the script itself calls what is deprecated"
    assert not [line for line in deprecations if "v2_compat" in line or "drynpu_tf" in line]


@pytest.mark.slow
def test_scripts_for_npu_device_find_names_of_keras(scripts: Any) -> None:
    run = scripts(V2, environment={"DRYNPU_QUIET": "1"})
    assert run.printed("found") == [[0.0, 0.0], [1.0, 1.0], True, True]


@pytest.mark.slow
def test_what_no_release_had_is_still_missing(scripts: Any) -> None:
    run = scripts(MISSING, environment={"DRYNPU_QUIET": "1"})
    assert run.printed("missing") == "No module named 'keras.layers.nothing'"
