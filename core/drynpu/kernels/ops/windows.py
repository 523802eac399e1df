"""How many windows of a convolution or a pooling fit on an image."""

from __future__ import annotations

from collections.abc import Sequence

from drynpu.kernels._call import OperatorCall
from drynpu.kernels._specs import ceil_div
from drynpu.kernels._types import TensorDesc


def space_of(call: OperatorCall, image: TensorDesc) -> tuple[int, ...]:
    """Return rows and columns (and depth) of an image."""
    return image.shape[2:] if call.channels_first else image.shape[1:-1]


def channels_of(call: OperatorCall, image: TensorDesc) -> int:
    """Return the channels of an image."""
    return image.shape[1 if call.channels_first else -1]


def image_of_space(call: OperatorCall, like: TensorDesc, space: Sequence[int], channels: int) -> TensorDesc:
    """Return an image with the batch and type of *like*."""
    batch = like.shape[0]
    shape = (batch, channels, *space) if call.channels_first else (batch, *space, channels)
    return call.tensor_of(shape, like.dtype)


def windows(
    size: int, window: int, stride: int, padding: int = 0, dilation: int = 1, *, ceil_mode: bool = False
) -> int:
    """
    Return the number of windows along one axis; negative where not even one fits.

    *padding* counts on both sides. With *ceil_mode* a window may reach over the end, but must begin inside the image or
    its left padding.
    """
    room = size + 2 * padding - dilation * (window - 1) - 1
    if not ceil_mode:
        return room // stride + 1
    count = ceil_div(room, stride) + 1
    return count - 1 if (count - 1) * stride >= size + padding else count


def windowed_space(call: OperatorCall, image: TensorDesc, window: Sequence[int]) -> tuple[int, ...] | None:
    """
    Return the space that windows make of an image, by ``stride padding dilation`` of the call.

    A *padding* in words is TensorFlow's: SAME gives ceil(size / stride), VALID as many windows as fit, EXPLICIT has its
    numbers in ``explicit``. ``None`` where the arguments do not say.
    """
    space = space_of(call, image)
    if call.text("padding"):
        return _padded_in_words(call, image, window)
    stride, padding, dilation = (call.integers(name) for name in ("stride", "padding", "dilation"))
    if not (stride and padding and dilation) or min(stride) < 1:
        return None
    axes = [
        (stride[i % len(stride)], padding[i % len(padding)], dilation[i % len(dilation)]) for i in range(len(space))
    ]
    if call.flag("transposed"):
        extra = call.integers("output_padding") or (0,)
        sizes = [
            (size - 1) * step - 2 * pad + spread * (edge - 1) + 1 + extra[axis % len(extra)]
            for axis, (size, edge, (step, pad, spread)) in enumerate(zip(space, window, axes, strict=False))
        ]
    else:
        sizes = [windows(size, edge, *axis) for size, edge, axis in zip(space, window, axes, strict=False)]
    return tuple(sizes) if min(sizes, default=0) >= 0 else None


def _padded_in_words(call: OperatorCall, image: TensorDesc, window: Sequence[int]) -> tuple[int, ...] | None:
    strides, dilations = (_spatial(call, call.integers(name)) for name in ("stride", "dilation"))
    padding, explicit = call.text("padding"), call.integers("explicit")
    if len(image.shape) not in (4, 5) or len(strides) != len(image.shape) - 2:
        return None
    if padding not in {"SAME", "VALID", "EXPLICIT"}:
        return None
    if padding == "EXPLICIT" and len(explicit) != 2 * len(image.shape):
        return None
    first = 2 if call.channels_first else 1
    sizes = []
    for axis, size in enumerate(space_of(call, image)):
        added = sum(explicit[2 * (first + axis) : 2 * (first + axis) + 2]) if padding == "EXPLICIT" else 0
        dilation = dilations[axis] if dilations else 1
        fitting = max(windows(size + added, window[axis], strides[axis], dilation=dilation), 0)
        sizes.append(ceil_div(size, strides[axis]) if padding == "SAME" else fitting)
    return tuple(sizes)


def _spatial(call: OperatorCall, values: tuple[int, ...]) -> tuple[int, ...]:
    """Return rows and columns (and depth) of an attribute that has one number per dim of an image."""
    return (values[2:] if call.channels_first else values[1:-1]) if len(values) in (4, 5) else ()
