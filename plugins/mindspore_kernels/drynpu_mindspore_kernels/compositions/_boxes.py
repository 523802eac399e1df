"""Areas that rectangles have in common, and the rectangles that are kept because they share little."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

_FIRST_ALONE = 1
"""``mode`` of RotatedIou, iof: the common area over the area of the first rectangle; otherwise over the union."""
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
    """Return the area that two rectangles share, over the area of both or of the first."""
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
        raise ValueError("v_threshold and e_threshold other than 0 are not supported")
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


def _shares(box: Any, others: Any) -> Any:
    """Return intersection over union of a box x, y, x, y with others ``[n, 4]``."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.maximum(high - low, 0).prod(1)
    whole = (box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(1) - common
    return np.divide(common, whole, out=np.zeros_like(common), where=whole > 0)


def _keep(boxes: Any, order: Any, threshold: Any) -> list[int]:
    """Return the numbers of the boxes, in an order, that share no more than a threshold with one kept before."""
    kept: list[int] = []
    for place in order:
        if not kept or _shares(boxes[place], boxes[kept]).max() <= threshold:
            kept.append(int(place))
    return kept


def _suppress(boxes: Any, scores: Any, count: Any, threshold: Any, least: Any) -> Any:
    """Return the numbers of boxes that are kept, the highest score first; corners may stand in any order."""
    corners = np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], 1)
    order = [place for place in np.argsort(-scores, kind="stable") if scores[place] > least]
    return np.array(_keep(corners, order, threshold)[: max(int(count), 0)], np.int32)


def _suppress_in_place(rows: Any, *, iou_threshold: float = 0.5) -> tuple[Any, Any, Any]:
    """Return the boxes, their numbers and which are kept; Ascend does not look at the scores behind the corners."""
    numbers = np.arange(len(rows))
    return rows, numbers, np.isin(numbers, _keep(rows[:, :4], numbers, iou_threshold))


BOXES: Final[Mapping[str, Any]] = MappingProxyType(
    {"RotatedIou": _rotated_iou, "NonMaxSuppressionV3": _suppress, "NMSWithMask": _suppress_in_place}
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
