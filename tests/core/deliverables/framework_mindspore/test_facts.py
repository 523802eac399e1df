"""MindSpore's FRAMEWORK records: layouts against the struct formats of the reference, and there and back."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drynpu.deliverables.framework_mindspore import facts as mindspore_facts
from drynpu.deliverables.framework_mindspore.facts import MS_EVENTS, MS_MODULES, MS_STAGES
from drynpu.raw import read_tlv, write_tlv

LAYOUTS = {"MS_OP_RANGE": "<5Qi3Hb3?", "MS_MEMORY_USAGE": "<i11QI4B", "MS_RECORD_SHAPES": ""}
TEXTS = st.dictionaries(st.integers(0, 20), st.text(st.characters(codec="utf-8"), max_size=12), max_size=3)


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_are_those_of_the_reference(name: str) -> None:
    dtype, format_ = getattr(mindspore_facts, name), LAYOUTS[name]
    assert dtype.itemsize == struct.calcsize(format_)
    if dtype.itemsize:
        raw = bytes(range(1, dtype.itemsize + 1))
        fixed = np.frombuffer(raw, dtype)[0]
        flags = {field for field in dtype.names or () if dtype[field].kind == "b"}
        told = struct.unpack(format_, raw)
        assert [bool(value) if field in flags else value for field, value in zip(dtype.names, told, strict=True)] == [
            value.item() for value in fixed
        ]


def test_words_stand_where_the_reference_counts_them() -> None:
    assert (len(MS_MODULES), len(MS_STAGES), len(MS_EVENTS)) == (8, 10, 69)
    assert MS_EVENTS.index("KernelLaunch") == 4
    assert MS_EVENTS.index("PythonObserved") == 53
    assert MS_EVENTS[5] == "KernelLaunckCallback"
    assert MS_STAGES.index("SyncStream") == 9


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
