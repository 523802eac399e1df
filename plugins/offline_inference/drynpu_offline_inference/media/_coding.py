"""Files of images: what is in them, how much memory they need, decoding and encoding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drynpu_acl.constants import ReturnCode
from drynpu_offline_inference.media import _files
from drynpu_offline_inference.media._formats import LAYOUTS, NV12, RGB_888, UNKNOWN_FORMAT
from drynpu_offline_inference.media._units import Units

_DECODED_ROW, _DECODED_ROWS = 128, 16
"""What a decoder aligns rows and their number to, where a program asks how much memory it needs."""
_HEAD_BYTES: Final = 2048
"""Room for the head of an encoded file beside as many bytes as the image itself has."""
_FORMATS: Final = {_files.JPEG: NV12, _files.PNG: RGB_888}
"""What a file is decoded to where the program leaves it open."""


class Coding:
    """The units that decode and encode files."""

    def __init__(self, units: Units) -> None:
        self._units = units

    def jpeg_info(self, pointer: int, size: int) -> tuple[int, int, int, int]:
        """Return ``(width, height, components, code)`` of a JPEG."""
        width, height, components, _, code = self.jpeg_info_v2(pointer, size)
        return width, height, components, code

    def jpeg_info_v2(self, pointer: int, size: int) -> tuple[int, int, int, int, int]:
        """Return ``(width, height, components, sharing of colours, code)`` of a JPEG."""
        return self._info(pointer, size, _files.JPEG)

    def png_info(self, pointer: int, size: int) -> tuple[int, int, int, int]:
        """Return ``(width, height, components, code)`` of a PNG."""
        width, height, components, _, code = self._info(pointer, size, _files.PNG)
        return width, height, components, code

    def _info(self, pointer: int, size: int, kind: str) -> tuple[int, int, int, int, int]:
        code, info = self._units.attempt(
            lambda: _files.read_info(self._units.file(pointer, size), kind), f"this is no {kind} file"
        )
        if info is None:
            return 0, 0, 0, 0, code
        return info.width, info.height, info.components, info.sharing, ReturnCode.SUCCESS

    def predict_decoded(self, kind: str) -> Callable[[int, int, int], tuple[int, int]]:
        """Return a function of a file and a format that returns ``(bytes, code)`` of the decoded image."""

        def predict(pointer: int, size: int, pixel_format: int) -> tuple[int, int]:
            width, height, *_, code = self._info(pointer, size, kind)
            layout = LAYOUTS.get(_FORMATS[kind] if pixel_format == UNKNOWN_FORMAT else pixel_format)
            if code or layout is None:
                return 0, code or ReturnCode.INVALID_PARAM
            stride = -(-width // _DECODED_ROW) * _DECODED_ROW * layout.samples
            return layout.size(stride, -(-height // _DECODED_ROWS) * _DECODED_ROWS), ReturnCode.SUCCESS

        return predict

    def decode(self, kind: str) -> Callable[[int, int, int, int, int], int]:
        """Return a function that decodes a file into a picture."""

        def decode_file(channel: int, pointer: int, size: int, result: int, stream: int) -> int:
            picture = self._units.pictures.handles.get(result)
            code = self._units.ready(channel, stream)
            if code or picture is None:
                return code or ReturnCode.INVALID_PARAM
            text = f"this is no {kind} file that can be decoded"
            code, pixels = self._units.attempt(lambda: _files.decode(self._units.file(pointer, size), kind), text)
            if pixels is None:
                picture.ret_code = 1
                return code
            if picture.format == UNKNOWN_FORMAT:
                picture.format = _FORMATS[kind]
            picture.width, picture.height = pixels.size
            return self._units.write(picture, pixels)

        return decode_file

    def set_level(self, handle: int, level: int) -> int:
        """Set how good an encoded file is, from 0 to 100."""
        encoding = self._units.encodings.handles.get(handle)
        if encoding is None or level > _files.MOST_QUALITY:
            return ReturnCode.INVALID_PARAM
        encoding.level = level
        return ReturnCode.SUCCESS

    def predict_encoded(self, source: int, config: int) -> tuple[int, int]:
        """Return ``(bytes, code)``: room that is enough for the encoded file."""
        picture = self._units.pictures.handles.get(source)
        if picture is None or self._units.encodings.handles.get(config) is None or picture.layout is None:
            return 0, ReturnCode.INVALID_PARAM
        return picture.layout.size(*picture.room(picture.layout)) + _HEAD_BYTES, ReturnCode.SUCCESS

    def encode(self, channel: int, source: int, result: int, size_pointer: int, config: int, stream: int) -> int:
        """Encode a picture; where the program put the room that there is, it finds the bytes of the file."""
        picture, encoding = self._units.pictures.handles.get(source), self._units.encodings.handles.get(config)
        room = self._units.runtime.memory.view(size_pointer, np.dtype(np.uint32).itemsize)
        code = self._units.ready(channel, stream)
        if code or picture is None or encoding is None or room is None:
            return code or ReturnCode.INVALID_PARAM
        pixels = self._units.read(picture)
        if pixels is None:
            return ReturnCode.INVALID_PARAM
        level = encoding.level
        code, data = self._units.attempt(lambda: _files.encode(pixels, level), "the image cannot be encoded")
        if data is None:
            return code
        there = int(room.view(np.uint32)[0])
        if len(data) > there or not self._units.runtime.memory.write(result, np.frombuffer(data, np.uint8)):
            self._units.runtime.complain(f"dvpp_jpeg_encode_async: the file takes {len(data)} bytes, there are {there}")
            return ReturnCode.INVALID_PARAM
        noted = self._units.runtime.memory.write(size_pointer, np.array([len(data)], np.uint32))
        return ReturnCode.SUCCESS if noted else ReturnCode.INVALID_PARAM
