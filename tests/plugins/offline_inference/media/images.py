"""Works on images as inference programs do, with the numbers of the vendor's headers; prints what it finds as JSON."""

from __future__ import annotations

import io
import json

import acl
import numpy as np
from PIL import Image

NV12, RGB, BGR, UNKNOWN = 1, 12, 13, 10000
H2D, D2H = 1, 2
found = {"mode before init": acl.rt.get_run_mode()}


def check(ret):
    code = ret if isinstance(ret, int) else ret[-1]
    assert code == 0, (ret, acl.get_recent_err_msg())
    return ret


def put(data):
    """Return device memory that holds these bytes."""
    pointer, _ = check(acl.media.dvpp_malloc(len(data)))
    check(acl.rt.memcpy(pointer, len(data), acl.util.bytes_to_ptr(data), len(data), H2D))
    return pointer


def get(pointer, size):
    data = bytes(size)
    check(acl.rt.memcpy(acl.util.bytes_to_ptr(data), size, pointer, size, D2H))
    return np.frombuffer(data, np.uint8)


def picture(number, width, height, stride, rows, size, pointer=0, desc=0):
    """Return a description of a picture, with memory of its own where there is none."""
    desc = desc or acl.media.dvpp_create_pic_desc()
    pointer = pointer or check(acl.media.dvpp_malloc(size))[0]
    for field, value in (
        *(("data", pointer), ("format", number), ("width", width), ("height", height)),
        *(("width_stride", stride), ("height_stride", rows), ("size", size)),
    ):
        check(getattr(acl.media, f"dvpp_set_pic_desc_{field}")(desc, value))
    return desc


def nv12(width, height, stride, rows, **more):
    return picture(NV12, width, height, stride, rows, stride * rows * 3 // 2, **more)


def pixels(desc):
    """Return Y, and U with V, of a picture in NV12."""
    names = ("data", "size", "width", "height", "width_stride", "height_stride")
    data, size, width, height, stride, rows = (getattr(acl.media, f"dvpp_get_pic_desc_{name}")(desc) for name in names)
    values = get(data, size)
    bright, colours = values[: stride * rows].reshape(rows, stride), values[stride * rows :].reshape(rows // 2, -1, 2)
    return bright[:height, :width].astype(float), colours[: height // 2, : width // 2].astype(float)


def mean_difference(one, other):
    return [float(np.abs(a - b).mean()) for a, b in zip(one, other, strict=True)]


def planes(image):
    """Return what NV12 holds of an image of Pillow's."""
    values = np.asarray(image.convert("YCbCr")).astype(float)
    height, width = values.shape[0] // 2 * 2, values.shape[1] // 2 * 2
    shared = values[:height, :width, 1:].reshape(height // 2, 2, width // 2, 2, 2).mean(axis=(1, 3))
    return values[:, :, 0], shared


check(acl.init())
check(acl.rt.set_device(0))
stream, _ = check(acl.rt.create_stream())
channel = acl.media.dvpp_create_channel_desc()
check(acl.media.dvpp_create_channel(channel))
found["opened twice"] = acl.media.dvpp_create_channel(channel)

rows, columns = np.mgrid[0:36, 0:50]
source = Image.fromarray(np.stack([columns * 5, rows * 7, (rows + columns) * 2], -1).astype(np.uint8))
file = io.BytesIO()
source.save(file, "JPEG", quality=95)
jpeg = file.getvalue()
decoded_by_pillow = Image.open(io.BytesIO(jpeg))
pointer = put(jpeg)
found["info"] = acl.media.dvpp_jpeg_get_image_info(pointer, len(jpeg))
found["info v2"] = acl.media.dvpp_jpeg_get_image_info_v2(pointer, len(jpeg))
found["room"] = acl.media.dvpp_jpeg_predict_dec_size(pointer, len(jpeg), NV12)
image = nv12(0, 0, 128, 48)
check(acl.media.dvpp_jpeg_decode_async(channel, pointer, len(jpeg), image, stream))
check(acl.rt.synchronize_stream(stream))
found["decoded size"] = [acl.media.dvpp_get_pic_desc_width(image), acl.media.dvpp_get_pic_desc_height(image)]
found["decoded"] = mean_difference(pixels(image), planes(decoded_by_pillow))

config = acl.media.dvpp_create_resize_config()
check(acl.media.dvpp_set_resize_config_interpolation(config, 1))
small = nv12(24, 16, 32, 16)
check(acl.media.dvpp_vpc_resize_async(channel, image, small, config, stream))
found["resized"] = mean_difference(pixels(small), planes(decoded_by_pillow.resize((24, 16), Image.BILINEAR)))

area = acl.media.dvpp_create_roi_config(10, 29, 4, 15)
cut = nv12(20, 12, 32, 12)
check(acl.media.dvpp_vpc_crop_async(channel, image, cut, area, stream))
found["cut"] = mean_difference(pixels(cut), planes(decoded_by_pillow.crop((10, 4, 30, 16))))
board, place = nv12(40, 20, 48, 20), acl.media.dvpp_create_roi_config(16, 35, 6, 17)
check(acl.rt.memset(acl.media.dvpp_get_pic_desc_data(board), 48 * 30, 3, 48 * 30))
check(acl.media.dvpp_vpc_crop_and_paste_async(channel, image, board, area, place, stream))
bright, colours = pixels(board)
found["pasted"] = mean_difference((bright[6:18, 16:36], colours[3:9, 8:18]), pixels(cut))
found["around"] = [int((bright == 3).sum()), int((colours == 3).all(-1).sum())]

rgb = picture(RGB, 24, 16, 96, 16, 96 * 16)
check(acl.media.dvpp_vpc_convert_color_async(channel, small, rgb, stream))
values = get(acl.media.dvpp_get_pic_desc_data(rgb), 96 * 16).reshape(16, 32, 3)[:, :24].astype(float)
expected = np.asarray(decoded_by_pillow.resize((24, 16), Image.BILINEAR).convert("RGB"))
found["converted"] = float(np.abs(values - expected).mean())

level = acl.media.dvpp_create_jpege_config()
found["levels"] = [acl.media.dvpp_set_jpege_config_level(level, 101), acl.media.dvpp_set_jpege_config_level(level, 95)]
room, _ = check(acl.media.dvpp_jpeg_predict_enc_size(image, level))
out, _ = check(acl.media.dvpp_malloc(room))
size = np.array([room], np.uint32)
size_bytes = size.tobytes()
check(acl.media.dvpp_jpeg_encode_async(channel, image, out, acl.util.bytes_to_ptr(size_bytes), level, stream))
written = int(np.frombuffer(size_bytes, np.uint32)[0])
again = Image.open(io.BytesIO(get(out, written).tobytes()))
found["encoded"] = [written < room, *again.size, mean_difference(planes(again), planes(decoded_by_pillow))]

file = io.BytesIO()
source.save(file, "PNG")
png = file.getvalue()
pointer = put(png)
found["png info"] = acl.media.dvpp_png_get_image_info(pointer, len(png))
target = picture(UNKNOWN, 0, 0, 192, 36, 192 * 36)
check(acl.media.dvpp_png_decode_async(channel, pointer, len(png), target, stream))
whole = get(acl.media.dvpp_get_pic_desc_data(target), 192 * 36).reshape(36, 64, 3)[:, :50]
found["png"] = [acl.media.dvpp_get_pic_desc_format(target), bool((whole == np.asarray(source)).all())]

batch, results = acl.media.dvpp_create_batch_pic_desc(1), acl.media.dvpp_create_batch_pic_desc(2)
values = get(acl.media.dvpp_get_pic_desc_data(image), 128 * 72)
nv12(50, 36, 128, 48, pointer=put(values.tobytes()), desc=acl.media.dvpp_get_pic_desc(batch, 0))
parts = [nv12(20, 12, 32, 12, desc=acl.media.dvpp_get_pic_desc(results, at)) for at in range(2)]
areas = [area, acl.media.dvpp_create_roi_config(0, 19, 0, 11)]
found["batch code"] = acl.media.dvpp_vpc_batch_crop_async(channel, batch, [2], results, areas, stream)[1]
found["batch"] = [mean_difference(pixels(parts[0]), pixels(cut)), mean_difference(pixels(parts[1]), pixels(cut))[0] > 1]

border = acl.media.dvpp_create_border_config()
for side, width in (("top", 2), ("left", 4), ("right", 8)):
    check(getattr(acl.media, f"dvpp_set_border_config_{side}")(border, width))
check(acl.media.dvpp_set_border_config_value(border, 0, 200.0))
framed = nv12(36, 18, 48, 18)
check(acl.media.dvpp_vpc_make_border_async(channel, small, framed, border, stream))
bright, _ = pixels(framed)
found["border"] = [
    bool((bright[:2] == 200).all() and (bright[:, :4] == 200).all()),
    mean_difference([bright[2:, 4:28]], [pixels(small)[0]]),
]


def error(call):
    try:
        return call()
    except (AttributeError, TypeError, ValueError) as caught:
        return f"{type(caught).__name__}: {caught}"


found["errors"] = {
    "no channel": acl.media.dvpp_vpc_resize_async(5, image, small, config, stream),
    "no picture": acl.media.dvpp_vpc_resize_async(channel, 5, small, config, stream),
    "no stream": acl.media.dvpp_vpc_resize_async(channel, image, small, config, 7),
    "outside": acl.media.dvpp_vpc_crop_async(
        channel, image, cut, acl.media.dvpp_create_roi_config(0, 500, 0, 3), stream
    ),
    "no jpeg": [acl.media.dvpp_jpeg_get_image_info(pointer, len(png)), acl.get_recent_err_msg()],
    "video": error(lambda: acl.media.vdec_create_channel_desc()),
    "arguments": error(lambda: acl.media.dvpp_vpc_resize_async(channel, image)),
    "without mark": error(lambda: acl.media.dvpp_jpeg_decode_async(channel)),
    "no list": error(lambda: acl.media.dvpp_vpc_batch_crop_async(channel, batch, 2, results, areas, stream)),
    "no areas": error(lambda: acl.media.dvpp_vpc_batch_crop_async(channel, batch, [], results, areas, stream)),
}
short = picture(NV12, 24, 16, 32, 16, 700)
found["errors"]["too small"] = [
    acl.media.dvpp_vpc_resize_async(channel, image, short, config, stream),
    acl.get_recent_err_msg(),
]
strange = picture(40, 24, 16, 32, 16, 32 * 24)
found["errors"]["format"] = [
    acl.media.dvpp_vpc_resize_async(channel, image, strange, config, stream),
    acl.get_recent_err_msg(),
]
found["closed"] = [acl.media.dvpp_destroy_channel(channel), acl.media.dvpp_destroy_channel(channel)]
found["given up"] = [acl.media.dvpp_destroy_pic_desc(image), acl.media.dvpp_destroy_pic_desc(image)]
check(acl.finalize())
print("found=" + json.dumps(found))
