"""Calls operators of npu_bridge that have a second name, or that can only refuse, and prints what they compute."""
# ruff: noqa: BLE001 - whatever is raised, the test names it

from __future__ import annotations

import json

import numpy as np
import tensorflow.compat.v1 as tf
from npu_bridge.estimator import npu_ops
from npu_bridge.estimator.npu.npu_convert_dropout import dropout_call
from npu_bridge.estimator.npu_unary_ops import npu_unary_ops
from npu_bridge.hccl import hccl_ops
from npu_bridge.tbe.npu_vector_ops import PReLU
from npu_device import gen_npu_ops

tf.disable_v2_behavior()
draw = np.random.RandomState(3)
x, dy = (draw.randn(4, 6).astype(np.float32) for _ in range(2))
h, w, b = draw.randn(4, 5).astype(np.float32), draw.randn(11, 20).astype(np.float32), np.zeros(20, np.float32)
quarter = np.full(6, 0.25, np.float32)
found = {"x": x.tolist(), "dy": dy.tolist()}


def refused(call, *arguments):
    try:
        return call(*arguments)
    except Exception as error:
        return [type(error).__name__, str(error)]


first, second, weight = (
    tf.get_variable(name, initializer=value, use_resource=True)
    for name, value in (("first", dy), ("second", np.abs(dy)), ("weight", x))
)
mask = gen_npu_ops.drop_out_gen_mask_v3([4, 6], 0.5, 7)
dropped = tf.keras.layers.Dropout(0.5)(tf.ones([50, 50]), training=True)
graph = {
    "gelu": [npu_unary_ops.gelu(x), gen_npu_ops.gelu(x)],
    "gelu_grad": [npu_unary_ops.gelu_grad(dy, x, x), gen_npu_ops.gelu_grad(dy, x, x)],
    "fast_gelu": [npu_unary_ops.fast_gelu(x), gen_npu_ops.fast_gelu(x)],
    "p_relu": [gen_npu_ops.p_relu(x, quarter), PReLU(tf.keras.initializers.Constant(0.25))(tf.constant(x))],
    "lars": [npu_ops.LARS([x], [dy], 0.1, 0.01, 1e-5)[0], gen_npu_ops.lars([x], [dy], 0.1, 0.01, 1e-5)[0]],
    "lars_v2": [npu_ops.LARSV2(x, dy, 0.1, 0.01), gen_npu_ops.lars_v2(x, dy, 0.1, 0.01)],
    "masked": [tf.cast(mask, tf.float32), gen_npu_ops.drop_out_do_mask_v3(tf.ones([4, 6]), mask, 0.5)],
    "lstm": [npu_ops.basic_lstm_cell(x, h, h, w, b)[1], gen_npu_ops.basic_lstm_cell(x, h, h, w, b)[1]],
    "dropped": [tf.reduce_mean(tf.cast(dropped > 0, tf.float32)), tf.reduce_max(dropped)],
    "status": [npu_ops.npu_clear_float_status()],
}
nothing = [npu_ops.initialize_system(), npu_ops.NPUInit(), npu_ops.NPUShutdown(), npu_ops.shutdown_system()]
adam = npu_ops.adam_apply_one_assign(dy, second, first, weight, 0.01, 0.9, 0.1, 0.99, 0.01, 1e-6)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    found["nothing"] = session.run(nothing)
    found |= {name: [value.tolist() for value in session.run(values)] for name, values in graph.items()}
    session.run(adam)
    found["adam"] = session.run(weight).tolist()
found["keras"] = tf.keras.layers.Dropout.call is dropout_call
found["same"] = gen_npu_ops.adam_apply_one_assign is npu_ops.adam_apply_one_assign
found["types"] = sorted({operation.type for operation in tf.get_default_graph().get_operations()})
found["refused"] = [
    refused(hccl_ops.remote_read, x, tf.float32),
    refused(hccl_ops.remote_ref_read, x, x, 0),
    refused(hccl_ops.remote_write, x, x, tf.float32),
    refused(hccl_ops.remote_scatter_write, x, x, 0),
    refused(hccl_ops.gather_all_to_all_v, x, x, x, x, x, x),
]
print("found=" + json.dumps(found))
