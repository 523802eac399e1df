"""Areas that rotated rectangles have in common."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

_FIRST_ALONE = 1
"""``mode`` of RotatedIou, iof: the area that is common over that of the first rectangle; otherwise over the union."""
_SIGNS = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
"""Corners of a rectangle of size 1 around 0, in the order in which its border is walked."""


def _corners(box: Any, by_corners: bool) -> Any:
    """Return the corners ``[4, 2]`` of middle, size and angle in degrees, or of two corners and an angle."""
    middle, size = ((box[:2] + box[2:4]) / 2, box[2:4] - box[:2]) if by_corners else (box[:2], box[2:4])
    angle = np.deg2rad(box[4])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return (_SIGNS * size) @ turn.T + middle


def _cut(shape: list[Any], start: Any, end: Any) -> list[Any]:
    """Return the part of a convex shape on the left of a line."""
    along = end - start
    sides = [along[0] * (each - start)[1] - along[1] * (each - start)[0] for each in shape]
    result = []
    for place, corner in enumerate(shape):
        before, side = sides[place - 1], sides[place]
        if before * side < 0:
            result.append(shape[place - 1] + (corner - shape[place - 1]) * (before / (before - side)))
        if side >= 0:
            result.append(corner)
    return result


def _area(shape: list[Any]) -> float:
    """Return the area of a shape by its corners."""
    if len(shape) < 3:
        return 0.0
    x, y = np.array(shape).T
    return float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2)


def _ratio(first: Any, second: Any, mode: int) -> float:
    """Return the area that two rectangles share, over that of both or of the first."""
    shape = list(first)
    for place in range(4):
        shape = _cut(shape, second[place], second[(place + 1) % 4])
    common, sizes = _area(shape), (_area(list(first)), _area(list(second)))
    whole = sizes[0] if mode == _FIRST_ALONE else sum(sizes) - common
    return common / whole if whole else 0.0


def _rotated_iou(
    boxes: Any,
    others: Any,
    by_corners: Any = False,
    mode: Any = 0,
    crosses: Any = True,
    vertex_tolerance: Any = 0.0,
    edge_tolerance: Any = 0.0,
) -> Any:
    if vertex_tolerance or edge_tolerance:
        raise ValueError("v_threshold and e_threshold other than 0 are not computed")
    # In float64: the corners of long boxes far from 0 lose their places in float32.
    sides = [
        [[_corners(box, bool(by_corners)) for box in batch.T.astype(np.float64)] for batch in each]
        for each in (boxes, others)
    ]
    if not crosses:
        pairs = [list(zip(*batch, strict=True)) for batch in zip(*sides, strict=True)]
        return np.array([[_ratio(first, second, int(mode)) for first, second in batch] for batch in pairs])[..., None]
    return np.array(
        [[[_ratio(a, b, int(mode)) for b in second] for a in first] for first, second in zip(*sides, strict=True)]
    )


BOXES: Final[Mapping[str, Any]] = MappingProxyType({"RotatedIou": _rotated_iou})
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
