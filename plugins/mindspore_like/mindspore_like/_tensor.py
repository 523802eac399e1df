"""``Tensor``: an array whose operators are reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from drynpu.arrays import Array
from mindspore_like._operators import matmul, reduce, run

_FLOATING = "fc"


_Operator = Callable[["Tensor", Any], "Tensor"]


def _operators(primitive: str, compute: Callable[..., Any]) -> tuple[_Operator, _Operator]:
    """Return the operator with the tensor on the left, and the one with it on the right."""

    def left(self: Tensor, other: object) -> Tensor:
        return Tensor.from_array(run(primitive, compute, self._array, operand(other, self)))

    def right(self: Tensor, other: object) -> Tensor:
        return Tensor.from_array(run(primitive, compute, operand(other, self), self._array))

    return left, right


class Tensor:
    """
    A NumPy array that reports what is computed with it; values are NumPy's.

    Parameters
    ----------
    input_data:
        Anything that NumPy makes an array of. Python floats become float32, integers int64; arrays keep their type.
    dtype:
        NumPy's data type, as ``mindspore_like.float32`` is.
    """

    __array_ufunc__ = None
    """``array + tensor`` is a tensor's operator."""
    __slots__ = ("_array",)
    __hash__ = object.__hash__

    def __init__(self, input_data: Any = 0.0, dtype: Any = None) -> None:
        if isinstance(input_data, Tensor):
            input_data = input_data._array
        typed = hasattr(input_data, "dtype")
        self._array: Array = np.asarray(input_data, dtype)
        if dtype is None and not typed and self._array.dtype == np.float64:
            self._array = self._array.astype(np.float32)

    @classmethod
    def from_array(cls, array: Array) -> Tensor:
        """Return a tensor around an array as it is."""
        tensor = object.__new__(cls)
        tensor._array = array
        return tensor

    # What it is.

    @property
    def shape(self) -> tuple[int, ...]:
        """Dims."""
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type."""
        return self._array.dtype

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._array.size

    def asnumpy(self) -> Array:
        """Return the array, not a copy."""
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = np.asarray(self._array, dtype)
        return array.copy() if copy else array

    def item(self) -> Any:
        """Return the one element as a Python number."""
        return self._array.item()

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[index] for index in range(len(self)))

    def __float__(self) -> float:
        return float(self._array)

    def __int__(self) -> int:
        return int(self._array)

    def __bool__(self) -> bool:
        return bool(self._array)

    def __repr__(self) -> str:
        name = self.dtype.name.capitalize()
        return f"Tensor(shape={list(self.shape)}, dtype={name}, value={np.array2string(self._array, separator=', ')})"

    # Operators.

    __add__, __radd__ = _operators("Add", np.add)
    __sub__, __rsub__ = _operators("Sub", np.subtract)
    __mul__, __rmul__ = _operators("Mul", np.multiply)
    __truediv__, __rtruediv__ = _operators("Div", np.true_divide)
    __pow__ = _operators("Pow", np.power)[0]
    # Numbers on the left of a comparison come here by Python's reflection: ``1 < x`` is ``x > 1``.
    __eq__: Any = _operators("Equal", np.equal)[0]
    __ne__: Any = _operators("NotEqual", np.not_equal)[0]
    __lt__ = _operators("Less", np.less)[0]
    __le__ = _operators("LessEqual", np.less_equal)[0]
    __gt__ = _operators("Greater", np.greater)[0]
    __ge__ = _operators("GreaterEqual", np.greater_equal)[0]

    def __matmul__(self, other: object) -> Tensor:
        return Tensor.from_array(matmul(self._array, operand(other, self)))

    def __rmatmul__(self, other: object) -> Tensor:
        return Tensor.from_array(matmul(operand(other, self), self._array))

    def __neg__(self) -> Tensor:
        return Tensor.from_array(run("Neg", np.negative, self._array))

    def __abs__(self) -> Tensor:
        return Tensor.from_array(run("Abs", np.abs, self._array))

    def __getitem__(self, index: object) -> Tensor:
        plain = index.asnumpy() if isinstance(index, Tensor) else index
        return Tensor.from_array(run("StridedSlice", lambda array: array[plain], self._array))

    def __setitem__(self, index: object, value: object) -> None:
        """Write into the array; not reported."""
        self._array[index] = np.asarray(value)

    @property
    def T(self) -> Tensor:  # noqa: N802 - the framework's name
        """With dims in reverse order."""
        return self.transpose()

    def transpose(self, *axes: int) -> Tensor:
        """Return a copy with dims in the order of *axes*, reversed without any."""
        order = axes or tuple(range(self.ndim))[::-1]
        result = run(
            "Transpose",
            lambda array: np.ascontiguousarray(array.transpose(order)),
            self._array,
            arguments=(None, order),
        )
        return Tensor.from_array(result)

    def reshape(self, *shape: int | Sequence[int]) -> Tensor:
        """Return the elements in another shape."""
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return Tensor.from_array(run("Reshape", lambda array: array.reshape(wanted), self._array))

    def astype(self, dtype: object) -> Tensor:
        """Return the elements in another type."""
        return cast(self, dtype)

    def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Return the sum over some axes, of the same type."""

        def add(array: Array, **options: Any) -> Any:
            return np.sum(array, dtype=array.dtype, **options)

        return Tensor.from_array(reduce("ReduceSum", add, self._array, axis, keepdims))

    def mean(self, axis: int | Sequence[int] | None = None, keep_dims: bool = False) -> Tensor:
        """Return the mean over some axes."""
        return Tensor.from_array(reduce("ReduceMean", np.mean, self._array, axis, keep_dims))

    def max(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Return the largest element over some axes."""
        return Tensor.from_array(reduce("ReduceMax", np.max, self._array, axis, keepdims))

    def min(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Return the smallest element over some axes."""
        return Tensor.from_array(reduce("ReduceMin", np.min, self._array, axis, keepdims))

    def argmax(self, axis: int = -1) -> Tensor:
        """Return the index of the largest element along an axis, int32."""
        return Tensor.from_array(run("Argmax", lambda array: array.argmax(axis).astype(np.int32), self._array))


def cast(x: Tensor, dtype: object) -> Tensor:
    """Return the elements in another type."""
    return Tensor.from_array(run("Cast", lambda array: array.astype(dtype), x.asnumpy()))


def operand(value: object, beside: Tensor) -> Array:
    """
    Return what stands beside a tensor in an operator as an array.

    A Python number takes the tensor's type, unless that could not hold it: then, as between tensors, NumPy's rules of
    promotion hold.
    """
    if isinstance(value, Tensor):
        return value.asnumpy()
    if isinstance(value, (bool, int, float)) and not hasattr(value, "dtype"):
        fits = not isinstance(value, float) or beside.dtype.kind in _FLOATING
        return np.asarray(value, beside.dtype if fits and beside.dtype.kind != "b" else None if fits else np.float32)
    return np.asarray(value)
