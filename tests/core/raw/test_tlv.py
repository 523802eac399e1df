"""FRAMEWORK files: bytes, round trips, cut and foreign records (torch_npu_profiler.md 3.7)."""

from __future__ import annotations

import stat
import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu import OutputError, RawFormatError
from drynpu.layouts import framework_torch as torch_facts
from drynpu.layouts.framework_torch import FrameworkRecord, OpRangeField
from drynpu.raw import hash_text, read_flat, read_tlv, write_flat, write_tlv

LAYOUTS = [torch_facts.OP_RANGE, torch_facts.OP_MARK, torch_facts.MEMORY_USAGE, torch_facts.HASH_KEY]
TEXTS = st.lists(st.dictionaries(st.integers(0, 0xFFFF), st.text()), max_size=5)


def records_of(dtype: np.dtype[np.void], count: int, seed: int) -> npt.NDArray[np.void]:
    raw = np.random.default_rng(seed).integers(0, 256, (count, dtype.itemsize), np.uint8)
    if "is_async" in (dtype.names or ()):
        raw[:, 57] &= 1
    return np.frombuffer(raw.tobytes(), dtype)


def texts_per_record(text_index: npt.NDArray[np.int64], texts: object) -> list[dict[int, str]]:
    assert isinstance(texts, (list, tuple))
    return [dict(texts[i]) if i >= 0 else {} for i in text_index.tolist()]


def test_op_range_bytes(tmp_path: Path) -> None:
    fixed = np.zeros(1, torch_facts.OP_RANGE)
    fixed[0] = (0x1112, 0x2122, -1, 3, 4, 5, 6, 7, True)
    texts = [{OpRangeField.NAME: "aten::add", OpRangeField.INPUT_SHAPES: "4,8;"}]
    write_tlv(tmp_path / "torch.op_range", FrameworkRecord.OP_RANGE, fixed, [0], texts)
    assert (tmp_path / "torch.op_range").read_bytes() == (
        b"\x01\x00"  # record type
        b"\x53\x00\x00\x00"  # 58 + (6 + 9) + (6 + 4) = 83
        b"\x12\x11\x00\x00\x00\x00\x00\x00"
        b"\x22\x21\x00\x00\x00\x00\x00\x00"
        b"\xff\xff\xff\xff\xff\xff\xff\xff"
        b"\x03\x00\x00\x00\x00\x00\x00\x00"
        b"\x04\x00\x00\x00\x00\x00\x00\x00"
        b"\x05\x00\x00\x00\x00\x00\x00\x00"
        b"\x06\x00\x00\x00\x00\x00\x00\x00"
        b"\x07"
        b"\x01"
        b"\x02\x00\x09\x00\x00\x00aten::add"
        b"\x04\x00\x04\x00\x00\x004,8;"
    )


@given(st.sampled_from(LAYOUTS), TEXTS, st.lists(st.integers(-1, 4), min_size=1, max_size=30), st.integers(0, 99))
def test_round_trip(dtype: np.dtype[np.void], texts: list[dict[int, str]], index: list[int], seed: int) -> None:
    index = [min(i, len(texts) - 1) for i in index]
    fixed = records_of(dtype, len(index), seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "records"
        write_tlv(path, 3, fixed, index, texts)
        found = read_tlv(path, dtype, record_type=3)
    assert found.notes == ()
    assert found.fixed.tobytes() == fixed.tobytes()
    assert texts_per_record(found.text_index, found.texts) == texts_per_record(np.array(index), texts)
    assert len({tuple(sorted(entry.items())) for entry in found.texts}) <= len(texts)


@given(st.data())
def test_cut_tail_at_every_byte(data: st.DataObject) -> None:
    """Whatever is cut off, the whole records before it come back and the rest is noted."""
    texts = [{2: "aten::mm", 3: "float;float"}, {2: "å — 加法", 4: ""}]
    index = np.array(data.draw(st.lists(st.integers(-1, 1), min_size=1, max_size=3)))
    fixed = records_of(torch_facts.OP_RANGE, len(index), 1)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "torch.op_range"
        write_tlv(path, 1, fixed, index, texts)
        content = path.read_bytes()
        ends = [0]
        while ends[-1] < len(content):
            ends.append(ends[-1] + 6 + struct.unpack_from("<I", content, ends[-1] + 2)[0])
        for size in range(len(content) + 1):
            path.write_bytes(content[:size])
            found = read_tlv(path, torch_facts.OP_RANGE)
            whole = sum(end <= size for end in ends) - 1
            assert found.fixed.tobytes() == fixed[:whole].tobytes()
            assert texts_per_record(found.text_index, found.texts) == texts_per_record(index[:whole], texts)
            assert bool(found.notes) == (size not in ends)


def test_many_records_cross_the_chunks(tmp_path: Path) -> None:
    count = 70_000
    fixed = np.zeros(count, torch_facts.OP_MARK)
    fixed["correlation_id"] = np.arange(count)
    index = np.arange(count) % 4 - 1
    write_tlv(tmp_path / "m", 2, fixed, index, [{1: "a"}, {1: "bb"}, {1: ""}])
    found = read_tlv(tmp_path / "m", torch_facts.OP_MARK)
    assert (found.fixed == fixed).all()
    names = [found.texts[i].get(1, "?") if i >= 0 else None for i in found.text_index[:8].tolist()]
    assert names == [None, "a", "bb", "", None, "a", "bb", ""]


def test_strided_records_are_written_in_order(tmp_path: Path) -> None:
    fixed = records_of(torch_facts.MEMORY_USAGE, 10, 5)
    write_tlv(tmp_path / "m", 3, fixed[::-2])
    assert read_tlv(tmp_path / "m", torch_facts.MEMORY_USAGE).fixed.tobytes() == fixed[::-2].tobytes()


def test_absent_and_empty_texts_differ(tmp_path: Path) -> None:
    write_tlv(tmp_path / "m", 2, np.zeros(2, torch_facts.OP_MARK), [0, 1], [{}, {1: ""}])
    found = read_tlv(tmp_path / "m", torch_facts.OP_MARK)
    assert texts_per_record(found.text_index, found.texts) == [{}, {1: ""}]


def test_foreign_and_short_records_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "torch.op_mark"
    good = struct.pack("<HI", 2, 40) + bytes(40)
    path.write_bytes(struct.pack("<HI", 9, 40) + bytes(40) + struct.pack("<HI", 2, 3) + bytes(3) + good)
    found = read_tlv(path, torch_facts.OP_MARK, record_type=2)
    assert len(found.fixed) == 1
    assert len(found.notes) == 2
    assert all("torch.op_mark: 1 records" in note for note in found.notes)


def test_text_fields_beyond_their_record_and_wrong_utf8_are_noted(tmp_path: Path) -> None:
    fields = struct.pack("<HI", 1, 2) + b"\xff\xfe" + struct.pack("<HI", 2, 99) + b"x"
    path = tmp_path / "m"
    path.write_bytes(struct.pack("<HI", 2, 40 + len(fields)) + bytes(40) + fields)
    found = read_tlv(path, torch_facts.OP_MARK)
    assert found.texts == ({1: "\ufffd\ufffd"},)
    assert [note.split(": ")[1].split(" that")[0] for note in found.notes] == ["text", "text fields"]


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    fixed = np.zeros(2, torch_facts.OP_MARK)
    with pytest.raises(RawFormatError, match=r"shape \(1,\): there are 2 records"):
        write_tlv(tmp_path / "m", 2, fixed, [0], [{}])
    with pytest.raises(RawFormatError, match="text_index holds 1: allowed are -1"):
        write_tlv(tmp_path / "m", 2, fixed, [0, 1], [{}])
    with pytest.raises(RawFormatError, match="text field 65536"):
        write_tlv(tmp_path / "m", 2, fixed, [0, 0], [{65536: "x"}])
    with pytest.raises(OutputError, match="Cannot write"):
        write_tlv(tmp_path / "missing" / "m", 2, fixed)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_for_no_records(tmp_path: Path) -> None:
    write_tlv(tmp_path / "m", 2, np.zeros(0, torch_facts.OP_MARK))
    write_flat(tmp_path / "f", np.zeros(0, torch_facts.GC_RECORD))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match="framework's host side"):
        read_tlv(tmp_path / "m", torch_facts.OP_MARK)


@pytest.mark.parametrize("dtype", [torch_facts.PYTHON_TRACER_FUNC, torch_facts.GC_RECORD])
def test_flat_files(tmp_path: Path, dtype: np.dtype[np.void]) -> None:
    path = tmp_path / "flat"
    records = records_of(dtype, 3, 2)
    write_flat(path, records)
    content = path.read_bytes()
    assert content == records.tobytes()
    assert stat.S_IMODE(path.stat().st_mode) & ~0o640 == 0
    for size in range(len(content) + 1):
        path.write_bytes(content[:size])
        found = read_flat(path, dtype)
        assert found.fixed.tobytes() == records[: size // dtype.itemsize].tobytes()
        assert bool(found.notes) == bool(size % dtype.itemsize)


def test_half_surrogates_do_not_stop_a_run(tmp_path: Path) -> None:
    write_tlv(tmp_path / "m", 2, np.zeros(1, torch_facts.OP_MARK), [0], [{1: "a\ud800b"}])
    assert read_tlv(tmp_path / "m", torch_facts.OP_MARK).texts == ({1: "a?b"},)


@given(st.text())
def test_text_ids(text: str) -> None:
    assert 0 < hash_text(text) < 2**64
    assert hash_text(text) == hash_text(text)
    assert hash_text(text) != hash_text(text + "x")


def test_text_ids_are_the_same_in_every_process() -> None:
    assert hash_text("MatMulV3") == 0x3FF4AB3710376DA5
