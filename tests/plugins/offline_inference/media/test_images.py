"""Programs decode, cut, scale, convert and encode images; results are compared with Pillow's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("images.py")
SMALL, LOSSY, SHARED = 1.0, 2.5, 4.0
"""Mean differences of a byte: of roundings, of a file that was encoded again, of colours that four pixels share."""


@pytest.fixture(scope="module")
def found(programs: Any) -> dict[str, Any]:
    answer: dict[str, Any] = programs(SCRIPT).printed("found")
    return answer


def test_files_say_their_size(found: dict[str, Any]) -> None:
    assert found["mode before init"] == [1, 0]
    assert found["info"] == [50, 36, 3, 0]
    assert found["info v2"] == [50, 36, 3, 2, 0]  # ACL_JPEG_CSS_420
    assert found["png info"] == [50, 36, 3, 0]
    assert found["room"] == [128 * 48 * 3 // 2, 0]


def test_decoding_and_encoding(found: dict[str, Any]) -> None:
    assert found["decoded size"] == [50, 36]
    assert max(found["decoded"]) < SMALL
    fits, width, height, difference = found["encoded"]
    assert (fits, width, height) == (True, 50, 36)
    assert max(difference) < LOSSY
    assert found["png"] == [12, True]
    assert found["levels"] == [100000, 0]


def test_scaling_cutting_and_converting(found: dict[str, Any]) -> None:
    assert max(found["resized"]) < LOSSY
    assert max(found["cut"]) < SMALL
    assert found["converted"] < SHARED
    assert found["batch code"] == 0
    same, differs = found["batch"]
    assert max(same) < SMALL
    assert differs


def test_a_part_is_pasted_and_the_rest_stays(found: dict[str, Any]) -> None:
    assert found["pasted"] == [0.0, 0.0]
    assert found["around"] == [40 * 20 - 20 * 12, 20 * 10 - 10 * 6]
    constant, (inside,) = found["border"]
    assert constant
    assert inside == 0.0


def test_errors_have_codes_and_reasons(found: dict[str, Any]) -> None:
    errors = found["errors"]
    assert [errors[name] for name in ("no channel", "no picture", "outside")] == [100000] * 3
    assert errors["no stream"] == 107017
    assert errors["no jpeg"] == [[0, 0, 0, 500000], "acl.media: this is no JPEG file"]
    assert errors["video"].startswith("AttributeError: module 'acl.media' has no attribute 'vdec_create_channel_desc'")
    assert "video" in errors["video"]
    assert errors["arguments"] == "TypeError: acl.media.dvpp_vpc_resize_async args parse failed!"
    assert errors["without mark"] == "TypeError: acl.media.dvpp_jpeg_decode_async args parse failed"
    assert errors["no list"] == "TypeError: argument 3 or 5 is not list"
    assert errors["no areas"] == "ValueError: number of crop areas must be between 1 and 256"
    assert errors["too small"] == [100000, "acl.media: the picture needs 768 bytes at its pointer; its size is 700"]
    assert errors["format"] == [100000, "acl.media: pixel format 40 is not simulated; 0 to 17 are"]
    assert found["opened twice"] == 100000
    assert found["closed"] == found["given up"] == [0, 100000]
