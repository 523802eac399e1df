"""A layer norm of a script that writes it out: one kernel where the graph infers, its operators where it trains."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import json
import npu_bridge.npu_init
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
given = tf.placeholder(tf.float32, [6, 5, 10])
with tf.variable_scope("norm"):
    mean, variance = tf.nn.moments(given, [-1], keepdims=True)
    scale, shift = (tf.get_variable(name, [10], initializer=tf.ones_initializer()) for name in ("scale", "shift"))
    found = tf.nn.batch_normalization(given, mean, variance, shift, scale, 1e-6)
loss = tf.reduce_mean(tf.square(found) * found)
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
batch = np.random.default_rng(3).normal(size=(6, 5, 10)).astype(np.float32)
for name, fetched in (("infers", found), ("trains", train)):
    config = tf.ConfigProto()
    options = config.graph_options.rewrite_options.custom_optimizers.add(name="NpuOptimizer").parameter_map
    options["profiling_mode"].b = True
    options["profiling_options"].s = json.dumps({"output": name, "task_time": "on"}).encode()
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        session.run(fetched, {given: batch})
"""


def test_it_is_one_kernel_where_nobody_takes_what_is_in_between(scripts: Any) -> None:
    run = scripts(SCRIPT, environment={"DRYNPU_QUIET": "1", "DRYNPU_CHIP": "Ascend910B2"})
    infers, trains = (run.prof(name).rows("op_summary") for name in ("infers", "trains"))
    (norm,) = [row for row in infers if row["OP Type"].startswith("LayerNorm")]
    assert (norm["OP Type"], norm["Task Type"]) == ("LayerNormV3", "AI_VECTOR_CORE")
    assert norm["Op Name"].startswith("norm/batchnorm/add")
    assert norm["Input Shapes"].strip('"') == "6,5,10;10;10"
    assert norm["Output Shapes"].strip('"') == "6,5,10;6,5,1;6,5,1"
    assert not {"ReduceMean", "Rsqrt", "SquaredDifference"} & {row["OP Type"] for row in infers}
    types = Counter(row["OP Type"] for row in trains)
    assert types["Rsqrt"] == 1
    assert not [name for name in types if name.startswith("LayerNorm")]
