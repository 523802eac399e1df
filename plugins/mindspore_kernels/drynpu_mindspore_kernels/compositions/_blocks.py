"""Pixels of blocks that stand in batches, samples that hit, and how many numbers fall into bins."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np


def _from_batches(x: Any, block: Any, crops: Any) -> Any:
    """Return images ``[n, c, h, w]`` whose blocks of pixels stood in as many batches, cropped at their edges."""
    rows, columns = (int(size) for size in np.ravel(block))
    (top, bottom), (left, right) = np.reshape(crops, (2, 2)).astype(int).tolist()
    count, channels, height, width = x.shape
    parts = x.reshape(rows, columns, count // (rows * columns), channels, height, width)
    whole = parts.transpose(2, 3, 4, 0, 5, 1).reshape(-1, channels, height * rows, width * columns)
    return whole[:, :, top : height * rows - bottom, left : width * columns - right]


def _batch_to_space(x: Any, *, block_size: int, crops: Any) -> Any:
    return _from_batches(x, (block_size, block_size), crops)


def _batch_to_space_nd(x: Any, block: Any, crops: Any) -> Any:
    sides = np.ravel(block)
    return _from_batches(x, np.repeat(sides, 2) if sides.size == 1 else sides, crops)


def _accidental_hits(classes: Any, sampled: Any) -> tuple[Any, Any, Any]:
    """Return row, place among the samples and weight of every class that was sampled; of several places the last."""
    places = {int(sample): place for place, sample in enumerate(sampled)}
    hits = [(row, places[int(each)]) for row, line in enumerate(classes) for each in line if int(each) in places]
    rows, ids = np.array(hits, np.int64).reshape(-1, 2).T
    return rows.astype(np.int32), ids, np.full(len(rows), np.finfo(np.float32).min, np.float32)


def _bins(x: Any, limits: Any, *, nbins: int) -> Any:
    low, high = (float(limit) for limit in np.ravel(limits))
    places = np.clip(np.floor((x.astype(np.float64) - low) * nbins / (high - low)), 0, nbins - 1)
    return np.bincount(places.astype(np.int64).ravel(), minlength=nbins)


BLOCKS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "BatchToSpace": _batch_to_space,
        "BatchToSpaceNDV2": _batch_to_space_nd,
        "ComputeAccidentalHits": _accidental_hits,
        "HistogramFixedWidth": _bins,
    }
)
"""By primitive, as MindSpore's documentation of the primitive defines it."""
