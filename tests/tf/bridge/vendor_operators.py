"""Calls the vendor's generated operators as ported scripts do, and prints what they compute."""
# ruff: noqa: BLE001 - whatever is raised, the test names it

from __future__ import annotations

import json

import numpy as np
import tensorflow.compat.v1 as tf
from npu_bridge import tf_adapter
from npu_bridge.estimator import npu_aicore_ops, npu_ops
from npu_bridge.estimator.npu.npu_dynamic_rnn import DynamicAUGRU
from npu_bridge.helper import helper
from npu_bridge.npu_cpu.npu_cpu_ops import embeddingrankid
from npu_bridge.tbe import npu_cube_ops, npu_vector_ops
from npu_device.compat.v1.estimator import npu_ops as same_ops
from npu_device.compat.v1.estimator.npu import npu_convert_dropout as same_module

tf.disable_v2_behavior()
gen_npu_ops = helper.get_gen_ops()
draw = np.random.RandomState(3)
x, dy, w, h, c = (draw.randn(*shape).astype(np.float32) for shape in ((4, 6), (4, 6), (8, 20), (4, 2), (4, 5)))
h = draw.randn(4, 5).astype(np.float32)
w, b = draw.randn(11, 20).astype(np.float32), draw.randn(20).astype(np.float32)
found = {name: value.tolist() for name, value in {"x": x, "dy": dy, "w": w, "b": b, "h": h, "c": c}.items()}


def refused(call):
    """Return the name and the text of the error of a call."""
    try:
        return call()
    except Exception as error:
        return [type(error).__name__, str(error)]


def plain(value):
    """Return tensors as lists."""
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else np.asarray(value).tolist()


def variable(name, value):
    """Return a variable with a value."""
    return tf.get_variable(name, initializer=tf.constant(value, tf.float32), use_resource=True)


graph = {
    "fast_gelu_grad": npu_aicore_ops.npu_aicore_ops.fast_gelu_grad(dy, x),
    "gelu_grad": gen_npu_ops.gelu_grad(dy, x, x),
    "prelu": npu_aicore_ops.prelu(x, np.full(6, 0.25, np.float32)),
    "p_relu_grad": gen_npu_ops.p_relu_grad(tf.constant(dy), tf.constant(x), tf.constant(np.full(6, 0.25, np.float32))),
    "centralization": npu_aicore_ops.centralization(x, axes=[1]),
    "lars": npu_ops.LARS(inputs_w=[x, x * 2], inputs_g=[dy, dy], weight_decay=0.1, hyperpara=0.01, epsilon=1e-5),
    "lstm": gen_npu_ops.basic_lstm_cell(x, h, c, w, b, 1.0, 1.0, True, "tanh"),
    "kept": npu_aicore_ops.dropout_v3(tf.ones([200, 50]), 0.75),
}
mask = gen_npu_ops.drop_out_gen_mask([300], 0.5, 7)
graph["masked"] = [mask, *(gen_npu_ops.drop_out_do_mask(tf.ones([300]) * n, mask, 0.5) for n in (1.0, 3.0))]
weight, first, second = variable("weight", x), variable("first", dy), variable("second", np.abs(dy))
adam = npu_ops.adam_apply_one_with_decay_assign(dy, second, first, weight, 0.01, 0.9, 0.1, 0.99, 0.01, 0.05, 1e-6)
lamb_first, lamb_second, lamb_weight = variable("lf", dy), variable("ls", np.abs(dy)), variable("lw", x)
update, next_second, next_first = npu_vector_ops.lamb_apply_optimizer_assign(
    dy, lamb_second, lamb_first, lamb_weight, 0.9, 0.1, 0.99, 0.01, 1e-6, 3.0, 1.0, 0.05
)
lamb = npu_vector_ops.lamb_apply_weight_assign(tf.norm(lamb_weight), tf.norm(update), 0.01, update, lamb_weight)
steps, attention = draw.randn(3, 4, 6).astype(np.float32), draw.rand(3, 4).astype(np.float32)
augru = DynamicAUGRU(5, dtype=tf.float32)
attended, ones = augru(steps, attention, seq_length=[3, 2, 3, 1]), augru(steps, np.ones([3, 4], np.float32))

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    found |= {name: plain(session.run(value)) for name, value in graph.items()}
    session.run(adam)
    found["adam"] = plain(session.run([second, first, weight]))
    found["lamb"] = plain(session.run([update, next_second, next_first]))
    found["lamb weight"] = plain([session.run(lamb), session.run(lamb_weight)])
    found["augru"] = [np.shape(each) for each in session.run(attended)]
    outputs, _, gate, scaled = session.run(attended[:4])
    found["augru gates"] = [plain(gate[:, 0]), plain(scaled[:, 0]), plain(attention[:, 0])]
    found["augru end"] = plain(outputs[:, 3])
    found["augru attended wholly"] = plain(session.run([ones[0], ones[5]]))

found["same"] = [same_ops is npu_ops, same_module.__name__, tf_adapter.DT_FLOAT, tf_adapter.DT_INT64]
found["refused"] = {
    "rank": refused(lambda: embeddingrankid(None, [1, 2], row_memory=64)),
    "convolution": refused(lambda: npu_cube_ops.deformable_conv2d(x, w, b, [1, 1, 1, 1], "SAME")),
    "register": refused(lambda: gen_npu_ops.npu_get_float_status_v2()),
    "adapter": refused(lambda: tf_adapter.RdmaInitPool(1)),
    "assign": refused(lambda: npu_ops.adam_apply_one_assign(dy, x, x, x, 0.1, 0.9, 0.1, 0.99, 0.01, 1e-6)),
    "activation": refused(lambda: npu_ops.basic_lstm_cell(x, h, c, w, b, 1.0, 1.0, True, "relu")),
    "dropping": refused(lambda: npu_ops.basic_lstm_cell(x, h, c, w, b, 0.5)),
}
print("found=" + json.dumps(found))
