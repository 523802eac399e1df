"""What Triton-Ascend adds to Triton's language, for the interpreter, whose blocks are arrays of NumPy."""

from __future__ import annotations

from collections.abc import Sequence

from drynpu_vllm_ascend.triton_kernels.foreign import Foreign


def extract_slice(
    ful: Foreign, offsets: Sequence[object], sizes: Sequence[object], strides: Sequence[object]
) -> Foreign:
    """Return a part of a block: *sizes* elements of each axis from *offsets* on, *strides* apart."""
    return _block(ful, ful.handle.data[_places(offsets, sizes, strides)].copy())


def insert_slice(
    ful: Foreign, sub: Foreign, offsets: Sequence[object], sizes: Sequence[object], strides: Sequence[object]
) -> Foreign:
    """Return a block with a part of it replaced by *sub*."""
    data = ful.handle.data.copy()
    data[_places(offsets, sizes, strides)] = sub.handle.data
    return _block(ful, data)


def get_element(src: Foreign, indice: Sequence[object]) -> Foreign:
    """Return one element of a block."""
    return _block(src, src.handle.data[tuple(map(_number, indice))])


def _places(offsets: Sequence[object], sizes: Sequence[object], strides: Sequence[object]) -> tuple[slice, ...]:
    each = (tuple(map(_number, numbers)) for numbers in (offsets, sizes, strides))
    return tuple(slice(first, first + size * step, step) for first, size, step in zip(*each, strict=True))


def _number(value: Foreign) -> int:
    """Return a number that a kernel computed or stated."""
    value = getattr(value, "value", value)  # a constexpr
    return int(value.handle.data.item()) if hasattr(value, "handle") else int(value)


def _block(like: Foreign, data: Foreign) -> Foreign:
    import numpy as np
    from triton import language
    from triton.runtime.interpreter import TensorHandle

    kind = like.dtype.scalar
    shape = list(np.shape(data))
    # The interpreter keeps a number as an array of one element.
    handle = TensorHandle(np.atleast_1d(data), kind)
    return language.tensor(handle, language.block_type(kind, shape) if shape else kind)
