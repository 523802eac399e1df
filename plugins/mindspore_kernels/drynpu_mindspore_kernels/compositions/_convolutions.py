"""Convolutions and their gradients, in any number of dims, over arrays of rank samples, channels and places."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from drynpu_mindspore_kernels.compositions._arguments import Flag, Numbers, at, several


def convolve(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    """Return the convolution of *x* ``[n, c, ...]`` with *weight* ``[k, c // groups, ...]``; pads are low and high."""
    dims = weight.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *padding])
    sizes = _sizes(x.shape, weight, stride, [(0, 0)] * dims, dilation)
    result = np.zeros((x.shape[0], weight.shape[0], *sizes), np.result_type(x, weight))
    for part, rows, columns in _groups(x.shape[1], weight.shape[0], int(groups)):
        del part
        for place, window in _windows(weight.shape[2:], sizes, stride, dilation):
            seen = x[at(slice(None), columns, *window)]
            product = np.tensordot(weight[at(rows, slice(None), *place)], seen, ([1], [1]))
            result[:, rows] += np.moveaxis(product, 0, 1)
    return result if bias is None else result + bias.reshape(1, -1, *[1] * dims)


def _sizes(shape: Any, weight: Any, stride: Any, padding: Any, dilation: Any) -> list[int]:
    """Return the sizes of the result's dims of places."""
    return [
        (size + sum(pads) - wide * (edge - 1) - 1) // step + 1
        for size, pads, edge, step, wide in zip(shape[2:], padding, weight.shape[2:], stride, dilation, strict=True)
    ]


def input_gradient(dy: Any, shape: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    """Return the gradient of the input, which has *shape*, from the result's."""
    dims = weight.ndim - 2
    padded = [size + sum(pads) for size, pads in zip(shape[2:], padding, strict=True)]
    dx = np.zeros((*shape[:2], *padded), np.result_type(dy, weight))
    for _, rows, columns in _groups(shape[1], weight.shape[0], int(groups)):
        for place, window in _windows(weight.shape[2:], dy.shape[2:], stride, dilation):
            product = np.tensordot(weight[at(rows, slice(None), *place)], dy[:, rows], ([0], [1]))
            dx[at(slice(None), columns, *window)] += np.moveaxis(product, 0, 1)
    inner = [slice(low, low + shape[2 + d]) for d, (low, _) in zip(range(dims), padding, strict=True)]
    return dx[at(slice(None), slice(None), *inner)]


def weight_gradient(dy: Any, x: Any, shape: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    """Return the gradient of the weight, which has *shape*, from the result's."""
    x = np.pad(x, [(0, 0), (0, 0), *padding])
    dw = np.zeros(shape, np.result_type(dy, x))
    places = [0, *range(2, x.ndim)]
    for _, rows, columns in _groups(x.shape[1], shape[0], int(groups)):
        for place, window in _windows(shape[2:], dy.shape[2:], stride, dilation):
            seen = x[at(slice(None), columns, *window)]
            dw[at(rows, slice(None), *place)] = np.tensordot(dy[:, rows], seen, (places, places))
    return dw


def _groups(channels: int, rows: int, groups: int) -> Iterator[tuple[int, slice, slice]]:
    """Yield for each group its number, its channels of the result and of the input."""
    for group in range(groups):
        first, last = rows // groups, channels // groups
        yield group, slice(group * first, (group + 1) * first), slice(group * last, (group + 1) * last)


def _windows(edges: Any, sizes: Any, stride: Any, dilation: Any) -> Iterator[tuple[tuple[int, ...], list[slice]]]:
    """Yield every place of a window with edges, and what it sees of the input wherever the window stands."""
    for place in itertools.product(*map(range, edges)):
        starts = [index * int(step) for index, step in zip(place, dilation, strict=True)]
        yield (
            place,
            [
                slice(start, start + int(step) * (size - 1) + 1, int(step))
                for start, step, size in zip(starts, stride, sizes, strict=True)
            ],
        )


def _both(padding: Any) -> list[tuple[int, int]]:
    return [(int(pad), int(pad)) for pad in padding]


def _batched(x: Any, weight: Any) -> tuple[Any, bool]:
    """Return *x* with a dim of samples, and whether it had none."""
    single = x.ndim < weight.ndim
    return (x[None] if single else x), single


def _convolution_ext(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: Any = 1,
) -> Any:
    dims = weight.ndim - 2
    x, single = _batched(x, weight)
    stride, padding, dilation = (several(each, dims) for each in (stride, padding, dilation))
    result = convolve(x, weight, bias, stride, _both(padding), dilation, groups)
    return result[0] if single else result


def _convolution(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    transposed: Flag = False,
    output_padding: Numbers = 0,
    groups: Any = 1,
) -> Any:
    if transposed:
        return _transposed(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return _convolution_ext(x, weight, bias, stride, padding, dilation, groups)


def _transposed(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    groups: Any = 1,
    dilation: Numbers = 1,
) -> Any:
    dims = weight.ndim - 2
    x, single = _batched(x, weight)
    values = [several(each, dims) for each in (stride, padding, output_padding, dilation)]
    shape = _transposed_shape(x, weight, values, int(groups))
    result = input_gradient(x, shape, weight, values[0], _both(values[1]), values[3], groups)
    result = result if bias is None else result + bias.reshape(1, -1, *[1] * dims)
    return result[0] if single else result


def _transposed_shape(x: Any, weight: Any, values: Any, groups: int) -> list[int]:
    stride, padding, extra, dilation = values
    sizes = [
        int((x.shape[2 + d] - 1) * stride[d] - 2 * padding[d] + dilation[d] * (weight.shape[2 + d] - 1) + extra[d] + 1)
        for d in range(weight.ndim - 2)
    ]
    return [x.shape[0], weight.shape[1] * groups, *sizes]


def _convolution_gradient(
    dy: Any,
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    transposed: Flag = False,
    output_padding: Numbers = 0,
    groups: Any = 1,
    wanted: Numbers = None,
) -> Any:
    del bias, output_padding, wanted
    dims = weight.ndim - 2
    stride, padding, dilation = (several(each, dims) for each in (stride, padding, dilation))
    return _gradients((dy, x, weight), stride, _both(padding), dilation, bool(transposed), groups)


def _gradients(tensors: Any, stride: Any, pads: Any, dilation: Any, transposed: bool, groups: Any) -> Any:
    """Return the gradients of input, weight and bias."""
    dy, x, weight = tensors
    (x, single), (dy, _) = _batched(x, weight), _batched(dy, weight)
    image, result = (dy, x) if transposed else (x, dy)
    if _sizes(image.shape, weight, stride, pads, dilation) != list(result.shape[2:]):
        raise ValueError("stride, padding and dilation do not lead to the result")
    if transposed:
        dx = convolve(dy, weight, None, stride, pads, dilation, groups)
    else:
        dx = input_gradient(dy, x.shape, weight, stride, pads, dilation, groups)
    dw = weight_gradient(result, image, weight.shape, stride, pads, dilation, groups)
    return dx[0] if single else dx, dw, dy.sum((0, *range(2, dy.ndim)))


_SAME = 1
"""``PadMode`` of MindSpore: pads that keep the size, the odd one at the end; 2 has none."""


def _named_pads(mode: Any, weight: Any, dilation: Any) -> list[tuple[int, int]]:
    if int(np.ravel(mode)[0]) != _SAME:
        return [(0, 0)] * (weight.ndim - 2)
    totals = [int(wide) * (edge - 1) for wide, edge in zip(dilation, weight.shape[2:], strict=True)]
    return [(total // 2, total - total // 2) for total in totals]


def _named_convolution(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Any = 2,
    dilation: Numbers = 1,
    groups: Any = 1,
) -> Any:
    dims = weight.ndim - 2
    x, single = _batched(x, weight)
    stride, dilation = (several(each, dims) for each in (stride, dilation))
    result = convolve(x, weight, bias, stride, _named_pads(padding, weight, dilation), dilation, groups)
    return result[0] if single else result


def _named_convolution_ext(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Any = 2,
    dilation: Numbers = 1,
    transposed: Flag = False,
    output_padding: Numbers = 0,
    groups: Any = 1,
) -> Any:
    _refuse_transposed(transposed, output_padding)
    return _named_convolution(x, weight, bias, stride, padding, dilation, groups)


def _refuse_transposed(transposed: Any, output_padding: Any) -> None:
    if transposed or np.any(output_padding):
        raise ValueError("a transposed convolution with a named padding is not supported")


def _named_gradient(
    dy: Any,
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Any = 2,
    dilation: Numbers = 1,
    transposed: Flag = False,
    output_padding: Numbers = 0,
    groups: Any = 1,
    wanted: Numbers = None,
) -> Any:
    del bias, wanted
    _refuse_transposed(transposed, output_padding)
    stride, dilation = (several(each, weight.ndim - 2) for each in (stride, dilation))
    return _gradients((dy, x, weight), stride, _named_pads(padding, weight, dilation), dilation, False, groups)


CONVOLUTIONS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "Conv1DExt": _convolution_ext,
        "Conv2DExt": _convolution_ext,
        "Conv3DExt": _convolution_ext,
        "Convolution": _convolution,
        "ConvolutionGrad": _convolution_gradient,
        "ConvTranspose2D": _transposed,
        "Conv1DPadding": _named_convolution,
        "Conv2DPadding": _named_convolution,
        "Conv3DPadding": _named_convolution,
        "ConvolutionStr": _named_convolution_ext,
        "ConvolutionStrGrad": _named_gradient,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
