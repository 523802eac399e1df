"""Images as arrays, read from memory and written into it in any known format."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from attrs import frozen

from drynpu.arrays import U8
from drynpu_offline_inference.media._formats import Colour, Layout
from drynpu_offline_inference.media._pillow import pillow

_OPAQUE: Final = 255
_NEUTRAL: Final = 128
"""U and V of a grey pixel."""
# From red, green, blue to Y, U, V in the full range of a byte, as JPEG files have them (JFIF 1.02, ITU-R BT.601).
_TO_YUV: Final = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
_TO_RGB: Final = np.linalg.inv(_TO_YUV)


@frozen(eq=False)
class Pixels:
    """
    An image: ``values`` is uint8 ``[height, width, 3]``, or ``[height, width, 1]`` of grey ones.

    Of YUV the two colours stand at every pixel, whatever format they were read from.
    """

    colour: Colour
    values: U8

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        height, width = self.values.shape[:2]
        return width, height

    def converted(self, colour: Colour) -> Pixels:
        """Return the image in other colours; what YUV or RGB have beside the brightness is lost to a grey one."""
        if colour is self.colour:
            return self
        if colour is Colour.GREY:
            return Pixels(colour, self.converted(Colour.YUV).values[:, :, :1])
        if self.colour is Colour.GREY:
            grey = self.values
            parts = [grey] * 3 if colour is Colour.RGB else [grey, *[np.full_like(grey, _NEUTRAL)] * 2]
            return Pixels(colour, np.concatenate(parts, axis=2))
        shift = np.array([0.0, _NEUTRAL, _NEUTRAL])
        if colour is Colour.YUV:
            return Pixels(colour, _bytes(self.values @ _TO_YUV.T + shift))
        return Pixels(colour, _bytes((self.values - shift) @ _TO_RGB.T))

    def scaled(self, width: int, height: int, method: int) -> Pixels:
        """Return the image with another size, by a method of Pillow's ``Image.Resampling``."""
        if (width, height) == self.size:
            return self
        image = pillow()
        planes = [
            np.asarray(image.fromarray(np.ascontiguousarray(plane)).resize((width, height), method))
            for plane in np.moveaxis(self.values, 2, 0)
        ]
        return Pixels(self.colour, np.stack(planes, axis=2))

    def part(self, left: int, right: int, top: int, bottom: int) -> Pixels:
        """Return a rectangle; right and bottom belong to it."""
        return Pixels(self.colour, self.values[top : bottom + 1, left : right + 1])


def _bytes(values: Any) -> U8:
    rounded: U8 = np.clip(np.rint(values), 0, _OPAQUE).astype(np.uint8)
    return rounded


def read_pixels(memory: U8, layout: Layout, width: int, height: int, stride: int, rows: int) -> Pixels:
    """Return the image at the beginning of *memory*, whose rows take *stride* bytes and which has room for *rows*."""
    first = memory[: stride * rows].reshape(rows, stride)[:height]
    if layout.colour is Colour.GREY:
        return Pixels(Colour.GREY, first[:, :width, None].copy())
    if layout.packed and layout.across > 1:
        return Pixels(Colour.YUV, _read_pairs(first, layout, width))
    if layout.packed:
        pixels = first[:, : width * layout.samples].reshape(height, width, layout.samples)
        return Pixels(layout.colour, pixels[:, :, list(layout.order)])
    colours = _colours(memory, layout, stride, rows)[:, :, list(layout.order)]
    spread = colours.repeat(layout.down, 0)[:height].repeat(layout.across, 1)[:, :width]
    return Pixels(Colour.YUV, np.concatenate([first[:, :width, None], spread], axis=2))


def write_pixels(
    pixels: Pixels, memory: U8, layout: Layout, stride: int, rows: int, place: tuple[int, int] = (0, 0)
) -> None:
    """Put an image into *memory* at a place (left, top) of the image there; places of shared colours are even."""
    left, top = place
    values = pixels.converted(layout.colour).values
    height, width = values.shape[:2]
    first = memory[: stride * rows].reshape(rows, stride)
    if layout.packed and layout.across > 1:
        start = left * layout.samples
        first[top : top + height, start : start + 2 * layout.samples * -(-width // 2)] = _write_pairs(values, layout)
        return
    if layout.packed:
        end = stride // layout.samples * layout.samples
        places = first[:, :end].reshape(rows, -1, layout.samples)
        whole = np.full((height, width, layout.samples), _OPAQUE, np.uint8)
        whole[:, :, list(layout.order)] = values
        places[top : top + height, left : left + width] = whole
        return
    first[top : top + height, left : left + width] = values[:, :, 0]
    if layout.colour is Colour.YUV:
        shared = _shared(values[:, :, 1:], layout)[:, :, list(layout.order)]
        row, column = top // layout.down, left // layout.across
        colours = _colours(memory, layout, stride, rows)
        part = colours[row : row + shared.shape[0], column : column + shared.shape[1]]
        part[:] = shared[: part.shape[0], : part.shape[1]]


def _colours(memory: U8, layout: Layout, stride: int, rows: int) -> U8:
    """Return the plane of both colours behind the first one, ``[rows, columns, 2]``, as a view."""
    width = 2 * stride // layout.across
    count = rows // layout.down
    return memory[stride * rows :][: width * count].reshape(count, width // 2, 2)


def _shared(colours: U8, layout: Layout) -> U8:
    """Return the mean of the colours of pixels that share them."""
    height, width = colours.shape[:2]
    padded = np.pad(colours, ((0, -height % layout.down), (0, -width % layout.across), (0, 0)), "edge")
    blocks = padded.reshape(padded.shape[0] // layout.down, layout.down, -1, layout.across, 2)
    return _bytes(blocks.mean(axis=(1, 3)))


def _read_pairs(first: U8, layout: Layout, width: int) -> U8:
    """Return Y, U and V of packed pairs of pixels."""
    pairs = first[:, : 4 * -(-width // 2)].reshape(len(first), -1, 4)
    y_first, y_second, u, v = (pairs[:, :, place] for place in layout.order)
    bright = np.stack([y_first, y_second], axis=2).reshape(len(first), -1)
    both = np.stack([u, v], axis=2).repeat(2, 1)
    joined: U8 = np.concatenate([bright[:, :, None], both], axis=2)[:, :width]
    return joined


def _write_pairs(values: U8, layout: Layout) -> U8:
    """Return packed pairs of pixels, ``[height, bytes]``."""
    height, width = values.shape[:2]
    padded = np.pad(values, ((0, 0), (0, width % 2), (0, 0)), "edge")
    shared = _shared(padded[:, :, 1:], layout)
    pairs = np.empty((height, padded.shape[1] // 2, 4), np.uint8)
    parts = (padded[:, ::2, 0], padded[:, 1::2, 0], shared[:, :, 0], shared[:, :, 1])
    for place, part in zip(layout.order, parts, strict=True):
        pairs[:, :, place] = part
    return pairs.reshape(height, -1)
