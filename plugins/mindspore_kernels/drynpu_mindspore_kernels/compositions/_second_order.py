"""What the second-order optimizer THOR computes of a layer's covariances (``mindspore.nn.thor``)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np


def _columns(x: Any, height: Any, width: Any, down: Any, across: Any) -> Any:
    """Return the windows of images that are padded to keep their size, ``[C, height, width, N, rows, columns]``."""
    sizes, steps = (int(height), int(width)), (int(down), int(across))
    pads = [(0, 0), (0, 0)]
    for edge, size, step in zip(x.shape[2:], sizes, steps, strict=True):
        needed = max((-(-edge // step) - 1) * step + size - edge, 0)
        pads.append((needed // 2, needed - needed // 2))
    view: Any = np.lib.stride_tricks.sliding_window_view
    windows = view(np.pad(x, pads), sizes, (2, 3))
    return windows[:, :, :: steps[0], :: steps[1]].transpose(1, 4, 5, 0, 2, 3)


def _inverse_factors(x: Any, edge: Any) -> Any:
    """
    Return the inverse of the Cholesky factor of a matrix, or of each of its diagonal blocks of *edge* rows.

    The last block is filled up with ones on its diagonal. The transpose of a result times the result is the inverse.
    """
    rows, edge = len(x), int(edge)
    if not edge:
        return np.linalg.inv(np.linalg.cholesky(x))
    edge = min(edge, rows)
    count = -(-rows // edge)
    blocks = np.tile(np.eye(edge, dtype=x.dtype), (count, 1, 1))
    for number, block in enumerate(blocks):
        begin, end = number * edge, min((number + 1) * edge, rows)
        block[: end - begin, : end - begin] = x[begin:end, begin:end]
    return np.linalg.inv(np.linalg.cholesky(blocks))


def _conditioned(left: Any, gradient: Any, right: Any) -> Any:
    """Return a gradient between the inverses of its layer's covariances, block by block."""
    (high, tall, _), (_, wide, broad, _) = left.shape, right.shape
    rows, columns = gradient.shape
    padded = np.pad(gradient, ((0, high * tall - rows), (0, wide * broad - columns)))
    blocks = padded.reshape(high, tall, wide, broad).swapaxes(1, 2)
    product = left[:, None] @ blocks @ right
    return product.swapaxes(1, 2).reshape(padded.shape)[:rows, :columns]


SECOND_ORDER: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "ThorIm2ColWithOptions": _columns,
        "CholeskyTrsmWithOptions": _inverse_factors,
        "UpdateThorGradient": _conditioned,
    }
)
"""By primitive, as THOR's formulas define it; the options are among the arguments."""
