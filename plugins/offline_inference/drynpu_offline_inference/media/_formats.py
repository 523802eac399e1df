"""How pixels lie in memory, by the numbers of acldvppPixelFormat."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import frozen


class Colour(enum.Enum):
    """What the numbers of a pixel are."""

    GREY = "grey"
    YUV = "yuv"
    RGB = "rgb"


@frozen
class Layout:
    """
    A format of pixels.

    Attributes
    ----------
    across, down:
        Pixels of a row, and rows, that share the two colours of YUV.
    order:
        Where the numbers of a pixel stand in memory: for RGB the places of red, green and blue among *samples*; for
        YUV in planes ``(0, 1)`` or ``(1, 0)``, the second for V before U; for packed YUV the places of the two Y, U and
        V among the four bytes of two pixels.
    samples:
        Bytes of a pixel of a packed format; 1 for planes.
    """

    colour: Colour
    across: int = 1
    down: int = 1
    order: tuple[int, ...] = (0, 1)
    samples: int = 1

    @property
    def packed(self) -> bool:
        """Whether all numbers of a pixel stand together."""
        return self.samples > 1

    def stride(self, width: int) -> int:
        """Return the bytes of a row of that many pixels, of the only or the first plane."""
        return -(-width // ROW_PIXELS) * ROW_PIXELS * self.samples

    def size(self, stride: int, rows: int) -> int:
        """Return the bytes of an image whose rows take *stride* bytes."""
        colours = 0 if self.packed or self.colour is Colour.GREY else 2 * stride // self.across * (rows // self.down)
        return stride * rows + colours


ROW_PIXELS: Final = 16
"""Rows begin at multiples of so many pixels, where the program does not say otherwise."""
ROW_PAIR: Final = 2
"""The height of an image in memory is a multiple of it."""
UNKNOWN_FORMAT: Final = 10000
"""PIXEL_FORMAT_UNKNOWN: the format of the file that is decoded."""
NV12: Final = 1
"""PIXEL_FORMAT_YUV_SEMIPLANAR_420."""
RGB_888: Final = 12
"""PIXEL_FORMAT_RGB_888."""

LAYOUTS: Final[Mapping[int, Layout]] = MappingProxyType(
    {
        0: Layout(Colour.GREY),
        NV12: Layout(Colour.YUV, 2, 2),
        2: Layout(Colour.YUV, 2, 2, (1, 0)),
        3: Layout(Colour.YUV, 2),
        4: Layout(Colour.YUV, 2, order=(1, 0)),
        5: Layout(Colour.YUV),
        6: Layout(Colour.YUV, order=(1, 0)),
        7: Layout(Colour.YUV, 2, order=(0, 2, 1, 3), samples=2),
        8: Layout(Colour.YUV, 2, order=(1, 3, 0, 2), samples=2),
        9: Layout(Colour.YUV, 2, order=(0, 2, 3, 1), samples=2),
        10: Layout(Colour.YUV, 2, order=(1, 3, 2, 0), samples=2),
        11: Layout(Colour.YUV, order=(0, 1, 2), samples=3),
        RGB_888: Layout(Colour.RGB, order=(0, 1, 2), samples=3),
        13: Layout(Colour.RGB, order=(2, 1, 0), samples=3),
        14: Layout(Colour.RGB, order=(1, 2, 3), samples=4),
        15: Layout(Colour.RGB, order=(3, 2, 1), samples=4),
        16: Layout(Colour.RGB, order=(0, 1, 2), samples=4),
        17: Layout(Colour.RGB, order=(2, 1, 0), samples=4),
    }
)
"""From PIXEL_FORMAT_YUV_400 to PIXEL_FORMAT_BGRA_8888; the others are refused."""
