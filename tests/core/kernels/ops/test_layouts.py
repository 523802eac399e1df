"""Blocked formats, as the kernel tables of measured profiles list them (device_and_cost_model.md 3, 4)."""

from __future__ import annotations

import pytest

from drynpu.kernels import TensorDesc
from drynpu.kernels.ops import blocked_image, channels_block, fractal_weight, is_image, plain_image


@pytest.mark.parametrize(("dtype", "c0"), [("FLOAT", 8), ("FLOAT16", 16), ("DT_BF16", 16), ("INT8", 16)])
def test_channels_stand_in_blocks(dtype: str, c0: int) -> None:
    assert channels_block(dtype) == c0


@pytest.mark.parametrize(
    ("shape", "dtype", "channels_first", "blocked"),
    [
        ((2, 3, 5, 7), "FLOAT", True, (2, 1, 5, 7, 8)),
        ((2, 17, 5, 7), "FLOAT", True, (2, 3, 5, 7, 8)),
        ((2, 5, 7, 17), "FLOAT16", False, (2, 2, 5, 7, 16)),
    ],
)
def test_images(shape: tuple[int, ...], dtype: str, channels_first: bool, blocked: tuple[int, ...]) -> None:
    image = TensorDesc(shape, dtype)
    assert blocked_image(image, channels_first=channels_first) == TensorDesc(blocked, dtype, "NC1HWC0")
    assert plain_image(image, channels_first=channels_first).format == ("NCHW" if channels_first else "NHWC")


def test_volumes_keep_their_depth_before_the_blocks() -> None:
    volume = TensorDesc((2, 9, 4, 5, 6), "FLOAT")
    assert blocked_image(volume) == TensorDesc((2, 4, 2, 5, 6, 8), "FLOAT", "NDC1HWC0")
    assert plain_image(volume).format == "NCDHW"
    last = TensorDesc((2, 4, 5, 6, 9), "FLOAT")
    assert blocked_image(last, channels_first=False) == blocked_image(volume)
    assert plain_image(last, channels_first=False).format == "NDHWC"


@pytest.mark.parametrize(
    ("shape", "dtype", "order", "depthwise", "fractal"),
    [
        ((20, 9, 3, 2), "FLOAT", "NCHW", False, (2 * 6, 2, 16, 8)),
        ((20, 9, 3, 2), "FLOAT16", "NCHW", False, (1 * 6, 2, 16, 16)),
        ((3, 2, 9, 20), "FLOAT", "HWCN", False, (2 * 6, 2, 16, 8)),
        ((3, 2, 9, 1), "FLOAT", "HWCN", True, (1 * 6, 1, 16, 8)),
        ((33, 1, 3, 3), "FLOAT16", "NCHW", True, (9, 3, 16, 16)),
        ((20, 9, 2, 3, 4), "FLOAT", "NCHW", False, (2 * 24, 2, 16, 8)),
        ((2, 3, 4, 9, 20), "FLOAT", "HWCN", False, (2 * 24, 2, 16, 8)),
    ],
)
def test_weights(shape: tuple[int, ...], dtype: str, order: str, depthwise: bool, fractal: tuple[int, ...]) -> None:
    weight = TensorDesc(shape, dtype)
    layout = "FRACTAL_Z_3D" if len(shape) == 5 else "FRACTAL_Z"
    assert fractal_weight(weight, order=order, depthwise=depthwise) == TensorDesc(fractal, dtype, layout)


def test_an_image_has_four_dims() -> None:
    assert is_image((1, 2, 3, 4))
    assert not is_image((2, 3, 4))
