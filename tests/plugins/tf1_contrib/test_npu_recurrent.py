"""A layer of the vendor's is one kernel forward and one backward; what it computes is a loop's over the steps."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import json
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
from npu_bridge.npu_init import *
from npu_bridge.estimator.npu.npu_dynamic_rnn import DynamicRNN

STEPS, BATCH, WIDTH, HIDDEN = 5, 2, 3, 4
x = tf.placeholder(tf.float32, [STEPS, BATCH, WIDTH])
layer = DynamicRNN(HIDDEN, tf.float32, forget_bias=0.5)
y, h_all, c_all, i, j, f, o, tanhc = layer(x)
loss = tf.reduce_sum(y * y) + tf.reduce_sum(c_all)
weight, bias = layer._weights["w"], layer._weights["b"]
lengths = tf.constant([0, 3])
short = layer(x, seq_length=lengths)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
slopes = tf.gradients(loss, [x, weight, bias])

c = h = tf.zeros([BATCH, HIDDEN])
states, slow = [], 0.0
for step in range(STEPS):
    gates = tf.split(tf.concat([x[step], h], 1) @ weight + bias, 4, axis=1)
    c = c * tf.sigmoid(gates[2] + 0.5) + tf.sigmoid(gates[0]) * tf.tanh(gates[1])
    h = tf.tanh(c) * tf.sigmoid(gates[3])
    states.append((h, c))
    slow += tf.reduce_sum(h * h) + tf.reduce_sum(c)
slow_slopes = tf.gradients(slow, [x, weight, bias])
at_two = states[2]

data = {x: np.random.RandomState(0).normal(size=(STEPS, BATCH, WIDTH))}
plain = tf.Session(config=tf.ConfigProto())
plain.run(tf.global_variables_initializer())
one, other = plain.run([[loss, *slopes], [slow, *slow_slopes]], data)
kept, (h_two, c_two) = plain.run([short, at_two], data)
found = {
    "difference": max(float(np.abs(a - b).max()) for a, b in zip(one, other)),
    "empty": [float(np.abs(part[:, 0]).max()) for part in kept[:3]],
    "past the end": [float(np.abs(kept[0][3:, 1]).max())],
    "kept": [float(np.abs(part[3:, 1] - end[1]).max()) for part, end in ((kept[1], h_two), (kept[2], c_two))],
}
print("found=" + json.dumps(found))
plain.close()

config = tf.ConfigProto()
custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
custom_op.name = "NpuOptimizer"
custom_op.parameter_map["profiling_mode"].b = True
custom_op.parameter_map["profiling_options"].s = tf.compat.as_bytes('{"output":"./out","task_time":"on"}')
with tf.Session(config=config) as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(train, data)
"""


def test_an_lstm_is_one_kernel_in_each_direction(scripts: Any) -> None:
    run = scripts(SCRIPT)
    found = run.printed("found")
    assert found["difference"] < 5e-6
    assert found["empty"] == [0.0, 0.0, 0.0]
    assert found["past the end"] == [0.0]
    assert max(found["kept"]) < 1e-6
    kernels = {row["OP Type"]: row for row in run.prof().rows("op_summary")}
    forward, backward = kernels["DynamicRNN"], kernels["DynamicRNNGrad"]
    # x, the joined weights of 3 + 4 rows and 4 x 4 columns, bias, and the states before the first step.
    assert forward["Input Shapes"].strip('"') == "5,2,3;7,16;16;1,2,4;1,2,4"
    assert forward["Output Shapes"].strip('"') == ";".join(["5,2,4"] * 8)
    assert backward["Output Shapes"].strip('"') == "7,16;16;5,2,3;1,2,4;1,2,4"
    assert forward["Task Type"] == backward["Task Type"] == "MIX_AIC"
    assert not {"TensorArrayRead", "StackPush", "Sigmoid"} & set(kernels)
    assert not [line for line in run.stderr.splitlines() if "deprecated" in line and "drynpu_tf" in line]


GRU = """
import json
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
from npu_bridge.npu_init import *
from npu_bridge.estimator.npu.npu_dynamic_rnn import DynamicAUGRU, DynamicGRUV2

STEPS, BATCH, WIDTH, HIDDEN = 5, 3, 2, 4
x = tf.placeholder(tf.float32, [STEPS, BATCH, WIDTH])
attention = tf.placeholder(tf.float32, [STEPS, BATCH])
first = tf.placeholder(tf.float32, [1, BATCH, HIDDEN])
lengths = tf.constant([0, 3, 5])

def loop(layer, order, attention):
    w = [layer._weights[name] for name in ("weight_input", "weight_hidden", "bias_input", "bias_hidden")]
    h, out, states = first[0], [], []
    for step in range(STEPS):
        of_x, of_h = (tf.split(v, 3, 1) for v in (x[step] @ w[0] + w[2], h @ w[1] + w[3]))
        update, reset = (tf.sigmoid(of_x[order.index(g)] + of_h[order.index(g)]) for g in "zr")
        new = tf.tanh(of_x[2] + reset * of_h[2])
        if attention is not None:
            update = update * (1.0 - attention[step][:, None])
        runs = (step < lengths)[:, None]
        h = tf.where(tf.tile(runs, [1, HIDDEN]), (1.0 - update) * new + update * h, h)
        out.append(h * tf.cast(runs, tf.float32))
        states.append(h)
    return tf.stack(out), tf.stack(states), w

def slopes(y, states, w, *more):
    return tf.gradients(tf.reduce_sum(y * y) + tf.reduce_sum(states * 0.5), [x, first, *w, *more])

layers = [
    ("DynamicGRUV2", DynamicGRUV2(HIDDEN, tf.float32), "zr", None),
    ("turned", DynamicGRUV2(HIDDEN, tf.float32, gate_order="rzh"), "rz", None),
    ("DynamicAUGRU", DynamicAUGRU(HIDDEN, tf.float32), "zr", attention),
]
pairs = {}
for name, layer, order, scale in layers:
    layer._name = name
    with tf.variable_scope(name):
        more = () if scale is None else (scale,)
        found = layer(x, *more, seq_length=lengths, init_h=first)
    y, states, w = loop(layer, order, scale)
    ours, plain = [*found[:2], *slopes(*found[:2], w, *more)], [y, states, *slopes(y, states, w, *more)]
    pairs[name] = ours, plain
random = np.random.RandomState(0)
data = {
    x: random.normal(size=(STEPS, BATCH, WIDTH)),
    attention: random.uniform(size=(STEPS, BATCH)),
    first: random.normal(size=(1, BATCH, HIDDEN)),
}
with tf.Session(config=tf.ConfigProto()) as plain:
    plain.run(tf.global_variables_initializer())
    found = {
        name: [float(np.abs(a - b).max()) for a, b in zip(*plain.run(pair, data))] for name, pair in pairs.items()
    }
print("found=" + json.dumps(found))

config = tf.ConfigProto()
custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
custom_op.name = "NpuOptimizer"
custom_op.parameter_map["profiling_mode"].b = True
custom_op.parameter_map["profiling_options"].s = tf.compat.as_bytes('{"output":"./out","task_time":"on"}')
with tf.Session(config=config) as sess:
    sess.run(tf.global_variables_initializer())
    sess.run([pairs["DynamicGRUV2"][0], pairs["DynamicAUGRU"][0]], data)
"""


def test_a_gru_is_one_kernel_in_each_direction(scripts: Any) -> None:
    run = scripts(GRU)
    found = run.printed("found")
    assert [len(differences) for differences in found.values()] == [8, 8, 9]
    assert max(max(differences) for differences in found.values()) < 5e-6
    kernels = {row["OP Type"]: row for row in run.prof().rows("op_summary")}
    for name in ("DynamicGRUV2", "DynamicAUGRU"):
        forward, backward = kernels[name], kernels[f"{name}Grad"]
        # x, the weights and biases of input and state with 3 x 4 columns, and the state before the first step.
        assert forward["Input Shapes"].strip('"') == "5,3,2;2,12;4,12;12;12;1,3,4"
        assert backward["Output Shapes"].strip('"') == "2,12;4,12;12;12;5,3,2;1,3,4"
        assert forward["Task Type"] == backward["Task Type"] == "MIX_AIC"
    assert not {"TensorArrayRead", "StackPush", "PyFunc", "PyFuncStateless"} & set(kernels)
