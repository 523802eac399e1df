"""PROF directories: names, files, slices, and reading them back (cann_msprof.md 2 and 7)."""

from __future__ import annotations

import os
import random
import re
import stat
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu import OutputError, RawFormatError
from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.raw import ProfReader, ProfWriter, hash_text, prof_directory_name

NOW = datetime(2022, 1, 29, 1, 47, 31, 273_999)

FEW_VALUES = {
    "npu_mem": {"event": 2},
    "npu_mem_2": {"event": 2},
    "lpm_freq": {"count": 55},
    "lpm_info": {"count": 55, "type": 3},
    "hbm": {"event": 2, "hbm_id": 4},
    "hbm_2": {"event": 2, "hbm_id": 4, "monotonic_ns": 1 << 58},
    "ddr": {"event": 2, "ddr_id": 8},
    "llc": {"event": 0x38, "l3t_id": 20},
    "llc_2": {"event": 0x38, "l3t_id": 20, "monotonic_ns": 1 << 58},
    "pcie": {"device_id": 64},
    "l2_cache": {"task_type": 21},
    "soc_pmu": {"data_type": 5},
    "soc_pmu_v6": {"data_type": 5},
    "ai_core_sample": {"event_count": 9},
    "ai_vector_core_sample": {"event_count": 9},
    "ffts_core_sample": {"event_count": 9},
    "ffts_core_sample_v6": {"event_count": 11},
}
"""How many values fields have by which the reader finds record bounds."""


def new_writer(parent: Path, slice_bytes: int = 1 << 20) -> ProfWriter:
    return ProfWriter.create(
        parent, RECORD_KINDS, index=0, pid=4321, now=NOW, rng=random.Random(7), slice_bytes=slice_bytes
    )


def some_records(name: str, count: int, seed: int = 0) -> npt.NDArray[np.void]:
    """Records with chance values in every field that is not constant, and in the bytes between fields."""
    entry = RECORD_KINDS.record(name)
    raw = np.random.default_rng(seed).integers(0, 256, (count, entry.dtype.itemsize), np.uint8)
    records = np.frombuffer(raw.tobytes(), entry.dtype).copy()
    for field, value in entry.constants.items():
        records[field] = value
    for field, values in FEW_VALUES.get(name, {}).items():
        records[field] = records[field] % values + (1 if field == "count" else 0)
    if entry.running is not None:
        field, shift = entry.running
        records[field] = records[field] & (~(0xF << shift) & 0xFF) | (np.arange(count) & 0xF) << shift
    return records


def device_of(name: str) -> int | None:
    return 3 if RECORD_KINDS.record(name).side == "device" else None


def data_directory(writer: ProfWriter, name: str) -> Path:
    return writer.path / ("device_3" if RECORD_KINDS.record(name).side == "device" else "host") / "data"


def same(found: npt.NDArray[np.void], expected: npt.NDArray[np.void]) -> bool:
    return found.dtype == expected.dtype and bool((found == expected).all()) and len(found) == len(expected)


def test_directory_name_rule() -> None:
    name = prof_directory_name(0, 1029, NOW, random.Random(0))
    assert re.fullmatch(r"PROF_000001_20220129014731273_AAAABACJ[A-R]{8}", name)
    assert prof_directory_name(999_999, 1, NOW, random.Random(0)).startswith("PROF_000001_")
    assert prof_directory_name(41, 123_456_789, NOW, random.Random(0)).split("_")[3][:8] == "CDEFGHIJ"
    assert re.match(r"^PROF_\d+_\d+_[0-9a-zA-Z]+", name)


def test_directory_name_is_reproducible_and_takes_zoned_times() -> None:
    assert prof_directory_name(0, 1, NOW, random.Random(5)) == prof_directory_name(0, 1, NOW, random.Random(5))
    assert prof_directory_name(0, 1, NOW, random.Random(5)) != prof_directory_name(0, 1, NOW, random.Random(6))
    zoned = NOW.astimezone().astimezone(timezone.utc)
    assert prof_directory_name(0, 1, zoned, random.Random(5)) == prof_directory_name(0, 1, NOW, random.Random(5))


def test_two_writers_never_share_a_directory(tmp_path: Path) -> None:
    first, second = new_writer(tmp_path), new_writer(tmp_path)
    assert first.path != second.path
    assert second.path.is_dir()


def test_modes_respect_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        tight = new_writer(tmp_path / "tight")
        tight.write("api_event", some_records("api_event", 1))
        os.umask(0)
        loose = new_writer(tmp_path / "loose")
        loose.write("stars_soc", some_records("stars_soc", 1), 0)
    finally:
        os.umask(before)
    for writer, directory_mode, file_mode in ((tight, 0o700, 0o600), (loose, 0o750, 0o640)):
        for path in (writer.path.parent, writer.path, *writer.path.rglob("*")):
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode == (directory_mode if path.is_dir() else file_mode), path


@pytest.mark.parametrize("name", RECORD_KINDS.records)
def test_file_names_done_marks_and_slices(tmp_path: Path, name: str) -> None:
    entry = RECORD_KINDS.record(name)
    size = entry.dtype.itemsize
    writer = new_writer(tmp_path, slice_bytes=2 * size + 1)
    writer.write(name, some_records(name, 5), device_of(name))
    stem = entry.stem if entry.side == "host" else f"{entry.stem}.3"
    found = {path.name: path.stat().st_size for path in data_directory(writer, name).iterdir()}
    assert {key: value for key, value in found.items() if not key.endswith(".done")} == {
        f"{stem}.slice_0": 2 * size,
        f"{stem}.slice_1": 2 * size,
        f"{stem}.slice_2": size,
    }
    for number, content in enumerate((2 * size, 2 * size, size)):
        mark = data_directory(writer, name) / f"{stem}.slice_{number}.done"
        assert mark.read_text() == f"filesize:{content}\n"


@given(st.sampled_from(list(RECORD_KINDS.records)), st.integers(0, 12), st.integers(1, 5), st.integers(0, 99))
def test_round_trip_of_every_kind(name: str, count: int, per_slice: int, seed: int) -> None:
    records = some_records(name, count, seed)
    with TemporaryDirectory() as folder:
        writer = new_writer(Path(folder), slice_bytes=per_slice * RECORD_KINDS.record(name).dtype.itemsize)
        if RECORD_KINDS.record(name).side == "device":
            (writer.path / "device_3").mkdir()
        half = count // 2
        writer.write(name, records[:half], device_of(name))
        writer.write(name, records[half:], device_of(name))
        reader = ProfReader(writer.path, RECORD_KINDS)
        assert same(reader.read(name, device_of(name)), records)
        assert reader.notes == []


@pytest.mark.parametrize("name", RECORD_KINDS.records)
def test_bytes_between_fields_are_zero(tmp_path: Path, name: str) -> None:
    writer = new_writer(tmp_path)
    records = some_records(name, 4)
    writer.write(name, records, device_of(name))
    (path,) = (path for path in data_directory(writer, name).iterdir() if path.suffix != ".done")
    clean = np.zeros(4, records.dtype)
    for field in records.dtype.names or ():
        if field == "points":
            for part in records["points"].dtype.names:
                clean["points"][part] = records["points"][part]
        else:
            clean[field] = records[field]
    assert path.read_bytes() == clean.tobytes()


@pytest.mark.parametrize("name", RECORD_KINDS.records)
def test_cut_tail_at_every_byte(tmp_path: Path, name: str) -> None:
    writer = new_writer(tmp_path)
    records = some_records(name, 3)
    writer.write(name, records, device_of(name))
    (path,) = (path for path in data_directory(writer, name).iterdir() if path.suffix != ".done")
    content = path.read_bytes()
    size = records.dtype.itemsize
    for kept in range(0, len(content) + 1, 1 if size < 100 else 7):
        path.write_bytes(content[:kept])
        reader = ProfReader(writer.path, RECORD_KINDS)
        assert same(reader.read(name, device_of(name)), records[: kept // size]), kept
        assert bool(reader.notes) == bool(kept % size)


@pytest.mark.parametrize("name", RECORD_KINDS.records)
def test_lost_beginning(tmp_path: Path, name: str) -> None:
    """Ageing deletes the oldest slices: what is left may begin inside a record."""
    writer = new_writer(tmp_path)
    records = some_records(name, 3)
    writer.write(name, records, device_of(name))
    (path,) = (path for path in data_directory(writer, name).iterdir() if path.suffix != ".done")
    content = path.read_bytes()
    size = records.dtype.itemsize
    for lost in range(1, size, 1 if size < 100 else 13):
        path.write_bytes(content[lost:])
        reader = ProfReader(writer.path, RECORD_KINDS)
        assert same(reader.read(name, device_of(name)), records[1:])
        (note,) = reader.notes
        assert note.startswith(f"{path.parent.parent.name}/{path.name}: {size - lost} leading bytes")


def test_lost_beginning_and_end(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    records = some_records("stars_soc", 5)
    writer.write("stars_soc", records, 3)
    path = writer.path / "device_3/data/stars_soc.data.3.slice_0"
    path.write_bytes(path.read_bytes()[10:-20])
    reader = ProfReader(writer.path, RECORD_KINDS)
    assert same(reader.read("stars_soc", 3), records[1:-1])
    assert len(reader.notes) == 2


def test_ageing_slices_out_of_order_and_across_bounds(tmp_path: Path) -> None:
    """unaging before aging, then by number (10 after 9); a record may lie across two slices."""
    writer = new_writer(tmp_path)
    data = writer.path / "host" / "data"
    records = some_records("api_event", 26)
    raw = records.tobytes()
    (data / "unaging.api_event.data.slice_0").write_bytes(raw[:100])
    (data / "unaging.api_event.data.slice_1").write_bytes(raw[100:160])
    for number in range(11):
        (data / f"aging.api_event.data.slice_{number}").write_bytes(raw[160 + 80 * number : 240 + 80 * number])
    for path in list(data.iterdir()):
        mark = ".complete" if path.name.startswith("aging") else ".done"
        path.with_name(path.name + mark).write_text("filesize:1")
    (data / "all_file.complete").touch()
    (data / ".unaging.api_event.data.slice_2.99.tmp").write_bytes(b"half a file")
    reader = ProfReader(writer.path, RECORD_KINDS)
    assert same(reader.read("api_event"), records)
    assert reader.notes == []


def test_missing_slices_are_noted_and_not_joined_across(tmp_path: Path) -> None:
    writer = new_writer(tmp_path, slice_bytes=80)
    records = some_records("api_event", 10)
    writer.write("api_event", records)
    for number in (1, 3):
        (writer.path / f"host/data/unaging.api_event.data.slice_{number}").unlink()
    last = writer.path / "host/data/unaging.api_event.data.slice_4"
    last.write_bytes(last.read_bytes()[13:])
    reader = ProfReader(writer.path, RECORD_KINDS)
    assert same(reader.read("api_event"), records[[0, 1, 4, 5, 9]])
    assert [note.split(": ")[1] for note in reader.notes[:2]] == ["slice 1 is missing", "slice 3 is missing"]
    assert "27 leading bytes" in reader.notes[2]
    reader.read("api_event")
    assert len(reader.notes) == 3


def test_records_without_their_magic_are_left_out(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    records = some_records("stars_soc", 3)
    writer.write("stars_soc", records, 3)
    path = writer.path / "device_3/data/stars_soc.data.3.slice_0"
    content = bytearray(path.read_bytes())
    content[66] ^= 0xFF
    path.write_bytes(content)
    reader = ProfReader(writer.path, RECORD_KINDS)
    assert same(reader.read("stars_soc", 3), records[[0, 2]])
    assert reader.notes == [
        "device_3/stars_soc.data.3.slice_0: 1 records without the constant fields of stars_soc were left out"
    ]


def test_an_unfinished_slice_is_read_and_noted(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    writer.write("api_event", some_records("api_event", 2))
    (writer.path / "host/data/unaging.api_event.data.slice_0.done").unlink()
    reader = ProfReader(writer.path, RECORD_KINDS)
    assert len(reader.read("api_event")) == 2
    assert "without its .done mark" in reader.notes[0]


def test_kinds_that_share_a_file(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    steps, flips = some_records("ts_track_step", 3), some_records("ts_track_flip", 2)
    writer.write("ts_track_step", steps, 3)
    writer.write("ts_track_flip", flips, 3)
    assert sorted(path.name for path in (writer.path / "device_3/data").iterdir()) == [
        "ts_track.data.3.slice_0",
        "ts_track.data.3.slice_0.done",
        "ts_track.data.3.slice_1",
        "ts_track.data.3.slice_1.done",
    ]
    reader = ProfReader(writer.path, RECORD_KINDS)
    assert same(reader.read("ts_track_step", 3), steps)
    assert same(reader.read("ts_track_flip", 3), flips)


def test_npu_mem_of_the_application_is_read_as_well(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    records = some_records("npu_mem", 4)
    writer.write("npu_mem", records[:2], 3)
    (writer.path / "device_3/data/npu_mem.app.3.slice_0").write_bytes(records[2:].tobytes())
    assert same(ProfReader(writer.path, RECORD_KINDS).read("npu_mem", 3), records)


@pytest.mark.parametrize("name", RECORD_KINDS.records)
def test_records_that_numpy_laid_out_anew(tmp_path: Path, name: str) -> None:
    """np.concatenate drops the reserved bytes of a layout; the file has them all the same."""
    records = some_records(name, 4)
    joined = np.concatenate([records[:1], records[1:]])
    writer, other = new_writer(tmp_path), new_writer(tmp_path)
    writer.write(name, records, device_of(name))
    other.write(name, joined, device_of(name))
    (path,) = (path for path in data_directory(writer, name).iterdir() if path.suffix != ".done")
    assert (data_directory(other, name) / path.name).read_bytes() == path.read_bytes()


def test_nothing_is_written_for_no_records(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    writer.write("stars_soc", RECORD_KINDS.record("stars_soc").new(0), 0)
    writer.write_dictionaries({}, {})
    assert [path for path in writer.path.rglob("*") if path.is_file()] == []
    assert not (writer.path / "device_0").exists()


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    with pytest.raises(RawFormatError, match="belong to a device"):
        writer.write("stars_soc", some_records("stars_soc", 1))
    with pytest.raises(RawFormatError, match="device id 3 is out of place"):
        writer.write("api_event", some_records("api_event", 1), 3)
    with pytest.raises(RawFormatError, match="Records of api_event have the fields"):
        writer.write("api_event", some_records("stars_soc", 1))
    with pytest.raises(RawFormatError, match="Record 0 is none of api_event: its constant fields are magic 23130"):
        writer.write("api_event", np.zeros(1, RECORD_KINDS.record("api_event").dtype))
    with pytest.raises(RawFormatError, match="-1 is no dictionary id"):
        writer.write_dictionaries({-1: "x"}, {})
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(OutputError, match="Cannot create the directory"):
        new_writer(blocked / "below")


@given(st.lists(st.text()), st.dictionaries(st.tuples(st.integers(0, 65535), st.integers(0, 2**32 - 1)), st.text()))
def test_dictionaries_round_trip(texts: list[str], types: dict[tuple[int, int], str]) -> None:
    hashes = {hash_text(text): text for text in texts}
    with TemporaryDirectory() as folder:
        writer = new_writer(Path(folder), slice_bytes=64)
        writer.write_dictionaries(hashes, types)
        reader = ProfReader(writer.path, RECORD_KINDS)
        one_line = str.maketrans("\r\n", "  ")
        assert reader.hashes == {key: text.translate(one_line) for key, text in hashes.items()}
        assert reader.types == {key: text.translate(one_line) for key, text in types.items()}
        assert reader.notes == []


def test_dictionary_lines(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    writer.write_dictionaries({12: "a:b", 3: "å"}, {(5000, 1000): "KERNEL_AICORE", (10000, 5): "launch"})
    data = writer.path / "host" / "data"
    assert (data / "unaging.additional.hash_dic.slice_0").read_bytes() == "3:å\n12:a:b\n".encode()
    names = (data / "unaging.additional.type_info_dic.slice_0").read_bytes()
    assert names == b"5000_1000:KERNEL_AICORE\n10000_5:launch\n"
    (data / "aging.additional.hash_dic.slice_0").write_bytes(b"7:seven\r\nno entry\n")
    reader = ProfReader(writer.path, RECORD_KINDS)
    assert reader.hashes == {3: "å", 12: "a:b", 7: "seven"}
    assert reader.notes == ["aging.additional.hash_dic.slice_0: lines that are no <id>:<text> were left out"]


def test_a_killed_write_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = new_writer(tmp_path, slice_bytes=80)
    records = some_records("api_event", 6)

    def killed(path: Path, target: Path) -> Path:
        if target.name.endswith("slice_2"):
            raise KeyboardInterrupt
        return path.rename(target)

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        writer.write("api_event", records)
    monkeypatch.undo()
    reader = ProfReader(writer.path, RECORD_KINDS)
    assert same(reader.read("api_event"), records[:4])
    assert reader.notes == []
    assert not [path for path in (writer.path / "host/data").iterdir() if path.name.startswith(".")]


def test_not_a_profile(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is no PROF_XXX directory"):
        ProfReader(tmp_path, RECORD_KINDS)
    with pytest.raises(OutputError, match="is no directory"):
        ProfReader(tmp_path / "missing", RECORD_KINDS)
    (tmp_path / "device_2").mkdir()
    (tmp_path / "device_10").mkdir()
    reader = ProfReader(tmp_path, RECORD_KINDS)
    assert reader.device_ids == (2, 10)
    with pytest.raises(OutputError, match=r"no records of device 3\. Devices: 2, 10"):
        reader.read("stars_soc", 3)
    with pytest.raises(RawFormatError, match="belong to a device"):
        reader.read("stars_soc")
    assert len(reader.read("stars_soc", 2)) == 0
    assert len(reader.read("api_event")) == 0
    assert reader.hashes == {}


@pytest.mark.parametrize("name", ["stars_soc", "api_event"])
def test_a_file_beyond_all_memory_is_named_with_its_size(tmp_path: Path, name: str) -> None:
    writer = new_writer(tmp_path)
    writer.write(name, some_records(name, 3), device_of(name))
    (path,) = (path for path in data_directory(writer, name).iterdir() if path.suffix != ".done")
    size = 1 << 43  # sparse; more than any machine gives
    os.truncate(path, size)
    with pytest.raises(OutputError, match=rf"Cannot read the records in .*: {size} bytes do not fit into memory"):
        ProfReader(writer.path, RECORD_KINDS).read(name, device_of(name))
