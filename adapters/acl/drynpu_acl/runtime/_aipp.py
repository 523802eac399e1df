"""
AIPP: the unit that turns images of a camera into the input of a model, in the order crop, colours, mean, padding.

Its settings come from the model compiler (``--insert_op_conf``) or, where it is dynamic, from the program before each
run. Formulas come from the compiler's guide: colours ``(matrix * (pixel - input bias)) / 256 + output bias``, then
``(pixel - mean - min) * var_reci`` for each channel (pyacl_prof.md 10).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from attrs import define, evolve, field, frozen

from drynpu.arrays import U8, Array


class BadConversion(Exception):
    """A file does not hold what the model compiler takes; the text says where."""


AIPP_INPUT = "ascend_dynamic_aipp_data"
"""ACL_DYNAMIC_AIPP_NAME: the input of a model that takes settings before each run (acl_mdl.h)."""
FORMATS: Mapping[str, int] = {"YUV420SP_U8": 1, "XRGB8888_U8": 2, "RGB888_U8": 3, "YUV400_U8": 4}
"""aclAippInputFormat of the formats that the unit of all simulated chips reads (aipp_param_check.cpp)."""
KNOWN_FORMATS = range(1, 15)
"""Every aclAippInputFormat."""
_PIXEL_BYTES = {1: 1.5, 2: 4, 3: 3, 4: 1}
_CHANNELS = {1: 3, 2: 4, 3: 3, 4: 1}
_GRAY, _YUV = 4, 1
_WIDEST_PADDED = 1080
"""Columns that may leave the unit after padding."""
_HEAD_BYTES, _BATCH_BYTES = 64, 96
"""Sizes of the settings for all images and for each (dynamic_aipp.h)."""


@frozen
class ImageSettings:
    """Settings of one image of a batch: left, top, width and height; top, bottom, left and right; by channel."""

    crop: tuple[int, int, int, int] | None = None
    padding: tuple[int, int, int, int] | None = None
    mean: tuple[float, ...] = (0, 0, 0, 0)
    minimum: tuple[float, ...] = (0, 0, 0, 0)
    factor: tuple[float, ...] = (1, 1, 1, 1)


@define(eq=False)
class AippSettings:
    """Settings of a batch; ``format`` 0 and ``size`` (width, height) of 0 were not set."""

    images: list[ImageSettings]
    format: int = 0
    size: tuple[int, int] = (0, 0)
    matrix: tuple[int, ...] | None = None
    input_bias: tuple[int, ...] = (0, 0, 0)
    output_bias: tuple[int, ...] = (0, 0, 0)
    swap_colours: bool = False
    swap_alpha: bool = False
    padding_value: float = 0.0

    @property
    def source_bytes(self) -> int:
        """Size of all images of the batch."""
        return int(len(self.images) * self.size[0] * self.size[1] * _PIXEL_BYTES.get(self.format, 0))

    @property
    def image_shape(self) -> tuple[int, int, int, int]:
        """The images as ``[batch, height, width, channels]``."""
        return (len(self.images), self.size[1], self.size[0], _CHANNELS[self.format])

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The same as they lie in memory: the colours of YUV420SP_U8 are half as many rows behind the brightness."""
        count, height, width, channels = self.image_shape
        return (count, height * 3 // 2, width, 1) if self.format == _YUV else (count, height, width, channels)

    def output_size(self, number: int) -> tuple[int, int]:
        """Return width and height of what becomes of an image."""
        image = self.images[number]
        width, height = self.size if image.crop is None else image.crop[2:]
        top, bottom, left, right = image.padding or (0, 0, 0, 0)
        return width + left + right, height + top + bottom

    def problem(self) -> str:
        """Return what is wrong with the settings, empty for nothing (aipp_param_check.cpp)."""
        width, height = self.size
        if self.format not in FORMATS.values():
            return "the input format has to be YUV420SP_U8, XRGB8888_U8, RGB888_U8 or YUV400_U8"
        if self.format == _GRAY and self.matrix is not None:
            return "YUV400_U8 has no colours to convert"
        if not width or not height:
            return "the size of the source image is not set"
        if self.format == _YUV and (width % 2 or height % 2):
            return f"width {width} and height {height} of YUV420SP_U8 have to be even"
        for number, image in enumerate(self.images):
            if image.crop is not None:
                left, top, wide, high = image.crop
                if left + wide > width or top + high > height:
                    return f"the crop {image.crop} leaves the image"
                if self.format == _YUV and (left % 2 or top % 2):
                    return "a crop of YUV420SP_U8 begins at even places"
            if image.padding is not None and self.output_size(number)[0] > _WIDEST_PADDED:
                return f"more than {_WIDEST_PADDED} columns after padding"
            if self.output_size(number) != self.output_size(0):
                return "images of a batch come out in different sizes"
        return ""


def data_bytes(batch: int) -> int:
    """Return the size of the settings of a batch (aclmdlGetAippDataSize)."""
    return _HEAD_BYTES + _BATCH_BYTES * batch


def apply_aipp(settings: AippSettings, source: U8) -> Array:
    """Return the images of a batch as ``[batch, channels, height, width]``, in the precision of the unit (float16)."""
    width, height = settings.size
    count = len(settings.images)
    each = source[: settings.source_bytes].reshape(count, -1)
    planes = [_planes(settings, row, width, height) for row in each]
    return np.stack(
        [_finish(settings, image, channels) for image, channels in zip(settings.images, planes, strict=True)]
    )


def _planes(settings: AippSettings, row: U8, width: int, height: int) -> Array:
    """Return an image as float planes [channels, height, width]."""
    if settings.format == _GRAY:
        return row.reshape(1, height, width).astype(np.float32)
    if settings.format == _YUV:
        luma = row[: width * height].reshape(height, width)
        pairs = row[width * height :].reshape(height // 2, width // 2, 2).repeat(2, axis=0).repeat(2, axis=1)
        planes = np.stack([luma, pairs[..., 0], pairs[..., 1]])
        order = (0, 2, 1) if settings.swap_colours else (0, 1, 2)
    else:
        planes = row.reshape(height, width, -1).transpose(2, 0, 1)
        if len(planes) == 4:  # XRGB: three channels go on, the first ones unless the swap has put X behind the colours
            planes = planes[1:] if settings.swap_alpha else planes[:3]
        order = (2, 1, 0) if settings.swap_colours else (0, 1, 2)
    ordered: Array = planes[list(order)].astype(np.float32)
    return ordered


def _finish(settings: AippSettings, image: ImageSettings, planes: Array) -> Array:
    if image.crop is not None:
        left, top, wide, high = image.crop
        planes = planes[:, top : top + high, left : left + wide]
    if settings.matrix is not None and len(planes) == 3:
        matrix = np.array(settings.matrix, np.int64).reshape(3, 3)
        whole = planes.astype(np.int64) - np.array(settings.input_bias).reshape(3, 1, 1)
        colours = np.einsum("oc,chw->ohw", matrix, whole) // 256 + np.array(settings.output_bias).reshape(3, 1, 1)
        planes = np.clip(colours, 0, 255).astype(np.float32)
    count = len(planes)
    mean, minimum, factor = (
        np.array(each[:count], np.float32).reshape(count, 1, 1) for each in (image.mean, image.minimum, image.factor)
    )
    planes = ((planes - mean - minimum) * factor).astype(np.float16)
    if image.padding is not None:
        top, bottom, left, right = image.padding
        planes = np.pad(planes, ((0, 0), (top, bottom), (left, right)), constant_values=settings.padding_value)
    return planes


# What the compiler was asked for ----------------------------------------------------------------------------------


@frozen(eq=False)
class AippConf:
    """One ``aipp_op`` of a configuration: *settings* of one image for a static one, None for a dynamic one."""

    related_input: int = 0
    settings: AippSettings | None = None
    max_source_bytes: int = 0
    ignored: tuple[str, ...] = field(default=())


def parse_conf(text: str) -> AippConf | None:
    """
    Return the configuration of ``--insert_op_conf``, None for an empty one.

    Raises
    ------
    BadConversion
        It has several operators, or values that are none.
    """
    blocks = re.findall(r"aipp_op\s*\{(.*?)\}", re.sub(r"#[^\n]*", "", text), re.DOTALL)
    if not blocks:
        return None
    if len(blocks) > 1:
        raise BadConversion("insert_op_conf: one aipp_op is simulated, for one input")
    values = dict(re.findall(r"(\w+)\s*:\s*\"?([\w.+-]+)\"?", blocks[0]))
    try:
        return _conf(values)
    except ValueError as error:
        raise BadConversion(f"insert_op_conf: {error}") from error


def _conf(values: dict[str, str]) -> AippConf:
    mode = values.pop("aipp_mode", "")
    related = int(values.pop("related_input_rank", "0"))
    if mode == "dynamic":
        return AippConf(related, None, int(values.pop("max_src_image_size", "0")), tuple(values))
    if mode != "static":
        raise ValueError(f"aipp_mode {mode or 'is missing'}: static or dynamic are allowed")

    def number(name: str, default: float = 0) -> float:
        return float(values.pop(name, default))

    def whole(*names: str) -> tuple[int, ...]:
        return tuple(int(number(name)) for name in names)

    def switch(name: str) -> bool:
        return values.pop(name, "false").lower() in ("true", "1")

    def channels(name: str, default: float) -> tuple[float, ...]:
        return tuple(number(f"{name}_{n}", default) for n in range(4))

    name = values.pop("input_format", "")
    if name not in FORMATS:
        raise ValueError(f"input_format {name or 'is missing'}: {', '.join(FORMATS)} are simulated")
    crop = (*whole("load_start_pos_w", "load_start_pos_h"), *whole("crop_size_w", "crop_size_h"))
    padding = whole("top_padding_size", "bottom_padding_size", "left_padding_size", "right_padding_size")
    image = ImageSettings(
        crop=crop if switch("crop") else None,  # type: ignore[arg-type]
        padding=padding if switch("padding") else None,  # type: ignore[arg-type]
        mean=channels("mean_chn", 0),
        minimum=channels("min_chn", 0),
        factor=channels("var_reci_chn", 1),
    )
    matrix = whole(*(f"matrix_r{row}c{column}" for row in range(3) for column in range(3)))
    settings = AippSettings(
        [image],
        FORMATS[name],
        (whole("src_image_size_w")[0], whole("src_image_size_h")[0]),
        matrix if switch("csc_switch") else None,
        whole("input_bias_0", "input_bias_1", "input_bias_2"),
        whole("output_bias_0", "output_bias_1", "output_bias_2"),
        switch("rbuv_swap_switch"),
        switch("ax_swap_switch"),
        number("padding_value"),
    )
    return AippConf(related, settings, 0, tuple(values))


def static_settings(conf: AippConf, shape: tuple[int, ...]) -> AippSettings:
    """Return the settings of a static operator for a model's input ``[batch, channels, height, width]``."""
    settings = conf.settings
    assert settings is not None, "a dynamic one has its settings from the program"
    image = settings.images[0]
    if image.crop is not None and not all(image.crop[2:]):  # a crop without a size ends where the model's input does
        top, bottom, left, right = image.padding or (0, 0, 0, 0)
        wide, high = shape[3] - left - right, shape[2] - top - bottom
        image = evolve(image, crop=(*image.crop[:2], wide, high))
    size = settings.size if all(settings.size) else (shape[3], shape[2])
    return evolve(settings, images=[image] * shape[0], size=size)
