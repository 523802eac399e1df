"""Images in files: their sizes, decoded, encoded."""

from __future__ import annotations

import io
from typing import Any, Final

import numpy as np
from attrs import frozen

from drynpu_offline_inference.media._formats import Colour
from drynpu_offline_inference.media._pillow import pillow
from drynpu_offline_inference.media._pixels import Pixels

JPEG, PNG = "JPEG", "PNG"
# acldvppJpegFormat by how many pixels share the colours of a file, across and down.
_SHARING: Final = {(1, 1): 0, (2, 1): 1, (2, 2): 2, (1, 2): 5}
_GREY, _OTHER = 4, 1000
"""ACL_JPEG_CSS_GRAY and ACL_JPEG_CSS_UNKNOWN."""
MOST_QUALITY: Final = 100
"""The best level of encoding."""
_LEAST_QUALITY: Final = 1


@frozen
class FileInfo:
    """What the head of a file says: size, numbers of a pixel, and the number of acldvppJpegFormat of a JPEG."""

    width: int
    height: int
    components: int
    sharing: int


def read_info(data: bytes, kind: str) -> FileInfo | None:
    """Return what the head of a file says, ``None`` for one of another *kind*."""
    opened = _open(data, kind)
    if opened is None:
        return None
    components = len(opened.getbands())
    sharing = _GREY if components == 1 else _OTHER
    layers = getattr(opened, "layer", None)
    if kind == JPEG and components == 3 and layers:
        (_, across, down, *_), (_, across_u, down_u, *_) = layers[:2]
        sharing = _SHARING.get((across // max(across_u, 1), down // max(down_u, 1)), _OTHER)
    width, height = opened.size
    return FileInfo(width, height, components, sharing)


def decode(data: bytes, kind: str) -> Pixels | None:
    """Return the image of a file: YUV or grey of a JPEG, RGB of a PNG; ``None`` for what cannot be decoded."""
    opened = _open(data, kind)
    if opened is None:
        return None
    try:
        if kind == PNG:
            return Pixels(Colour.RGB, np.asarray(opened.convert("RGB")))
        if opened.mode == "L":
            return Pixels(Colour.GREY, np.asarray(opened)[:, :, None])
        # A draft keeps the colours of the file, without a way through RGB.
        opened.draft("YCbCr", opened.size)
        return Pixels(Colour.YUV, np.asarray(opened.convert("YCbCr")))
    except OSError:
        return None


def encode(pixels: Pixels, level: int) -> bytes:
    """Return a JPEG with shared colours; *level* is from 1 to 100, and 0 is as good as 100."""
    image = pillow()
    if pixels.colour is Colour.GREY:
        picture = image.fromarray(np.ascontiguousarray(pixels.values[:, :, 0]), "L")
    else:
        picture = image.fromarray(np.ascontiguousarray(pixels.converted(Colour.YUV).values), "YCbCr")
    out = io.BytesIO()
    picture.save(out, JPEG, quality=max(level or MOST_QUALITY, _LEAST_QUALITY), subsampling="4:2:0")
    return out.getvalue()


def _open(data: bytes, kind: str) -> Any:
    image = pillow()
    try:
        return image.open(io.BytesIO(data), formats=[kind])
    except (OSError, image.DecompressionBombError):
        return None
