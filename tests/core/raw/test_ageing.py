"""Which slices go when a profile grows beyond its storage limit (cann_msprof.md 1.3, 2.4)."""

from __future__ import annotations

import random
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu import OutputError, RawFormatError
from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.raw import ProfReader, ProfWriter
from drynpu.raw._ageing import SliceStore

NOW = datetime(2022, 1, 29, 1, 47, 31)
QUARTER = 1 << 18
"""Bytes of a slice in these tests: a quarter of a MB."""


def new_writer(parent: Path, limit: int | None) -> ProfWriter:
    return ProfWriter.create(
        parent, RECORD_KINDS, index=0, pid=1, now=NOW, rng=random.Random(7), slice_bytes=QUARTER, storage_limit_mb=limit
    )


def numbered(name: str, slices: int) -> npt.NDArray[np.void]:
    """Records for so many slices; each knows its place."""
    entry = RECORD_KINDS.record(name)
    records = entry.new(slices * (QUARTER // entry.dtype.itemsize))
    records["timestamp" if "timestamp" in (entry.dtype.names or ()) else "tick"] = np.arange(len(records))
    return records


def slices_of(directory: Path, stem: str) -> list[int]:
    found = (path.name.removeprefix(f"{stem}.slice_") for path in directory.glob(f"{stem}.slice_*"))
    return sorted(int(name) for name in found if name.isdigit())


def test_aging_files_of_the_host_are_read_like_the_others(tmp_path: Path) -> None:
    writer = new_writer(tmp_path, None)
    records = numbered("tensor_info", 1)
    writer.write("tensor_info", records[:2])
    writer.write("tensor_info", records[2:5], aging=True)
    names = {path.name for path in (writer.path / "host/data").iterdir() if path.suffix != ".done"}
    assert names == {"unaging.additional.tensor_info.slice_0", "aging.additional.tensor_info.slice_0"}
    reader = ProfReader(writer.path, RECORD_KINDS)
    assert reader.read("tensor_info")["timestamp"].tolist() == [0, 1, 2, 3, 4]
    assert reader.notes == []
    with pytest.raises(RawFormatError, match="only host files are called aging"):
        writer.write("stars_soc", numbered("stars_soc", 1), 0, aging=True)


def test_the_oldest_ageing_slices_go(tmp_path: Path) -> None:
    writer = new_writer(tmp_path, 1)
    writer.write("tensor_info", numbered("tensor_info", 6), aging=True)
    data = writer.path / "host/data"
    stem = "aging.additional.tensor_info"
    assert slices_of(data, stem) == [3, 4, 5]  # four slices and their marks are more than 1 MB
    assert [path.name for path in writer.deleted_slices] == [f"{stem}.slice_{number}" for number in range(3)]
    assert not (data / f"{stem}.slice_0.done").exists()
    assert (data / f"{stem}.slice_3.done").exists()
    reader = ProfReader(writer.path, RECORD_KINDS)
    records = numbered("tensor_info", 6)
    assert (reader.read("tensor_info") == records[len(records) // 2 :]).all()
    assert reader.notes == ["aging unaging.additional.tensor_info: slice 0 to 2 is missing"]


def test_unaging_slices_never_go(tmp_path: Path) -> None:
    writer = new_writer(tmp_path, 1)
    writer.write("tensor_info", numbered("tensor_info", 8))
    writer.write_dictionaries({1: "x" * (1 << 20)}, {})
    assert writer.deleted_slices == ()
    assert slices_of(writer.path / "host/data", "unaging.additional.tensor_info") == list(range(8))


def test_the_last_slice_of_a_file_stays(tmp_path: Path) -> None:
    writer = new_writer(tmp_path, 1)
    writer.write("stars_soc", numbered("stars_soc", 2), 0)
    writer.write("stars_soc", numbered("stars_soc", 2), 1)
    writer.write("tensor_info", numbered("tensor_info", 8))
    assert slices_of(writer.path / "device_0/data", "stars_soc.data.0") == [1]
    assert slices_of(writer.path / "device_1/data", "stars_soc.data.1") == [1]
    assert len(writer.deleted_slices) == 2


def test_order_of_writing_decides_across_files(tmp_path: Path) -> None:
    writer = new_writer(tmp_path, 1)
    writer.write("tensor_info", numbered("tensor_info", 2), aging=True)
    writer.write("stars_soc", numbered("stars_soc", 2), 0)
    assert [path.name for path in writer.deleted_slices] == ["aging.additional.tensor_info.slice_0"]


def test_without_a_limit_everything_stays(tmp_path: Path) -> None:
    writer = new_writer(tmp_path, None)
    writer.write("tensor_info", numbered("tensor_info", 8), aging=True)
    assert writer.deleted_slices == ()


def stored(directory: Path, store: SliceStore, stem: str, number: int) -> Path:
    path = directory / f"{stem}.slice_{number}"
    path.write_bytes(bytes(QUARTER))
    path.with_name(path.name + ".done").write_bytes(b"")
    store.add(path, stem)
    return path


def test_a_full_disk_is_a_limit_as_well(tmp_path: Path) -> None:
    free = [1 << 30]
    store = SliceStore(free_bytes=lambda directory: free[0])
    paths = [stored(tmp_path, store, "hbm.data.0", number) for number in range(3)]
    assert store.deleted == []
    free[0] = (20 << 20) - 1
    paths.append(stored(tmp_path, store, "hbm.data.0", 3))
    assert store.deleted == paths[:3]


def test_a_slice_that_cannot_be_deleted_is_an_output_error(tmp_path: Path) -> None:
    store = SliceStore(limit_mb=0)
    stored(tmp_path, store, "hbm.data.0", 0).unlink()
    (tmp_path / "hbm.data.0.slice_0").mkdir()
    with pytest.raises(OutputError, match="Cannot keep .* below the storage limit"):
        stored(tmp_path, store, "hbm.data.0", 1)


@given(
    st.lists(st.sampled_from(["aging.a", "b.data.0", "unaging.c", "training_trace.data.0"]), max_size=20),
    st.integers(0, 2),
)
def test_below_the_limit_or_nothing_left_to_delete(stems: list[str], limit: int) -> None:
    with TemporaryDirectory() as folder:
        directory = Path(folder)
        store = SliceStore(limit_mb=limit)
        written = [stored(directory, store, stem, at) for at, stem in enumerate(stems)]
        kept = [path for path in written if path.exists()]
        assert set(store.deleted) == set(written) - set(kept)
        ageing = [path for path in kept if path.name.startswith(("aging.a", "b.data"))]
        assert len(kept) * QUARTER <= limit << 20 or len(ageing) == len({path.name.split(".")[0] for path in ageing})
        assert {path.name.split(".slice_")[0] for path in kept} == set(stems)
        assert not any(path.name.startswith(("unaging", "training_trace")) for path in store.deleted)
