"""
``mindspore.ops``: functions on tensors, each reported under its primitive.

A part of MindSpore's functions, with their names and the arguments that matter most; what is missing can be computed
with NumPy and reported with :func:`mindspore_like.record_operator`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from drynpu.arrays import Array as _Array
from drynpu.kernels.ops.gelu import TANH_CUBE as _TANH_CUBE
from mindspore_like import _operators as _ops
from mindspore_like._convolution import convolve as _convolve
from mindspore_like._tensor import Tensor as _Tensor
from mindspore_like._tensor import operand as _operand

_Unary = Callable[[Any], _Tensor]
_Binary = Callable[[Any, Any], _Tensor]
_GELU_ROOT = float(np.sqrt(2 / np.pi))


def _tensor(value: object) -> _Tensor:
    return value if isinstance(value, _Tensor) else _Tensor(value)


def _unary(primitive: str, compute: Callable[..., Any]) -> _Unary:
    def function(x: object) -> _Tensor:
        return _Tensor.from_array(_ops.run(primitive, compute, _tensor(x).asnumpy()))

    function.__doc__ = f"Compute {primitive} element by element."
    return function


def _binary(primitive: str, compute: Callable[..., Any]) -> _Binary:
    def function(x: object, y: object) -> _Tensor:
        if isinstance(x, _Tensor):
            return _Tensor.from_array(_ops.run(primitive, compute, x.asnumpy(), _operand(y, x)))
        other = _tensor(y)
        return _Tensor.from_array(_ops.run(primitive, compute, _operand(x, other), other.asnumpy()))

    function.__doc__ = f"Compute {primitive} element by element; shapes broadcast."
    return function


def _sigmoid(x: _Array) -> Any:
    # The exponent is never positive, so that nothing overflows.
    power = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + power), power / (1 + power)).astype(x.dtype)


def _gelu(x: _Array) -> Any:
    """Return the approximation by tanh, which MindSpore's ``GeLU`` computes."""
    inner = np.tanh(_GELU_ROOT * (x + _TANH_CUBE * x * x * x))
    return (0.5 * x * (1 + inner)).astype(x.dtype)


def _softmax(axis: int) -> Callable[[_Array], Any]:
    def compute(x: _Array) -> Any:
        power = np.exp(x - x.max(axis, keepdims=True))
        return power / power.sum(axis, keepdims=True)

    return compute


def _log_softmax(axis: int) -> Callable[[_Array], Any]:
    def compute(x: _Array) -> Any:
        shifted = x - x.max(axis, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))

    return compute


abs = _unary("Abs", np.abs)  # noqa: A001 - the framework's names, here and below
exp = _unary("Exp", np.exp)
gelu = _unary("GeLU", _gelu)
log = _unary("Log", np.log)
logical_not = _unary("LogicalNot", np.logical_not)
neg = _unary("Neg", np.negative)
relu = _unary("ReLU", lambda x: np.maximum(x, 0))
rsqrt = _unary("Rsqrt", lambda x: (1 / np.sqrt(x)).astype(x.dtype))
sigmoid = _unary("Sigmoid", _sigmoid)
sqrt = _unary("Sqrt", np.sqrt)
square = _unary("Square", np.square)
tanh = _unary("Tanh", np.tanh)

add = _binary("Add", np.add)
div = _binary("Div", np.true_divide)
equal = _binary("Equal", np.equal)
greater = _binary("Greater", np.greater)
less = _binary("Less", np.less)
logical_and = _binary("LogicalAnd", np.logical_and)
logical_or = _binary("LogicalOr", np.logical_or)
maximum = _binary("Maximum", np.maximum)
minimum = _binary("Minimum", np.minimum)
mul = _binary("Mul", np.multiply)
pow = _binary("Pow", np.power)  # noqa: A001
sub = _binary("Sub", np.subtract)


def matmul(input: object, other: object) -> _Tensor:  # noqa: A002
    """Return the product of matrices, of stacks of them that broadcast, or of vectors."""
    return _tensor(input).__matmul__(other)


def bmm(input_x: object, mat2: object) -> _Tensor:
    """Return the products of two stacks of matrices."""
    return _tensor(input_x).__matmul__(mat2)


def bias_add(input_x: object, bias: object) -> _Tensor:
    """Add a vector along the second dim."""
    x, b = _tensor(input_x), _tensor(bias)
    shape = (-1, *(1,) * (x.ndim - 2))
    return _Tensor.from_array(
        _ops.run("BiasAdd", lambda left, right: left + right.reshape(shape), x.asnumpy(), b.asnumpy())
    )


def conv2d(
    input: object,  # noqa: A002
    weight: object,
    bias: object = None,
    stride: int | tuple[int, int] = 1,
    pad_mode: str = "valid",
    padding: int | tuple[int, int] = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
) -> _Tensor:
    """
    Return the convolution of images [N, C, H, W] with weights [O, C / groups, KH, KW].

    *pad_mode* is ``valid``, ``same`` or ``pad`` (by *padding* on each side); anything else is a `ValueError`.
    """
    x, w = _tensor(input).asnumpy(), _tensor(weight).asnumpy()
    compute, attrs = _convolve(w.shape, stride, pad_mode, padding, dilation, groups)
    result = _Tensor.from_array(_ops.run("Conv2D", compute, x, w, attrs=attrs))
    return result if bias is None else bias_add(result, bias)


def softmax(input: object, axis: int = -1) -> _Tensor:  # noqa: A002
    """Return the softmax along an axis."""
    return _Tensor.from_array(_ops.run("Softmax", _softmax(axis), _tensor(input).asnumpy(), attrs=(("axis", (axis,)),)))


def log_softmax(logits: object, axis: int = -1) -> _Tensor:
    """Return the logarithm of the softmax along an axis."""
    return _Tensor.from_array(
        _ops.run("LogSoftmax", _log_softmax(axis), _tensor(logits).asnumpy(), attrs=(("axis", axis),))
    )


def sum(input: object, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> _Tensor:  # noqa: A001, A002
    """Return the sum over some dims."""
    return _tensor(input).sum(dim, keepdim)


def mean(x: object, axis: int | Sequence[int] | None = None, keep_dims: bool = False) -> _Tensor:
    """Return the mean over some axes."""
    return _tensor(x).mean(axis, keep_dims)


def argmax(input: object, dim: int = -1) -> _Tensor:  # noqa: A002
    """Return the index of the largest element along a dim."""
    return _tensor(input).argmax(dim)


def transpose(input: object, input_perm: Sequence[int]) -> _Tensor:  # noqa: A002
    """Return a copy with dims in another order."""
    return _tensor(input).transpose(*input_perm)


def reshape(input: object, shape: Sequence[int]) -> _Tensor:  # noqa: A002
    """Return the elements in another shape; nothing is launched for it."""
    return _tensor(input).reshape(shape)


def concat(tensors: Sequence[object], axis: int = 0) -> _Tensor:
    """Return tensors joined along an axis."""
    arrays = [_tensor(each).asnumpy() for each in tensors]
    return _Tensor.from_array(
        _ops.run("Concat", lambda *each: np.concatenate(each, axis), *arrays, attrs=(("axis", axis),))
    )


def select(condition: object, input: object, other: object) -> _Tensor:  # noqa: A002
    """Return elements of *input* where the condition holds, else of *other*."""
    x = _tensor(input)
    return _Tensor.from_array(
        _ops.run("Select", np.where, _tensor(condition).asnumpy(), x.asnumpy(), _operand(other, x))
    )


def one_hot(indices: object, depth: int, on_value: float = 1.0, off_value: float = 0.0) -> _Tensor:
    """Return a row of *depth* numbers for every index, float32; the index names the one that is *on_value*."""

    def compute(numbers: _Array) -> Any:
        return np.where(numbers[..., None] == np.arange(depth), on_value, off_value).astype(np.float32)

    return _Tensor.from_array(_ops.run("OneHot", compute, _tensor(indices).asnumpy()))
