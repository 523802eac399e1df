"""Small ONNX models: a perceptron, a convolutional net, copies of any type, and models that fail."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["any_image", "conv_net", "copies", "failing", "masked", "mlp", "save", "step"]

_OPSET, _IR = 17, 8


def _weight(name: str, *shape: int) -> onnx.TensorProto:
    """Return a weight whose values follow from its name and shape."""
    random = np.random.default_rng(len(name) + sum(shape))
    return numpy_helper.from_array(random.standard_normal(shape).astype(np.float32) / 4, name)


def _model(nodes: list[Any], inputs: list[Any], outputs: list[Any], weights: list[Any]) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "graph", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)


def _value(name: str, dims: list[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def mlp(batch: int | str = 4, sizes: tuple[int, ...] = (16, 32, 8)) -> onnx.ModelProto:
    """Return ``x [batch, 16] -> Gemm -> Relu -> Gemm -> Softmax -> y [batch, 8]``."""
    first, hidden, last = sizes
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], "fc1"),
        helper.make_node("Relu", ["h"], ["a"], "relu1"),
        helper.make_node("Gemm", ["a", "w2", "b2"], ["logits"], "fc2"),
        helper.make_node("Softmax", ["logits"], ["y"], "softmax", axis=-1),
    ]
    weights = [_weight("w1", first, hidden), _weight("b1", hidden), _weight("w2", hidden, last), _weight("b2", last)]
    return _model(nodes, [_value("x", [batch, first])], [_value("y", [batch, last])], weights)


def conv_net() -> onnx.ModelProto:
    """Return a net with what convolutional nets have: ``image [1, 3, 16, 16] -> scores [1, 10]``."""
    nodes = [
        helper.make_node("Conv", ["image", "k1"], ["c1"], "conv1", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c1", "s", "o", "m", "v"], ["n1"], "bn1"),
        helper.make_node("Relu", ["n1"], ["r1"], "relu1"),
        helper.make_node("MaxPool", ["r1"], ["p1"], "pool1", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p1", "k2", "b2"], ["c2"], "conv2", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c2", "p1"], ["sum"], "shortcut"),
        helper.make_node("Sigmoid", ["sum"], ["gate"], "sigmoid"),
        helper.make_node("GlobalAveragePool", ["gate"], ["mean"], "gap"),
        helper.make_node("Flatten", ["mean"], ["flat"], "flatten", axis=1),
        helper.make_node("MatMul", ["flat", "w"], ["product"], "fc"),
        helper.make_node("Add", ["product", "b"], ["scores"], "fc_bias"),
    ]
    weights = [_weight("k1", 8, 3, 3, 3), _weight("k2", 8, 8, 3, 3), _weight("b2", 8), _weight("w", 8, 10)]
    weights += [_weight("b", 10), *(_weight(name, 8) for name in "som")]
    weights.append(numpy_helper.from_array(np.ones(8, np.float32), "v"))
    return _model(nodes, [_value("image", [1, 3, 16, 16])], [_value("scores", [1, 10])], weights)


def any_image(batch: int = 1) -> onnx.ModelProto:
    """Return ``image [batch, 3, h, w] -> Conv -> Relu -> features [batch, 4, h, w]``, for images of any size."""
    nodes = [
        helper.make_node("Conv", ["image", "k"], ["c"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["features"], "relu"),
    ]
    image, features = _value("image", [batch, 3, "h", "w"]), _value("features", [batch, 4, "h", "w"])
    return _model(nodes, [image], [features], [_weight("k", 4, 3, 3, 3)])


def masked() -> onnx.ModelProto:
    """Return ``x [n, s, 8], mask [n, s, 1] -> Mul -> MatMul -> y [n, s, 5]``."""
    nodes = [
        helper.make_node("Mul", ["x", "mask"], ["kept"], "keep"),
        helper.make_node("MatMul", ["kept", "w"], ["y"], "project"),
    ]
    inputs = [_value("x", ["n", "s", 8]), _value("mask", ["n", "s", 1])]
    return _model(nodes, inputs, [_value("y", ["n", "s", 5])], [_weight("w", 8, 5)])


def step() -> onnx.ModelProto:
    """Return ``x [2, 4], state [2, 4] -> MatMul -> Add -> y [2, 4]``, whose result may be the next state."""
    nodes = [
        helper.make_node("MatMul", ["state", "w"], ["moved"], "move"),
        helper.make_node("Add", ["moved", "x"], ["y"], "add"),
    ]
    inputs = [_value("x", [2, 4]), _value("state", [2, 4])]
    return _model(nodes, inputs, [_value("y", [2, 4])], [_weight("w", 4, 4)])


def copies(**inputs: tuple[str, Sequence[int | str]]) -> onnx.ModelProto:
    """Return ``<name> -> Identity -> <name>_copy`` for each input, given as the name of its NumPy type and its dims."""
    nodes, ends = [], []
    for name, (dtype, dims) in inputs.items():
        nodes.append(helper.make_node("Identity", [name], [f"{name}_copy"], f"copy_{name}"))
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        ends.append([helper.make_tensor_value_info(each, kind, dims) for each in (name, f"{name}_copy")])
    return _model(nodes, [each[0] for each in ends], [each[1] for each in ends], [])


def failing() -> onnx.ModelProto:
    """Return a model that loads and whose run fails: a reshape to a size that the input does not have."""
    shape = numpy_helper.from_array(np.array([7, 7], np.int64), "shape")
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "relu"),
        helper.make_node("Reshape", ["a", "shape"], ["y"], "reshape"),
    ]
    return _model(nodes, [_value("x", ["n"])], [_value("y", [7, 7])], [shape])


def save(model: onnx.ModelProto, path: Path) -> Path:
    """Write a model and return its path."""
    onnx.save_model(model, str(path))
    return path
