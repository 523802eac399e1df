"""Tensors and functions compute as NumPy, and are reported under primitives that have rules."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mindspore_like as ms
from drynpu import CaptureError
from drynpu.kernels import Operators, build_rule_book
from drynpu_mindspore.rules import RULES
from mindspore_like import Tensor, ops
from mindspore_like._call_capture import CallCapture

RANDOM = np.random.default_rng(1)
A, B = (RANDOM.normal(size=(4, 6)).astype(np.float32) for _ in range(2))
W = RANDOM.normal(size=(6, 3)).astype(np.float32)
STACK = RANDOM.normal(size=(2, 5, 4)).astype(np.float32)
IMAGE = RANDOM.normal(size=(2, 4, 7, 8)).astype(np.float32)
KERNEL = RANDOM.normal(size=(6, 4, 3, 3)).astype(np.float32)
POSITIVE = np.abs(A) + 0.1


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[CallCapture]:
    """What tensors report to, for this test alone."""
    capture = CallCapture()
    monkeypatch.setattr("mindspore_like._operators._RECORDER", capture)
    capture.start()
    yield capture
    if capture.running:
        capture.stop()


def softmax(x: Any) -> Any:
    power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


CASES: dict[str, tuple[Callable[[], Tensor], Any, str]] = {
    "add": (lambda: Tensor(A) + B, A + B, "Add"),
    "number first": (lambda: 2 - Tensor(A), 2 - A, "Sub"),
    "array first": (lambda: A * Tensor(B), A * B, "Mul"),
    "div": (lambda: Tensor(A) / 3, A / 3, "Div"),
    "pow": (lambda: Tensor(A) ** 2, A**2, "Pow"),
    "neg": (lambda: -Tensor(A), -A, "Neg"),
    "abs": (lambda: ops.abs(Tensor(A)), np.abs(A), "Abs"),
    "matmul": (lambda: Tensor(A) @ Tensor(W), A @ W, "MatMul"),
    "vector": (lambda: Tensor(A) @ Tensor(W[:, 0]), A @ W[:, 0], "MatMul"),
    "stacks": (lambda: ops.bmm(STACK, A), STACK @ A, "BatchMatMul"),
    "greater": (lambda: Tensor(A) > 0, A > 0, "Greater"),
    "equal": (lambda: Tensor(A) == A, np.ones_like(A, bool), "Equal"),
    "less": (lambda: ops.less(A, B), A < B, "Less"),
    "and": (lambda: ops.logical_and(A > 0, B > 0), (A > 0) & (B > 0), "LogicalAnd"),
    "not": (lambda: ops.logical_not(A > 0), A <= 0, "LogicalNot"),
    "maximum": (lambda: ops.maximum(A, 0.5), np.maximum(A, np.float32(0.5)), "Maximum"),
    "exp": (lambda: ops.exp(A), np.exp(A), "Exp"),
    "log": (lambda: ops.log(POSITIVE), np.log(POSITIVE), "Log"),
    "sqrt": (lambda: ops.sqrt(POSITIVE), np.sqrt(POSITIVE), "Sqrt"),
    "rsqrt": (lambda: ops.rsqrt(POSITIVE), 1 / np.sqrt(POSITIVE), "Rsqrt"),
    "square": (lambda: ops.square(A), A * A, "Square"),
    "tanh": (lambda: ops.tanh(A), np.tanh(A), "Tanh"),
    "sigmoid": (lambda: ops.sigmoid(A), 1 / (1 + np.exp(-A)), "Sigmoid"),
    "relu": (lambda: ops.relu(Tensor(A)), A.clip(0), "ReLU"),
    "gelu": (lambda: ops.gelu(A), A / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (A + 0.044715 * A**3))), "GeLU"),
    "softmax": (lambda: ops.softmax(A), softmax(A), "Softmax"),
    "log softmax": (lambda: ops.log_softmax(A), np.log(softmax(A)), "LogSoftmax"),
    "sum": (lambda: Tensor(A).sum(1, keepdims=True), A.sum(1, keepdims=True), "ReduceSum"),
    "mean": (lambda: Tensor(A).mean(), A.mean(), "ReduceMean"),
    "max": (lambda: Tensor(A).max((0, 1)), A.max(), "ReduceMax"),
    "min": (lambda: Tensor(A).min(0), A.min(0), "ReduceMin"),
    "argmax": (lambda: ops.argmax(A, 1), A.argmax(1), "Argmax"),
    "transpose": (lambda: Tensor(A).T, A.T, "Transpose"),
    "reshape": (lambda: ops.reshape(A, (3, 8)), A.reshape(3, 8), "Reshape"),
    "cast": (lambda: Tensor(A).astype(ms.float16), A.astype(np.float16), "Cast"),
    "slice": (lambda: Tensor(A)[1:3, ::2], A[1:3, ::2], "StridedSlice"),
    "concat": (lambda: ops.concat((A, B), 1), np.concatenate((A, B), 1), "Concat"),
    "select": (lambda: ops.select(A > 0, A, B), np.where(A > 0, A, B), "Select"),
    "one hot": (lambda: ops.one_hot(np.array([0, 2], np.int32), 3), np.eye(3)[[0, 2]], "OneHot"),
    "bias": (lambda: ops.bias_add(IMAGE, IMAGE[0, :, 0, 0]), IMAGE + IMAGE[0, :, :1, :1], "BiasAdd"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_numpys_and_the_primitive_has_a_rule(recorder: CallCapture, name: str) -> None:
    compute, expected, primitive = CASES[name]
    made = compute().asnumpy()
    np.testing.assert_allclose(made.astype(np.float64), np.asarray(expected, np.float64), rtol=2e-6, atol=1e-6)
    assert made.dtype != np.float64
    operators = recorder.stop().operators
    assert operators.names == (primitive,)
    plan = build_rule_book(RULES).plan(operators.signatures[0])
    assert plan.mapped, "the call has what its rule needs"
    assert primitive == "Reshape" or plan.kernels


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        ({}, (2, 6, 5, 6)),
        ({"stride": 2, "pad_mode": "same"}, (2, 6, 4, 4)),
        ({"stride": (2, 1), "pad_mode": "pad", "padding": 1, "dilation": 2}, (2, 6, 3, 6)),
    ],
)
def test_a_convolution_is_the_sum_over_its_window(recorder: CallCapture, options: dict[str, Any], shape: Any) -> None:
    made = ops.conv2d(IMAGE, KERNEL, **options)
    assert made.shape == shape
    if not options:
        expected = [
            [[(IMAGE[n, :, y : y + 3, x : x + 3] * KERNEL[o]).sum() for x in range(6)] for y in range(5)]
            for n in range(2)
            for o in range(6)
        ]
        np.testing.assert_allclose(made.asnumpy().reshape(12, 5, 6), expected, rtol=1e-4, atol=1e-4)
    (signature,) = recorder.stop().operators.signatures
    assert [kernel.op_type for kernel in build_rule_book(RULES).plan(signature).kernels][2] == "Conv2D"


def test_groups_of_channels_are_convolved_apart() -> None:
    parts = [ops.conv2d(IMAGE[:, i : i + 2], KERNEL[3 * i // 2 : 3 * i // 2 + 3, :2]).asnumpy() for i in (0, 2)]
    together = ops.conv2d(IMAGE, KERNEL[:, :2], groups=2).asnumpy()
    np.testing.assert_allclose(together, np.concatenate(parts, 1), rtol=1e-5)


def test_a_mode_of_padding_that_is_none_is_said() -> None:
    with pytest.raises(ValueError, match=r"the 'pad_mode' must be one of \['valid', 'same', 'pad'\], but got 'full'\."):
        ops.conv2d(IMAGE, KERNEL, pad_mode="full")


def test_rows_are_columns_with_times_shapes_and_scopes(recorder: CallCapture) -> None:
    before_ns = time.time_ns()
    with recorder.scope("Gradients/Default/net"), recorder.scope("fc"):
        Tensor(A) @ W
    for _ in range(2):
        Tensor(A) + 1
    table: Operators = recorder.stop().operators
    assert len(table) == 3
    assert [table.names[i] for i in table.name] == ["Gradients/Default/net/fc/MatMul", "Add", "Add"]
    assert table.scope.tolist() == [1, 0, 0]
    assert before_ns <= table.start_ns[0] < table.end_ns[-1] <= time.time_ns()
    assert len(table.signatures) == 2
    assert table.texts[table.signature[-1]] == ("FLOAT;FLOAT", "4,6;")


def test_what_the_script_computes_is_reported_in_its_words(recorder: CallCapture) -> None:
    ms.record_operator(
        "LayerNorm", [A, A[0], A[0]], [A], start_ns=100, end_ns=300, attrs={"begin_norm_axis": 1}, arguments=()
    )
    with ms.timed_operator("SoftmaxCrossEntropyWithLogits", [A, B]) as operator:
        operator.outputs = [A[:, 0], A]
    with pytest.raises(ValueError, match=r"record_operator\('Add'\): end_ns 1 is before start_ns 2\."):
        ms.record_operator("Add", [A], start_ns=2, end_ns=1)
    table = recorder.stop().operators
    assert [table.names[i] for i in table.name] == ["LayerNorm", "SoftmaxCrossEntropyWithLogits"]
    assert (table.start_ns[0], table.end_ns[0]) == (100, 300)
    assert dict(table.signatures[table.signature[0]].attributes[1]) == {"begin_norm_axis": 1}
    assert all(build_rule_book(RULES).plan(each).mapped for each in table.signatures)


def test_nothing_is_kept_unless_it_records() -> None:
    recorder = CallCapture()
    recorder.add(("Add", (), (), (), ()), 1, 2)
    recorder.start()
    with pytest.raises(CaptureError, match="being recorded already"):
        recorder.start()
    assert len(recorder.stop().operators) == 0
    with pytest.raises(CaptureError, match="start before stop"):
        recorder.stop()


def test_tensors_speak_like_arrays() -> None:
    tensor = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (tensor.shape, tensor.dtype, tensor.ndim, tensor.size, len(tensor)) == ((2, 2), np.float32, 2, 4, 2)
    assert Tensor([1, 2]).dtype == np.int64
    assert (Tensor(np.array([1, 2], np.int32)) + 0.5).asnumpy().tolist() == [1.5, 2.5]
    assert np.asarray(tensor).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert [row.asnumpy().tolist() for row in tensor] == [[1.0, 2.0], [3.0, 4.0]]
    tensor[0] = 5
    assert (float(tensor[0, 1]), int(tensor[0, 0]), bool(tensor[0, 0] > 4), tensor.max().item()) == (5, 5, True, 5)
    assert repr(Tensor([1, 2])) == "Tensor(shape=[2], dtype=Int64, value=[1, 2])"
