"""What describes images keeps its fields; parts of images are cut, scaled and pasted, one or many, as NumPy does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("descriptions.py")


@pytest.fixture(scope="module")
def found(programs: Any) -> dict[str, Any]:
    answer: dict[str, Any] = programs(SCRIPT).printed("found")
    return answer


@pytest.mark.parametrize(
    ("kind", "count"), [("picture", 8), ("stream", 6), ("border", 5), ("scaling", 1), ("encoding", 1)]
)
def test_descriptions_keep_their_fields_until_they_are_given_up(found: dict[str, Any], kind: str, count: int) -> None:
    values, ends, forgotten, late = found[kind]
    assert values == list(range(1, count + 1)), "each field has its own value"
    assert (ends, forgotten, late) == ([0, 100000], True, 100000)


def test_channels_areas_and_memory(found: dict[str, Any]) -> None:
    assert found["channels"] == [0, 1]
    assert found["modes"] == [0, 100000]
    assert found["channel given up"] == [0, 100000]
    assert found["png"] == [256 * 32 * 3, 0], "rows of whole 128 pixels, and whole 16 rows"
    assert found["value"] == [0.0, 2.5]
    assert found["area"] == [0, 100000]
    assert found["memory"] == [0, 107000]


def test_parts_are_scaled_and_pasted(found: dict[str, Any]) -> None:
    assert found["crop resize"]
    assert found["crop resize paste"]


def test_batches(found: dict[str, Any]) -> None:
    assert found["batches"] == [True] * 4
    assert found["batch"] == [0, 0, 0], "there is one picture, and none when the batch is given up"
