"""
The exchange of borders with eight neighbours (``NeighborExchangeV2``), of images; each rank has a tile.

Directions go round from the top: top, top right, right, bottom right, bottom, bottom left, left, top left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from drynpu_mindspore_kernels.communication._exchange import RankGroup

_DIRECTIONS: Final = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
"""Of each neighbour where it lies: rows and columns."""
_TOP, _BOTTOM, _LEFT, _RIGHT = range(4)
"""Places of the widths of borders."""
_TURN: Final = len(_DIRECTIONS) // 2
_NOBODY: Final = -1


def _border(side: int, before: int, behind: int) -> slice:
    """Return the part of a dim that a neighbour before (-1), beside (0) or behind (1) shares."""
    if side == 0:
        return slice(None)
    return slice(0, before) if side < 0 else slice(-behind, None)


def _slab(direction: int, widths: Sequence[int]) -> tuple[Any, ...]:
    rows, columns = _DIRECTIONS[direction]
    vertical = _border(rows, widths[_TOP], widths[_BOTTOM])
    return (..., vertical, _border(columns, widths[_LEFT], widths[_RIGHT]))


def _present(peers: Sequence[int], widths: Sequence[int]) -> list[int]:
    """Return the widths of borders towards which there is a neighbour."""
    there = [place for place, peer in zip(_DIRECTIONS, peers, strict=True) if peer != _NOBODY]
    sides = ((0, -1), (0, 1), (1, -1), (1, 1))
    return [
        width if any(place[axis] == way for place in there) else 0
        for width, (axis, way) in zip(widths, sides, strict=True)
    ]


def exchange_borders(
    group: RankGroup,
    x: Any,
    targets: Sequence[int],
    sent_widths: Sequence[int],
    sources: Sequence[int],
    widths: Sequence[int],
) -> tuple[Any, list[Any]]:
    """
    Return *x* with the borders that come from neighbours around it, and what was sent.

    Parameters
    ----------
    targets, sources:
        By direction the place of the neighbour, -1 for none.
    sent_widths, widths:
        How wide the borders are at the top, bottom, left and right.
    """
    sent = _send(group, x, targets, sent_widths)
    around = _present(sources, widths)
    shape = (*x.shape[:-2], x.shape[-2] + around[_TOP] + around[_BOTTOM], x.shape[-1] + around[_LEFT] + around[_RIGHT])
    result = np.zeros(shape, x.dtype)
    inner = _inner(around, x.shape)
    result[inner] = x
    for direction, peer in enumerate(sources):
        if peer == _NOBODY:
            continue
        place = result[_beside(direction, around, inner)]
        border = group.receive(x.dtype, place.size, peer, ("borders", _opposite(direction)))
        place[...] = border.reshape(place.shape)
    return result, sent


def exchange_gradients(
    group: RankGroup,
    dy: Any,
    targets: Sequence[int],
    sent_widths: Sequence[int],
    sources: Sequence[int],
    widths: Sequence[int],
) -> tuple[Any, list[Any]]:
    """Return the gradient of what :func:`exchange_borders` took: borders go back and are added; and what was sent."""
    around = _present(sources, widths)
    shape = (dy.shape[-2] - around[_TOP] - around[_BOTTOM], dy.shape[-1] - around[_LEFT] - around[_RIGHT])
    inner, sent = _inner(around, shape), []
    for direction, peer in enumerate(sources):
        if peer != _NOBODY:
            sent.append(dy[_beside(direction, around, inner)])
            group.send(sent[-1], peer, ("gradients", direction))
    result = np.array(dy[inner])
    for direction, peer in enumerate(targets):
        if peer != _NOBODY:
            place = result[_slab(direction, sent_widths)]
            place += group.receive(dy.dtype, place.size, peer, ("gradients", _opposite(direction))).reshape(place.shape)
    return result, sent


def _send(group: RankGroup, x: Any, targets: Sequence[int], widths: Sequence[int]) -> list[Any]:
    sent = []
    for direction, peer in enumerate(targets):
        if peer != _NOBODY:
            sent.append(x[_slab(direction, widths)])
            group.send(sent[-1], peer, ("borders", direction))
    return sent


def _opposite(direction: int) -> int:
    return (direction + _TURN) % len(_DIRECTIONS)


def _inner(around: Sequence[int], shape: Sequence[int]) -> tuple[Any, ...]:
    rows = slice(around[_TOP], around[_TOP] + shape[-2])
    return (..., rows, slice(around[_LEFT], around[_LEFT] + shape[-1]))


def _beside(direction: int, around: Sequence[int], inner: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the place of a neighbour's border in the whole."""
    rows, columns = _DIRECTIONS[direction]
    vertical = _border(rows, around[_TOP], around[_BOTTOM]) if rows else inner[1]
    return (..., vertical, _border(columns, around[_LEFT], around[_RIGHT]) if columns else inner[2])
