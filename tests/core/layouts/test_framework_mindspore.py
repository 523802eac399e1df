"""MindSpore's FRAMEWORK records against mindspore_profiler.md 11: layouts, words, numbers; and there and back."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drynpu.layouts import framework_mindspore as mindspore_facts
from drynpu.layouts.framework_mindspore import MS_EVENTS, MS_MODULES, MS_STAGES
from drynpu.raw import read_tlv, write_tlv

PAGE = (Path(__file__).parents[3] / "docs" / "formats" / "mindspore_profiler.md").read_text(encoding="utf-8")
PAGE = PAGE[PAGE.index("\n## 11.") : PAGE.index("\n## 12.")]
LAYOUTS = {"MS_OP_RANGE": "<5Qi3Hb3?", "MS_MEMORY_USAGE": "<i11QI4B", "MS_RECORD_SHAPES": ""}
TEXTS = st.dictionaries(st.integers(0, 20), st.text(st.characters(codec="utf-8"), max_size=12), max_size=3)


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_are_those_of_the_reference(name: str, fits: Callable[[np.dtype[np.void], str], bool]) -> None:
    """Bytes above 127 tell signed from unsigned numbers."""
    dtype, format_ = getattr(mindspore_facts, name), LAYOUTS[name]
    assert fits(dtype, format_)
    assert f"`{format_}`" in PAGE or not format_
    if dtype.itemsize:
        raw = bytes(range(0x81, 0x81 + dtype.itemsize))
        values = [value.item() for value in np.frombuffer(raw, dtype)[0]]
        assert values == list(struct.unpack(format_, raw))


def listed(title: str) -> tuple[str, ...]:
    """Return the words of a list of the page, without the remarks in brackets."""
    text = PAGE.split(f"{title} list", 1)[1].split(":", 1)[1].split(".", 1)[0]
    return tuple(word.split()[0] for word in text.split(","))


def test_words_are_those_of_the_page_in_its_order() -> None:
    assert listed("Module") == MS_MODULES
    assert listed("Stage") == MS_STAGES
    assert listed("Event") == MS_EVENTS
    assert (len(MS_MODULES), len(MS_STAGES), len(MS_EVENTS)) == (8, 10, 69)


def test_text_fields_have_the_numbers_of_the_page() -> None:
    text = " ".join(PAGE.split())
    assert "Strings: 13 name, 14 full name, 15 module (graph), 16 event (graph), 17 custom info" in text
    fields = {field.name: int(field) for field in mindspore_facts.MsOpRangeField}
    assert fields == {"NAME": 13, "FULL_NAME": 14, "MODULE": 15, "EVENT": 16, "CUSTOM_INFO": 17}
    assert "string field 13 = owner op name" in text
    assert [int(field) for field in mindspore_facts.MsMemoryField] == [13]
    assert "fields 0 name, 1 input shapes, 2 input type" in text
    shapes = {field.name: int(field) for field in mindspore_facts.MsShapesField}
    assert shapes == {"NAME": 0, "INPUT_SHAPES": 1, "INPUT_TYPES": 2}


def test_no_flow_and_a_release_are_all_bits() -> None:
    """Section 11: "flow id 2^64-1 = no flow", "size 2^64-1 marks a free"."""
    assert np.uint64(mindspore_facts.MS_ABSENT).tobytes() == b"\xff" * 8


@pytest.mark.parametrize("name", LAYOUTS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_records_come_back(name: str, data: st.DataObject, tmp_path: Path) -> None:
    dtype: np.dtype[Any] = getattr(mindspore_facts, name)
    count = data.draw(st.integers(1, 6))
    raw = data.draw(st.binary(min_size=dtype.itemsize * count, max_size=dtype.itemsize * count))
    if dtype.itemsize:
        # Flags are 0 or 1 on disk.
        fixed = np.frombuffer(raw, dtype).copy()
        for field in dtype.names or ():
            if dtype[field].kind == "b":
                fixed[field] = np.frombuffer(raw, np.uint8)[:count] % 2
    else:
        fixed = np.zeros(count, dtype)
    texts = data.draw(st.lists(TEXTS.filter(bool), min_size=1, max_size=4, unique_by=repr))
    index = data.draw(st.lists(st.integers(-1, len(texts) - 1), min_size=count, max_size=count))
    path = tmp_path / "records"
    write_tlv(path, 1, fixed, index, texts)
    found = read_tlv(path, dtype)
    assert found.notes == ()
    assert found.fixed.tobytes() == fixed.tobytes()
    assert len(found.fixed) == count
    shown = [found.texts[row] if row >= 0 else {} for row in found.text_index.tolist()]
    assert shown == [texts[row] if row >= 0 else {} for row in index]
