"""A script for TensorFlow 1 finds ``tf.contrib`` where TensorFlow 1.15 had it, or reads what to take instead."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import pytest

from drynpu_tf1_contrib._absence import INSTEAD, without_slim

needs_slim = pytest.mark.skipif(
    importlib.util.find_spec("tf_slim") is None,
    reason="tf_slim is not installed: make venv, or pip install -c constraints.txt tf_slim",
)

SCRIPT = """
import json
import sys
import npu_bridge
import tensorflow as tf
import tensorflow.contrib.slim as slim
import tensorflow.contrib.rnn as rnn_cells
from tensorflow import contrib
from tensorflow.contrib import layers
from tensorflow.contrib.layers.python.layers import utils
from tensorflow.contrib.framework.python.ops import add_arg_scope, audio_ops
from tensorflow.contrib.framework.python.framework import tensor_util
from tensorflow.contrib.rnn.python.ops import core_rnn_cell
from tensorflow.contrib.slim.nets import resnet_v1
from tensorflow.contrib.slim.python.slim.nets import resnet_utils
from tensorflow.contrib.tpu.python.tpu import tpu_config, tpu_function
import tf_slim

def error_of(line):
    try:
        exec(line)
    except (AttributeError, ImportError) as error:
        return [type(error).__name__, str(error)]

same = {
    "slim": slim.conv2d is tf_slim.conv2d is tf.contrib.layers.conv2d is layers.convolution2d,
    "scope": tf.contrib.framework.add_arg_scope is add_arg_scope is slim.add_arg_scope,
    "utils": utils.collect_named_outputs is tf_slim.layers.utils.collect_named_outputs,
    "nets": resnet_v1.resnet_v1_50 is tf_slim.nets.resnet_v1.resnet_v1_50 and slim.nets.resnet_v1 is resnet_v1,
    "block": resnet_utils.Block is tf_slim.nets.resnet_utils.Block,
    "cells": rnn_cells.LSTMCell is tf.nn.rnn_cell.LSTMCell is core_rnn_cell.LSTMCell is contrib.rnn.LSTMCell,
    "rnn": tf.contrib.rnn.static_rnn is tf.nn.static_rnn,
    "data": tf.contrib.data.map_and_batch is tf.data.experimental.map_and_batch,
    "nest": tf.contrib.framework.nest.is_sequence([1]),
    "tpu": tf.contrib.tpu.RunConfig is tpu_config.RunConfig,
    "resolver": tf.contrib.cluster_resolver.TPUClusterResolver is tf.distribute.cluster_resolver.TPUClusterResolver,
    "listed": {"slim", "layers", "rnn"} <= set(dir(tf.contrib)),
}
lines = [
    "tf.contrib.cloud.BigtableClient",
    "from tensorflow.contrib.quantize import create_training_graph",
    "import tensorflow.contrib.nothing",
    "from tensorflow.contrib.slim.nets import mobilenet",
]
print("same=" + json.dumps([name for name, value in same.items() if not value]))
print("errors=" + json.dumps([error_of(line) for line in lines]))
star = {}
exec("from tensorflow.contrib.layers import *", star)
print("star=" + json.dumps([name in star for name in ("conv2d", "batch_norm", "l2_regularizer", "tf", "layers")]))
star = {}
exec("from tensorflow.contrib.rnn import *", star)
names = ("LayerRNNCell", "LSTMCell", "NASCell", "static_rnn", "dynamic_rnn", "tf", "Any")
print("cells=" + json.dumps([name for name in names if name in star]))
for name in [name for name in sys.modules if name.startswith(("tf_slim", "tensorflow.contrib"))]:
    del sys.modules[name]
del tf.contrib
sys.modules["tf_slim"] = None
lines = ["tf.contrib.layers.xavier_initializer", "from tensorflow.contrib.slim import conv2d"]
print("without=" + json.dumps([error_of(line) for line in lines]))
print("with=%d" % hasattr(tf.contrib.rnn, "GRUCell"))
"""
NETWORK = """
import collections
import json
import npu_bridge
import numpy as np
import tensorflow as tf
slim = tf.contrib.slim

tf.set_random_seed(1)
images = tf.placeholder(tf.float32, [2, 8, 8, 3])
scope = slim.arg_scope([slim.conv2d], normalizer_fn=slim.batch_norm, weights_regularizer=slim.l2_regularizer(0.5))
with scope:
    first = slim.conv2d(images, 4, 3, scope="first")
features = slim.flatten(slim.max_pool2d(first, 2))
normal = tf.contrib.layers.layer_norm(slim.fully_connected(features, 6, activation_fn=None))
loss = tf.reduce_sum(tf.square(normal[:, :3])) + tf.add_n(tf.losses.get_regularization_losses())
train = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.01))
kinds = collections.Counter(operator.type for operator in tf.get_default_graph().get_operations())
wide = tf.contrib.layers.xavier_initializer(seed=1)([300, 200])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    weights, penalty = session.run([slim.get_model_variables()[0], tf.losses.get_regularization_loss()])
    feed = {images: np.random.RandomState(0).rand(2, 8, 8, 3)}
    moving = tf.get_default_graph().get_tensor_by_name("first/BatchNorm/moving_variance:0")
    before, rows = session.run([moving, normal], feed)
    losses = [float(session.run(train, feed)) for _ in range(6)]
    after, spread = session.run([moving, wide])
found = {
    "names": sorted(variable.name for variable in tf.global_variables()),
    "kinds": [kinds["FusedBatchNormV3"], kinds["Conv2D"], kinds["MaxPool"]],
    "regularized": [float(penalty), float(0.25 * (weights**2).sum())],
    "rows": [float(np.abs(rows.mean(1)).max()), float(rows.std(1).min())],
    "moved": bool((before != after).all()),
    "falls": losses[5] < losses[0],
    "wide": [float(np.abs(spread).max()), float(spread.std())],
}
print("found=" + json.dumps(found))
"""
RUN = (sys.executable, "-W", "ignore", "-m", "drynpu", "run", "--quiet")


@needs_slim
def test_names_stand_where_they_stood(scripts: Any) -> None:
    run = scripts(SCRIPT, program=RUN)
    assert run.printed("same") == []
    assert run.printed("star") == [True, True, True, False, False]
    # A name that contrib did not have would take the place of the script's.
    assert run.printed("cells") == ["LayerRNNCell", "LSTMCell", "NASCell", "static_rnn"]
    cloud, quantize, nothing, mobilenet = run.printed("errors")
    assert cloud[0] == "AttributeError"
    assert "TensorFlow 2 has no tf.contrib.cloud.BigtableClient" in cloud[1]
    assert quantize[0] == nothing[0] == mobilenet[0] == "ModuleNotFoundError"
    assert "leave the script's option for it off" in quantize[1]
    assert "has no tf.contrib.slim.nets.mobilenet" in mobilenet[1]
    attribute, module = run.printed("without")
    assert attribute == ["AttributeError", without_slim("layers.xavier_initializer")]
    assert module == ["ModuleNotFoundError", without_slim("slim.conv2d")]
    assert run.printed("with") == 1


@pytest.mark.slow
@needs_slim
def test_a_network_of_slim_trains_on_the_kernels_of_tensorflow_1(scripts: Any) -> None:
    found = scripts(NETWORK, program=RUN).printed("found")
    norm = [f"first/BatchNorm/{name}:0" for name in ("beta", "moving_mean", "moving_variance")]
    rest = ["LayerNorm/beta:0", "LayerNorm/gamma:0", "fully_connected/biases:0", "fully_connected/weights:0"]
    assert found["names"] == sorted([*norm, *rest, "first/weights:0", "global_step:0"])
    assert found["kinds"] == [1, 1, 1]
    assert found["rows"] == [pytest.approx(0, abs=1e-5), pytest.approx(1, rel=1e-3)]
    assert found["regularized"][0] == pytest.approx(found["regularized"][1])
    assert found["moved"]
    assert found["falls"]
    # Xavier: uniform within sqrt(6 / (300 + 200)), whose standard deviation is sqrt(2 / (300 + 200)).
    assert found["wide"] == [pytest.approx(0.10954, rel=1e-3), pytest.approx(0.063246, rel=1e-2)]


def test_what_to_write_without_tf_slim_exists() -> None:
    v1 = pytest.importorskip("tensorflow").compat.v1
    for place in INSTEAD.values():
        found: Any = v1
        for name in place.partition("(")[0].split(".")[1:]:
            found = getattr(found, name)
        assert callable(found), place
    assert "write tf.glorot_uniform_initializer()" in without_slim("layers.xavier_initializer")
