"""Pixels in memory: every format holds what was written, at its place, and colours equal Pillow's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from drynpu_offline_inference.media._formats import LAYOUTS, NV12, RGB_888, Colour
from drynpu_offline_inference.media._pixels import Pixels, read_pixels, write_pixels

ROUNDING = 1


def drawn(colour: Colour, width: int, height: int, seed: int = 0) -> Pixels:
    """Return an image whose every pair of rows and columns has one colour."""
    channels = 1 if colour is Colour.GREY else 3
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (-(-height // 2), -(-width // 2), channels), np.uint8)
    values = coarse.repeat(2, 0).repeat(2, 1)[:height, :width].copy()
    values[:, :, 0] = rng.integers(0, 256, (height, width), np.uint8)
    return Pixels(colour, values)


@given(st.sampled_from(sorted(LAYOUTS)), st.integers(1, 9), st.integers(1, 7), st.integers(0, 3), st.integers(0, 2))
def test_what_was_written_is_read(number: int, width: int, height: int, wider: int, lower: int) -> None:
    layout = LAYOUTS[number]
    stride, rows = layout.stride(width) + 16 * layout.samples * wider, -(-height // 2) * 2 + 2 * lower
    memory = np.full(layout.size(stride, rows) + 5, 77, np.uint8)
    image = drawn(layout.colour, width, height)
    write_pixels(image, memory, layout, stride, rows)
    assert (memory[-5:] == 77).all()
    found = read_pixels(memory, layout, width, height, stride, rows)
    assert found.colour is layout.colour
    np.testing.assert_array_equal(found.values, image.values)


@pytest.mark.parametrize(
    ("number", "first"), [(12, [1, 2, 3]), (13, [3, 2, 1]), (14, [255, 1, 2, 3]), (17, [3, 2, 1, 255])]
)
def test_red_green_and_blue_stand_in_the_order_of_the_format(number: int, first: list[int]) -> None:
    layout = LAYOUTS[number]
    memory = np.zeros(layout.size(layout.stride(1), 2), np.uint8)
    write_pixels(Pixels(Colour.RGB, np.array([[[1, 2, 3]]], np.uint8)), memory, layout, layout.stride(1), 2)
    assert memory[: len(first)].tolist() == first


@pytest.mark.parametrize(
    ("number", "places"),
    [(1, (32, 33)), (2, (33, 32)), (7, (1, 3)), (8, (0, 2)), (9, (3, 1)), (10, (2, 0)), (11, (1, 2))],
)
def test_u_and_v_stand_where_the_format_has_them(number: int, places: tuple[int, int]) -> None:
    layout = LAYOUTS[number]
    memory = np.zeros(layout.size(layout.stride(2), 2), np.uint8)
    image = np.array([[[10, 100, 200]] * 2] * 2, np.uint8)
    write_pixels(Pixels(Colour.YUV, image), memory, layout, layout.stride(2), 2)
    assert [int(memory[place]) for place in places] == [100, 200]


def test_nv12_shares_the_mean_of_four_colours() -> None:
    layout = LAYOUTS[NV12]
    image = np.zeros((2, 2, 3), np.uint8)
    image[:, :, 1], image[:, :, 2] = [[10, 20], [30, 60]], [[1, 2], [3, 2]]
    memory = np.zeros(layout.size(16, 2), np.uint8)
    write_pixels(Pixels(Colour.YUV, image), memory, layout, 16, 2)
    assert memory[32:34].tolist() == [30, 2]


def test_colours_are_converted_as_pillow_does() -> None:
    image = drawn(Colour.RGB, 9, 7, seed=4)
    yuv = image.converted(Colour.YUV)
    expected = np.asarray(Image.fromarray(image.values, "RGB").convert("YCbCr")).astype(int)
    assert np.abs(yuv.values.astype(int) - expected).max() <= ROUNDING
    back = np.asarray(Image.fromarray(yuv.values, "YCbCr").convert("RGB")).astype(int)
    assert np.abs(yuv.converted(Colour.RGB).values.astype(int) - back).max() <= ROUNDING
    assert image.converted(Colour.GREY).values.shape == (7, 9, 1)
    assert (image.converted(Colour.GREY).converted(Colour.YUV).values[:, :, 1:] == 128).all()


def test_a_part_is_written_where_it_belongs_and_the_rest_stays() -> None:
    layout = LAYOUTS[NV12]
    memory = np.full(layout.size(16, 8), 9, np.uint8)
    write_pixels(Pixels(Colour.YUV, np.full((2, 4, 3), 200, np.uint8)), memory, layout, 16, 8, (6, 2))
    bright, colours = memory[:128].reshape(8, 16), memory[128:].reshape(4, 16)
    assert (bright[2:4, 6:10] == 200).all()
    assert (colours[1, 6:10] == 200).all()
    assert (bright == 200).sum() == 8
    assert (colours == 200).sum() == 4


def test_rows_of_packed_formats_have_room_for_sixteen_pixels() -> None:
    assert LAYOUTS[RGB_888].stride(17) == 96
    assert LAYOUTS[RGB_888].size(96, 2) == 192
    assert LAYOUTS[3].size(32, 4) == 256
