"""Images: descriptions, decoding, cutting, scaling, converting, encoding. What works on videos is refused by name."""

from __future__ import annotations

from collections.abc import Callable as _Callable
from typing import Any as _Any

from drynpu_acl.binding import Binder as _Binder
from drynpu_acl.binding import refuse_names as _refuse_names
from drynpu_acl.runtime import PROCESS as _process
from drynpu_offline_inference.media import JPEG as _JPEG
from drynpu_offline_inference.media import PNG as _PNG
from drynpu_offline_inference.media import Coding as _Coding
from drynpu_offline_inference.media import Cutting as _Cutting
from drynpu_offline_inference.media import Units as _Units

_binder = _Binder("acl.media", "acl", lambda: _process.listener, _process.ready, refused="{} args parse failed!")
_units = _Units(_process)
_process.cleared_at_end.append(_units)
_coding, _cutting = _Coding(_units), _Cutting(_units)
_MOST_AREAS = 256
_ANY_PAGES = 0
"""ACL_MEM_MALLOC_HUGE_FIRST of aclrtMemMallocPolicy."""


def _bind(
    name: str, letters: str, implementation: _Callable[..., _Any], *, zeros: int | None = None, mark: str = "!"
) -> _Callable[..., _Any]:
    """Bind a function of images; *mark* ends the text of its parse errors."""
    api = "acldvpp" + "".join(word.capitalize() for word in name.removeprefix("dvpp_").split("_"))
    refused = f"acl.media.{name} args parse failed{mark}"
    return _binder(name, letters, implementation, api=api, refused=refused, zeros=zeros)


def _batched(arguments: str, *, paste: bool, scaled: bool = False, returns: bool = True) -> _Callable[..., _Any]:
    """Return a function over batches; *arguments* is what it says of lists that are none."""

    def call(channel: int, source: int, numbers: _Any, target: int, *rest: _Any) -> _Any:
        lists, others = rest[: 1 + paste], rest[1 + paste :]
        if not all(isinstance(each, list) for each in (numbers, *lists)):
            raise TypeError(arguments)
        if not 0 < len(numbers) <= _MOST_AREAS or len({len(each) for each in lists}) != 1 or not lists[0]:
            raise ValueError("number of crop areas must be between 1 and 256")
        config = others[0] if scaled else None
        parts = list(zip(*lists, strict=True))
        code = _cutting.batch(channel, source, numbers, target, parts, others[-1], config=config)
        return (target, code) if returns else code

    return call


def _allocate(size: int) -> tuple[int, int]:
    """Return ``(pointer, code)`` of *size* bytes for images on this thread's device."""
    return _process.malloc(size, _ANY_PAGES)


dvpp_malloc = _bind("dvpp_malloc", "k", _allocate, zeros=1)
dvpp_free = _bind("dvpp_free", "k", _process.free, zeros=0)

dvpp_create_channel_desc = _bind("dvpp_create_channel_desc", "", _units.channels.create)
dvpp_destroy_channel_desc = _bind("dvpp_destroy_channel_desc", "k", _units.channels.destroy)
dvpp_get_channel_desc_channel_id = _bind("dvpp_get_channel_desc_channel_id", "k", _units.channels.getter("channel_id"))
dvpp_set_channel_desc_mode = _bind("dvpp_set_channel_desc_mode", "kI", _units.channels.setter("mode"))
dvpp_create_channel = _bind("dvpp_create_channel", "k", _units.create_channel, zeros=0)
dvpp_destroy_channel = _bind("dvpp_destroy_channel", "k", _units.destroy_channel, zeros=0)

_pictures = _units.pictures
dvpp_create_pic_desc = _bind("dvpp_create_pic_desc", "", _pictures.create)
dvpp_destroy_pic_desc = _bind("dvpp_destroy_pic_desc", "k", _pictures.destroy)
dvpp_set_pic_desc_data = _bind("dvpp_set_pic_desc_data", "kk", _pictures.setter("data"))
dvpp_set_pic_desc_size = _bind("dvpp_set_pic_desc_size", "kI", _pictures.setter("size"))
dvpp_set_pic_desc_format = _bind("dvpp_set_pic_desc_format", "ki", _pictures.setter("format"))
dvpp_set_pic_desc_width = _bind("dvpp_set_pic_desc_width", "kI", _pictures.setter("width"))
dvpp_set_pic_desc_height = _bind("dvpp_set_pic_desc_height", "kI", _pictures.setter("height"))
dvpp_set_pic_desc_width_stride = _bind("dvpp_set_pic_desc_width_stride", "kI", _pictures.setter("width_stride"))
dvpp_set_pic_desc_height_stride = _bind("dvpp_set_pic_desc_height_stride", "kI", _pictures.setter("height_stride"))
dvpp_set_pic_desc_ret_code = _bind("dvpp_set_pic_desc_ret_code", "kI", _pictures.setter("ret_code"))
dvpp_get_pic_desc_data = _bind("dvpp_get_pic_desc_data", "k", _pictures.getter("data"))
dvpp_get_pic_desc_size = _bind("dvpp_get_pic_desc_size", "k", _pictures.getter("size"))
dvpp_get_pic_desc_format = _bind("dvpp_get_pic_desc_format", "k", _pictures.getter("format"))
dvpp_get_pic_desc_width = _bind("dvpp_get_pic_desc_width", "k", _pictures.getter("width"))
dvpp_get_pic_desc_height = _bind("dvpp_get_pic_desc_height", "k", _pictures.getter("height"))
dvpp_get_pic_desc_width_stride = _bind("dvpp_get_pic_desc_width_stride", "k", _pictures.getter("width_stride"))
dvpp_get_pic_desc_height_stride = _bind("dvpp_get_pic_desc_height_stride", "k", _pictures.getter("height_stride"))
dvpp_get_pic_desc_ret_code = _bind("dvpp_get_pic_desc_ret_code", "k", _pictures.getter("ret_code"))
dvpp_create_batch_pic_desc = _bind("dvpp_create_batch_pic_desc", "I", _units.create_batch)
dvpp_destroy_batch_pic_desc = _bind("dvpp_destroy_batch_pic_desc", "k", _units.destroy_batch)
dvpp_get_pic_desc = _bind("dvpp_get_pic_desc", "kI", _units.get_picture)

_streams = _units.streams
dvpp_create_stream_desc = _bind("dvpp_create_stream_desc", "", _streams.create)
dvpp_destroy_stream_desc = _bind("dvpp_destroy_stream_desc", "k", _streams.destroy)
dvpp_set_stream_desc_data = _bind("dvpp_set_stream_desc_data", "kk", _streams.setter("data"))
dvpp_set_stream_desc_size = _bind("dvpp_set_stream_desc_size", "kI", _streams.setter("size"))
dvpp_set_stream_desc_format = _bind("dvpp_set_stream_desc_format", "ki", _streams.setter("format"))
dvpp_set_stream_desc_timestamp = _bind("dvpp_set_stream_desc_timestamp", "kK", _streams.setter("timestamp"))
dvpp_set_stream_desc_ret_code = _bind("dvpp_set_stream_desc_ret_code", "kI", _streams.setter("ret_code"))
dvpp_set_stream_desc_eos = _bind("dvpp_set_stream_desc_eos", "kB", _streams.setter("eos"))
dvpp_get_stream_desc_data = _bind("dvpp_get_stream_desc_data", "k", _streams.getter("data"))
dvpp_get_stream_desc_size = _bind("dvpp_get_stream_desc_size", "k", _streams.getter("size"))
dvpp_get_stream_desc_format = _bind("dvpp_get_stream_desc_format", "k", _streams.getter("format"))
dvpp_get_stream_desc_timestamp = _bind("dvpp_get_stream_desc_timestamp", "k", _streams.getter("timestamp"))
dvpp_get_stream_desc_ret_code = _bind("dvpp_get_stream_desc_ret_code", "k", _streams.getter("ret_code"))
dvpp_get_stream_desc_eos = _bind("dvpp_get_stream_desc_eos", "k", _streams.getter("eos"))

_areas = _units.rectangles
dvpp_create_roi_config = _bind("dvpp_create_roi_config", "IIII", _areas.create)
dvpp_destroy_roi_config = _bind("dvpp_destroy_roi_config", "k", _areas.destroy)
dvpp_set_roi_config = _bind("dvpp_set_roi_config", "kIIII", _areas.setter("left", "right", "top", "bottom"))
dvpp_set_roi_config_left = _bind("dvpp_set_roi_config_left", "kI", _areas.setter("left"))
dvpp_set_roi_config_right = _bind("dvpp_set_roi_config_right", "kI", _areas.setter("right"))
dvpp_set_roi_config_top = _bind("dvpp_set_roi_config_top", "kI", _areas.setter("top"))
dvpp_set_roi_config_bottom = _bind("dvpp_set_roi_config_bottom", "kI", _areas.setter("bottom"))

_scalings = _units.scalings
dvpp_create_resize_config = _bind("dvpp_create_resize_config", "", _scalings.create)
dvpp_destroy_resize_config = _bind("dvpp_destroy_resize_config", "k", _scalings.destroy)
dvpp_set_resize_config_interpolation = _bind(
    "dvpp_set_resize_config_interpolation", "kI", _scalings.setter("interpolation")
)
dvpp_get_resize_config_interpolation = _bind(
    "dvpp_get_resize_config_interpolation", "k", _scalings.getter("interpolation")
)

_encodings = _units.encodings
dvpp_create_jpege_config = _bind("dvpp_create_jpege_config", "", _encodings.create)
dvpp_destroy_jpege_config = _bind("dvpp_destroy_jpege_config", "k", _encodings.destroy, mark="")
dvpp_set_jpege_config_level = _bind("dvpp_set_jpege_config_level", "kI", _coding.set_level, mark="")
dvpp_get_jpege_config_level = _bind("dvpp_get_jpege_config_level", "k", _encodings.getter("level"))

_borders = _units.borders
dvpp_create_border_config = _bind("dvpp_create_border_config", "", _borders.create)
dvpp_destroy_border_config = _bind("dvpp_destroy_border_config", "k", _borders.destroy)
dvpp_set_border_config_value = _bind("dvpp_set_border_config_value", "kIf", _units.set_border_value)
dvpp_set_border_config_border_type = _bind("dvpp_set_border_config_border_type", "ki", _borders.setter("border_type"))
dvpp_set_border_config_top = _bind("dvpp_set_border_config_top", "kI", _borders.setter("top"))
dvpp_set_border_config_bottom = _bind("dvpp_set_border_config_bottom", "kI", _borders.setter("bottom"))
dvpp_set_border_config_left = _bind("dvpp_set_border_config_left", "kI", _borders.setter("left"))
dvpp_set_border_config_right = _bind("dvpp_set_border_config_right", "kI", _borders.setter("right"))
dvpp_get_border_config_value = _bind("dvpp_get_border_config_value", "kI", _units.get_border_value)
dvpp_get_border_config_border_type = _bind("dvpp_get_border_config_border_type", "k", _borders.getter("border_type"))
dvpp_get_border_config_top = _bind("dvpp_get_border_config_top", "k", _borders.getter("top"))
dvpp_get_border_config_bottom = _bind("dvpp_get_border_config_bottom", "k", _borders.getter("bottom"))
dvpp_get_border_config_left = _bind("dvpp_get_border_config_left", "k", _borders.getter("left"))
dvpp_get_border_config_right = _bind("dvpp_get_border_config_right", "k", _borders.getter("right"))

dvpp_jpeg_get_image_info = _bind("dvpp_jpeg_get_image_info", "kI", _coding.jpeg_info, mark="")
dvpp_jpeg_get_image_info_v2 = _bind("dvpp_jpeg_get_image_info_v2", "kI", _coding.jpeg_info_v2, mark="")
dvpp_jpeg_predict_dec_size = _bind("dvpp_jpeg_predict_dec_size", "kIi", _coding.predict_decoded(_JPEG), mark="")
dvpp_jpeg_predict_enc_size = _bind("dvpp_jpeg_predict_enc_size", "kk", _coding.predict_encoded, mark="")
dvpp_jpeg_decode_async = _bind("dvpp_jpeg_decode_async", "kkIkk", _coding.decode(_JPEG), zeros=0, mark="")
dvpp_jpeg_encode_async = _bind("dvpp_jpeg_encode_async", "kkkkkk", _coding.encode, zeros=0, mark="")
dvpp_png_get_image_info = _bind("dvpp_png_get_image_info", "kI", _coding.png_info)
dvpp_png_predict_dec_size = _bind("dvpp_png_predict_dec_size", "kIi", _coding.predict_decoded(_PNG))
dvpp_png_decode_async = _bind("dvpp_png_decode_async", "kkIkk", _coding.decode(_PNG), zeros=0)

dvpp_vpc_resize_async = _bind("dvpp_vpc_resize_async", "kkkkk", _cutting.resize, zeros=0)
dvpp_vpc_crop_async = _bind("dvpp_vpc_crop_async", "kkkkk", _cutting.crop, zeros=0)
dvpp_vpc_crop_resize_async = _bind("dvpp_vpc_crop_resize_async", "kkkkkk", _cutting.crop_resize, zeros=0, mark="")
dvpp_vpc_crop_and_paste_async = _bind("dvpp_vpc_crop_and_paste_async", "kkkkkk", _cutting.crop_and_paste, zeros=0)
dvpp_vpc_crop_resize_paste_async = _bind(
    "dvpp_vpc_crop_resize_paste_async", "kkkkkkk", _cutting.crop_resize_paste, zeros=0, mark=""
)
dvpp_vpc_convert_color_async = _bind("dvpp_vpc_convert_color_async", "kkkk", _cutting.convert_color, zeros=0)
dvpp_vpc_make_border_async = _bind("dvpp_vpc_make_border_async", "kkkkk", _cutting.make_border, zeros=0)
dvpp_vpc_batch_crop_async = _bind(
    "dvpp_vpc_batch_crop_async", "kkOkOk", _batched("argument 3 or 5 is not list", paste=False), zeros=1, mark=""
)
dvpp_vpc_batch_crop_and_paste_async = _bind(
    "dvpp_vpc_batch_crop_and_paste_async",
    "kkOkOOk",
    _batched("argument 3, 5 or 6 is not list", paste=True),
    zeros=1,
    mark="",
)
dvpp_vpc_batch_crop_resize_async = _bind(
    "dvpp_vpc_batch_crop_resize_async",
    "kkOkOkk",
    _batched("argument 3 is not list", paste=False, scaled=True, returns=False),
    zeros=0,
    mark="",
)
dvpp_vpc_batch_crop_resize_paste_async = _bind(
    "dvpp_vpc_batch_crop_resize_paste_async",
    "kkOkOOkk",
    _batched("argument 3 is not list", paste=True, scaled=True, returns=False),
    zeros=0,
    mark="",
)

__getattr__ = _refuse_names("acl.media", "video, histograms and image pyramids")
