"""The file of ``--aipp_config``: settings of images, checked and handed to a session."""

from __future__ import annotations

from configparser import ConfigParser
from typing import Any

from attrs import frozen

from drynpu_offline_inference.bench._log import refuse

_SECTION = "aipp_op"
_CHANNELS = range(4)
_FORMATS = ("YUV420SP_U8", "XRGB8888_U8", "RGB888_U8", "YUV400_U8")
_MATRIX = tuple(f"matrix_r{row}c{column}" for row in range(3) for column in range(3))
_BIASES = tuple(f"{side}_bias_{number}" for side in ("output", "input") for number in range(3))


@frozen
class _Reader:
    """Reads numbers of the file's section; what is not there is 0."""

    options: ConfigParser

    def integer(self, name: str, low: int, high: int) -> int:
        """Return a whole number of a range."""
        return int(self._number(name, low, high, int))

    def real(self, name: str, low: float, high: float) -> float:
        """Return a number of a range."""
        return float(self._number(name, low, high, float))

    def _number(self, name: str, low: float, high: float, kind: type) -> float:
        text = self.options.get(_SECTION, name, fallback=None)
        if text is None:
            return 0
        try:
            value = kind(text)
        except ValueError:
            raise refuse(f"aipp_config: {name} {text!r} is no number") from None
        if not low <= value <= high:
            raise refuse(f"aipp_config: {name} {text} is not allowed; allowed: {low} to {high}")
        return float(value)


def apply_aipp_config(session: Any, path: str, batch: int) -> int:
    """
    Give a session of ``aclruntime`` the settings of a file, for each image of a batch.

    Raises
    ------
    RuntimeError
        The file has no section ``aipp_op``, lacks format or size, or holds a value out of its range.
    """
    options = ConfigParser()
    options.read(path, "UTF-8")
    if options.sections().count(_SECTION) != 1:
        raise refuse(f"aipp_config: {path} needs one section [{_SECTION}]; found: {options.sections()}")
    missing = [
        name
        for name in ("input_format", "src_image_size_w", "src_image_size_h")
        if not options.has_option(_SECTION, name)
    ]
    if missing:
        raise refuse(f"aipp_config: {path} lacks {', '.join(missing)}")
    reader = _Reader(options)
    image_format = options.get(_SECTION, "input_format")
    if image_format not in _FORMATS:
        raise refuse(f"aipp_config: input_format {image_format} is not allowed; allowed: {', '.join(_FORMATS)}")
    session.aipp_set_input_format(image_format)
    size = [reader.integer("src_image_size_w", 2, 4096), reader.integer("src_image_size_h", 1, 4096)]
    session.aipp_set_src_image_size(size)
    session.aipp_set_max_batch_size(batch)
    session.aipp_set_rbuv_swap_switch(reader.integer("rbuv_swap_switch", 0, 1))
    session.aipp_set_ax_swap_switch(reader.integer("ax_swap_switch", 0, 1))
    session.aipp_set_csc_params(_conversion(reader))
    session.aipp_set_crop_params(_crop(reader))
    session.aipp_set_padding_params(_padding(reader))
    session.aipp_set_dtc_pixel_mean([reader.integer(f"mean_chn_{number}", 0, 255) for number in _CHANNELS])
    session.aipp_set_dtc_pixel_min([reader.real(f"min_chn_{number}", 0, 255) for number in _CHANNELS])
    session.aipp_set_pixel_var_reci([reader.real(f"var_reci_chn_{number}", -65504, 65504) for number in _CHANNELS])
    return int(session.set_dym_aipp_info_set())


def _conversion(reader: _Reader) -> list[int]:
    """Return switch, nine factors and six biases of the conversion of colours."""
    if not reader.integer("csc_switch", 0, 1):
        return [0] * (1 + len(_MATRIX) + len(_BIASES))
    factors = [reader.integer(name, -32677, 32676) for name in _MATRIX]
    return [1, *factors, *(reader.integer(name, 0, 255) for name in _BIASES)]


def _crop(reader: _Reader) -> list[int]:
    """Return switch, left, top, width and height of the part that is used."""
    if not reader.integer("crop", 0, 1):
        return [0, 0, 0, 416, 416]
    start = [reader.integer(f"load_start_pos_{axis}", 0, 4095) for axis in "wh"]
    return [1, *start, *(reader.integer(f"crop_size_{axis}", 1, 4096) for axis in "wh")]


def _padding(reader: _Reader) -> list[int]:
    """Return switch, top, bottom, left and right of the margin."""
    if not reader.integer("padding", 0, 1):
        return [0] * 5
    return [1, *(reader.integer(f"padding_size_{side}", 0, 32) for side in ("top", "bottom", "left", "right"))]
