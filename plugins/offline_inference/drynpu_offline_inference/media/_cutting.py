"""Cutting, scaling and converting pictures, one or many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from drynpu_acl.constants import ReturnCode
from drynpu_offline_inference.media._descriptions import Picture, Rectangle, Scaling
from drynpu_offline_inference.media._pixels import Pixels
from drynpu_offline_inference.media._units import Units

_NEAREST, _BILINEAR, _BICUBIC = 0, 2, 3
"""Methods of Pillow's ``Image.Resampling``."""
# acldvppResizeConfig: 0 the device's own filter, 1 bilinear, 2 nearest, 3 bilinear and 4 nearest as in TensorFlow.
_METHODS: Final = {0: _BICUBIC, 1: _BILINEAR, 2: _NEAREST, 3: _BILINEAR, 4: _NEAREST}
_BORDERS: Final = ("constant", "edge", "symmetric", "reflect")
"""Numbers of acldvppBorderType, as NumPy's ``pad`` calls them."""


class Cutting:
    """The unit that cuts, scales and converts pictures."""

    def __init__(self, units: Units) -> None:
        self._units = units

    def resize(self, channel: int, source: int, result: int, config: int, stream: int) -> int:
        """Scale a picture to the size of another."""
        return self._change(channel, source, result, stream, config=config)

    def crop(self, channel: int, source: int, result: int, area: int, stream: int) -> int:
        """Cut a rectangle out, and scale it to the size of the result."""
        return self._change(channel, source, result, stream, crop=area)

    def crop_resize(self, channel: int, source: int, result: int, area: int, config: int, stream: int) -> int:
        """Cut a rectangle out, and scale it to the size of the result as a configuration says."""
        return self._change(channel, source, result, stream, crop=area, config=config)

    def crop_and_paste(self, channel: int, source: int, result: int, area: int, place: int, stream: int) -> int:
        """Cut a rectangle out, scale it to another, and put it there; what is around it stays."""
        return self._change(channel, source, result, stream, crop=area, paste=place)

    def crop_resize_paste(
        self, channel: int, source: int, result: int, area: int, place: int, config: int, stream: int
    ) -> int:
        """Cut, scale as a configuration says, and put a rectangle into another."""
        return self._change(channel, source, result, stream, crop=area, paste=place, config=config)

    def convert_color(self, channel: int, source: int, result: int, stream: int) -> int:
        """Write a picture in the format of another, which has its size."""
        sizes = [(each.width, each.height) for each in self._units.pictures.all_of([source, result]) or []]
        return self._change(channel, source, result, stream) if len(set(sizes)) == 1 else ReturnCode.INVALID_PARAM

    def make_border(self, channel: int, source: int, result: int, config: int, stream: int) -> int:
        """Put a border around a picture."""
        border = self._units.borders.handles.get(config)
        if border is None or border.border_type not in range(len(_BORDERS)):
            return ReturnCode.INVALID_PARAM

        def bordered(pixels: Pixels) -> Pixels:
            sides = ((border.top, border.bottom), (border.left, border.right))
            mode = _BORDERS[border.border_type]
            planes = [
                np.pad(plane, sides, mode, **({"constant_values": int(value)} if mode == "constant" else {}))  # type: ignore[call-overload]
                for plane, value in zip(np.moveaxis(pixels.values, 2, 0), border.values, strict=False)
            ]
            return Pixels(pixels.colour, np.stack(planes, axis=2))

        return self._change(channel, source, result, stream, change=bordered)

    def batch(
        self,
        channel: int,
        sources: int,
        numbers: Sequence[int],
        targets: int,
        parts: Sequence[Sequence[int]],
        stream: int,
        *,
        config: int | None = None,
    ) -> int:
        """
        Cut rectangles out of each picture of a batch into the pictures of another.

        Parameters
        ----------
        numbers:
            How many rectangles there are of each picture.
        parts:
            For each rectangle its handle, and the handle of the place where it is put, if there is one.
        config:
            How they are scaled, if the program says so.
        """
        batches = self._units.batches.handles
        origins, places = batches.get(sources), batches.get(targets)
        if origins is None or places is None or len(numbers) > len(origins):
            return ReturnCode.INVALID_PARAM
        if sum(numbers) != len(parts) or len(parts) > len(places):
            return ReturnCode.INVALID_PARAM
        repeated = [source for source, number in zip(origins, numbers, strict=False) for _ in range(number)]
        for source, result, (area, *place) in zip(repeated, places, parts, strict=False):
            paste = place[0] if place else None
            code = self._change(channel, source, result, stream, crop=area, paste=paste, config=config)
            if code:
                return code
        return ReturnCode.SUCCESS

    def _change(
        self,
        channel: int,
        source: int,
        result: int,
        stream: int,
        *,
        crop: int | None = None,
        paste: int | None = None,
        config: int | None = None,
        change: Callable[[Pixels], Pixels] | None = None,
    ) -> int:
        """Read a picture, do what the handles say, and write it into another."""
        code = self._units.ready(channel, stream)
        pictures = self._units.pictures.all_of([source, result])
        areas = [None if area is None else self._units.rectangles.handles.get(area) for area in (crop, paste)]
        scaling = Scaling() if config is None else self._units.scalings.handles.get(config)
        if code or pictures is None or scaling is None or scaling.interpolation not in _METHODS:
            return code or ReturnCode.INVALID_PARAM
        area, place = areas
        if (area is None) != (crop is None) or (place is None) != (paste is None):
            return ReturnCode.INVALID_PARAM
        pixels = self._units.read(pictures[0])
        if pixels is None or not all(map(_inside, pictures, areas)):
            return ReturnCode.INVALID_PARAM
        if area is not None:
            pixels = pixels.part(area.left, area.right, area.top, area.bottom)
        if change is not None:
            pixels = change(pixels)
        size = (pictures[1].width, pictures[1].height) if place is None else place.size
        method = _METHODS[scaling.interpolation]
        part = pixels
        code, scaled = self._units.attempt(lambda: part.scaled(*size, method), "the image cannot be scaled")
        return code if scaled is None else self._units.write(pictures[1], scaled, place)


def _inside(picture: Picture, area: Rectangle | None) -> bool:
    """Return whether an area lies in a picture, and does not end before it begins."""
    if area is None:
        return True
    across = 0 <= area.left <= area.right < max(picture.width, picture.width_stride)
    return across and 0 <= area.top <= area.bottom < max(picture.height, picture.height_stride)
