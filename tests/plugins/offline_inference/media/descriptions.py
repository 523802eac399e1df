"""Sets and reads each field of what describes images, cuts and pastes parts in every way; prints it as JSON."""

from __future__ import annotations

import io
import json

import acl
import numpy as np
from PIL import Image

RGB, NEAREST = 12, 2
found = {}
media = acl.media


def check(ret):
    code = ret if isinstance(ret, int) else ret[-1]
    assert code == 0, (ret, acl.get_recent_err_msg())
    return ret


check(acl.init())
check(acl.rt.set_device(0))
stream, _ = check(acl.rt.create_stream())
channels = [media.dvpp_create_channel_desc() for _ in range(2)]
modes = [media.dvpp_set_channel_desc_mode(channels[0], 5), media.dvpp_set_channel_desc_mode(7, 5)]
for each in channels:
    check(media.dvpp_create_channel(each))
found["channels"] = [media.dvpp_get_channel_desc_channel_id(each) for each in channels]
found["modes"] = modes
check(media.dvpp_destroy_channel(channels[1]))
found["channel given up"] = [media.dvpp_destroy_channel_desc(channels[1]), media.dvpp_create_channel(channels[1])]
channel = channels[0]

FIELDS = {
    "picture": (
        media.dvpp_create_pic_desc,
        media.dvpp_destroy_pic_desc,
        (media.dvpp_set_pic_desc_data, media.dvpp_get_pic_desc_data),
        (media.dvpp_set_pic_desc_size, media.dvpp_get_pic_desc_size),
        (media.dvpp_set_pic_desc_format, media.dvpp_get_pic_desc_format),
        (media.dvpp_set_pic_desc_width, media.dvpp_get_pic_desc_width),
        (media.dvpp_set_pic_desc_height, media.dvpp_get_pic_desc_height),
        (media.dvpp_set_pic_desc_width_stride, media.dvpp_get_pic_desc_width_stride),
        (media.dvpp_set_pic_desc_height_stride, media.dvpp_get_pic_desc_height_stride),
        (media.dvpp_set_pic_desc_ret_code, media.dvpp_get_pic_desc_ret_code),
    ),
    "stream": (
        media.dvpp_create_stream_desc,
        media.dvpp_destroy_stream_desc,
        (media.dvpp_set_stream_desc_data, media.dvpp_get_stream_desc_data),
        (media.dvpp_set_stream_desc_size, media.dvpp_get_stream_desc_size),
        (media.dvpp_set_stream_desc_format, media.dvpp_get_stream_desc_format),
        (media.dvpp_set_stream_desc_timestamp, media.dvpp_get_stream_desc_timestamp),
        (media.dvpp_set_stream_desc_ret_code, media.dvpp_get_stream_desc_ret_code),
        (media.dvpp_set_stream_desc_eos, media.dvpp_get_stream_desc_eos),
    ),
    "border": (
        media.dvpp_create_border_config,
        media.dvpp_destroy_border_config,
        (media.dvpp_set_border_config_border_type, media.dvpp_get_border_config_border_type),
        (media.dvpp_set_border_config_top, media.dvpp_get_border_config_top),
        (media.dvpp_set_border_config_bottom, media.dvpp_get_border_config_bottom),
        (media.dvpp_set_border_config_left, media.dvpp_get_border_config_left),
        (media.dvpp_set_border_config_right, media.dvpp_get_border_config_right),
    ),
    "scaling": (
        media.dvpp_create_resize_config,
        media.dvpp_destroy_resize_config,
        (media.dvpp_set_resize_config_interpolation, media.dvpp_get_resize_config_interpolation),
    ),
    "encoding": (
        media.dvpp_create_jpege_config,
        media.dvpp_destroy_jpege_config,
        (media.dvpp_set_jpege_config_level, media.dvpp_get_jpege_config_level),
    ),
}
for name, (create, destroy, *fields) in FIELDS.items():
    handle = create()
    for value, (change, _) in enumerate(fields, start=1):
        check(change(handle, value))
    values = [read(handle) for _, read in fields]
    ends = [destroy(handle), destroy(handle)]
    found[name] = [values, ends, {read(handle) for _, read in fields} == {0}, fields[0][0](handle, 1)]
border = media.dvpp_create_border_config()
check(media.dvpp_set_border_config_value(border, 1, 2.5))
found["value"] = [media.dvpp_get_border_config_value(border, at) for at in (0, 1)]
area = media.dvpp_create_roi_config(0, 0, 0, 0)
found["area"] = [media.dvpp_destroy_roi_config(area), media.dvpp_destroy_roi_config(area)]
file = io.BytesIO()
Image.fromarray(np.zeros((20, 130, 3), np.uint8)).save(file, "PNG")
png = file.getvalue()
found["png"] = media.dvpp_png_predict_dec_size(acl.util.bytes_to_ptr(png), len(png), RGB)
room, _ = check(media.dvpp_malloc(64))
found["memory"] = [media.dvpp_free(room), media.dvpp_free(room)]

SOURCE = np.random.default_rng(0).integers(0, 256, (8, 16, 3)).astype(np.uint8)


def picture(values, desc=0):
    """Describe an image of RGB in memory of the device."""
    data, desc = values.tobytes(), desc or media.dvpp_create_pic_desc()
    pointer, _ = check(media.dvpp_malloc(len(data)))
    check(acl.rt.memcpy(pointer, len(data), acl.util.bytes_to_ptr(data), len(data), 1))
    media.dvpp_set_pic_desc_data(desc, pointer)
    media.dvpp_set_pic_desc_size(desc, len(data))
    media.dvpp_set_pic_desc_format(desc, RGB)
    media.dvpp_set_pic_desc_height(desc, values.shape[0])
    media.dvpp_set_pic_desc_width(desc, values.shape[1])
    media.dvpp_set_pic_desc_width_stride(desc, 3 * values.shape[1])
    return desc


def read(desc, like):
    data = bytes(like.nbytes)
    check(acl.rt.memcpy(acl.util.bytes_to_ptr(data), len(data), media.dvpp_get_pic_desc_data(desc), len(data), 2))
    return np.frombuffer(data, np.uint8).reshape(like.shape)


area = media.dvpp_create_roi_config(0, 1, 0, 1)
check(media.dvpp_set_roi_config(area, 1, 2, 0, 1))
check(media.dvpp_set_roi_config_left(area, 4))
check(media.dvpp_set_roi_config_right(area, 11))
check(media.dvpp_set_roi_config_top(area, 2))
check(media.dvpp_set_roi_config_bottom(area, 5))
place = media.dvpp_create_roi_config(16, 31, 8, 15)
config = media.dvpp_create_resize_config()
check(media.dvpp_set_resize_config_interpolation(config, NEAREST))
part = SOURCE[2:6, 4:12]
doubled = part.repeat(2, axis=0).repeat(2, axis=1)
board = np.full((16, 32, 3), 9, np.uint8)
pasted = board.copy()
pasted[8:, 16:] = doubled
source = picture(SOURCE)
result = picture(np.zeros_like(doubled))
check(media.dvpp_vpc_crop_resize_async(channel, source, result, area, config, stream))
found["crop resize"] = bool((read(result, doubled) == doubled).all())
result = picture(board)
check(media.dvpp_vpc_crop_resize_paste_async(channel, source, result, area, place, config, stream))
found["crop resize paste"] = bool((read(result, board) == pasted).all())

batch, results = media.dvpp_create_batch_pic_desc(1), media.dvpp_create_batch_pic_desc(1)
picture(SOURCE, media.dvpp_get_pic_desc(batch, 0))


def batched(empty, expected, call, *rest):
    """Whether a call over batches leaves what is expected in an image that was empty before."""
    target = picture(empty, media.dvpp_get_pic_desc(results, 0))
    check(call(channel, batch, [1], results, *rest))
    return bool((read(target, expected) == expected).all())


here = media.dvpp_create_roi_config(16, 23, 8, 11)
moved = board.copy()
moved[8:12, 16:24] = part
found["batches"] = [
    batched(np.zeros_like(part), part, media.dvpp_vpc_batch_crop_async, [area], stream),
    batched(board, moved, media.dvpp_vpc_batch_crop_and_paste_async, [area], [here], stream),
    batched(np.zeros_like(doubled), doubled, media.dvpp_vpc_batch_crop_resize_async, [area], config, stream),
    batched(board, pasted, media.dvpp_vpc_batch_crop_resize_paste_async, [area], [place], config, stream),
]
found["batch"] = [media.dvpp_get_pic_desc(batch, 1), media.dvpp_destroy_batch_pic_desc(batch)]
found["batch"].append(media.dvpp_get_pic_desc(batch, 0))
check(acl.finalize())
print("found=" + json.dumps(found))
