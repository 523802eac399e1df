"""What each setting of images changes, against the formulas of the compiler's guide."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).with_name("image_settings.py")
PLAIN: Mapping[str, Any] = {
    "aipp_set_input_format": "RGB888_U8",
    "aipp_set_src_image_size": [5, 4],
    "aipp_set_max_batch_size": 2,
    "aipp_set_rbuv_swap_switch": 0,
    "aipp_set_ax_swap_switch": 0,
    "aipp_set_csc_params": [0] * 16,
    "aipp_set_crop_params": [0] * 5,
    "aipp_set_padding_params": [0] * 5,
    "aipp_set_dtc_pixel_mean": [0] * 4,
    "aipp_set_dtc_pixel_min": [0.0] * 4,
    "aipp_set_pixel_var_reci": [1.0] * 4,
}
CHANGES: list[Mapping[str, Any]] = [
    PLAIN,
    {"aipp_set_input_format": "XRGB8888_U8"},
    {"aipp_set_input_format": "XRGB8888_U8", "aipp_set_ax_swap_switch": 1},
    {"aipp_set_rbuv_swap_switch": 1},
    {"aipp_set_csc_params": [1, 256, 0, 359, 256, -88, -183, 256, 454, 0, 7, 0, 3, 0, 128, 128]},
    {"aipp_set_src_image_size": [8, 6], "aipp_set_crop_params": [1, 2, 1, 5, 4]},
    {"aipp_set_src_image_size": [3, 3], "aipp_set_padding_params": [1, 1, 0, 0, 2]},
    {"aipp_set_dtc_pixel_mean": [10, 20, 30, 0]},
    {"aipp_set_dtc_pixel_min": [0.5, 0.0, 1.0, 0.0]},
    {"aipp_set_pixel_var_reci": [0.25, 0.5, 2.0, 1.0]},
]


def prepared(changes: Mapping[str, Any]) -> np.ndarray:
    """Return two images as the unit prepares them: channels, colours, crop, mean and factor, padding."""
    settings = {name.removeprefix("aipp_set_"): value for name, value in {**PLAIN, **changes}.items()}
    width, height = settings["src_image_size"]
    depth = {"RGB888_U8": 3, "XRGB8888_U8": 4}[settings["input_format"]]
    raw = (np.arange(1000) * 53 % 256)[: 2 * height * width * depth].reshape(2, height, width, depth)
    pixels = raw[..., 1:] if depth == 4 and settings["ax_swap_switch"] else raw[..., :3]
    if settings["rbuv_swap_switch"]:
        pixels = pixels[..., ::-1]
    switch, *csc = settings["csc_params"]
    if switch:
        matrix, output, source = np.array(csc[:9]).reshape(3, 3), np.array(csc[9:12]), np.array(csc[12:])
        pixels = (((pixels - source) @ matrix.T >> 8) + output).clip(0, 255)
    switch, left, top, width, height = settings["crop_params"]
    if switch:
        pixels = pixels[:, top : top + height, left : left + width]
    mean, least, factor = (
        np.array(settings[each][:3]) for each in ("dtc_pixel_mean", "dtc_pixel_min", "pixel_var_reci")
    )
    image = ((pixels - mean - least) * factor).transpose(0, 3, 1, 2)
    switch, above, below, before, behind = settings["padding_params"]
    return np.pad(image, ((0, 0), (0, 0), (above, below), (before, behind))) if switch else image


@pytest.mark.slow
def test_every_setting_changes_the_images_of_the_next_runs(programs: Any, models: Any) -> None:
    folder = programs.folder()
    models.save(models.copies(image=("float32", [2, 3, 4, 5])), folder / "images.onnx")
    (folder / "aipp.cfg").write_text("aipp_op {\n aipp_mode: dynamic\n max_src_image_size: 1000\n}\n")
    (folder / "images.atc").write_text('atc --input_shape="image:2,3,4,5" --insert_op_conf=aipp.cfg')

    ran = programs(SCRIPT, json.dumps(CHANGES), folder=folder)
    assert ran.printed("count") == [1, 0]
    unchecked, plain = ran.printed("unchecked")
    assert "acl.mdl.set_input_aipp was not called" in unchecked
    assert "the model has no dynamic aipp input" in plain
    images = [np.array(each) for each in ran.printed("images")]
    for changed, image in zip(CHANGES, images, strict=True):
        np.testing.assert_array_equal(image, prepared(changed), err_msg=str(changed))
    assert len({image.tobytes() for image in images}) == len(images), "each setting counts"
    assert (ran.printed("not_yet"), ran.printed("now")) == (True, False)
    one, none = ran.printed("batches")
    assert "ModelProcess::SetInputAIPP failed" in one
    assert "batch 0 is not allowed; allowed: 1 to 65536" in none
