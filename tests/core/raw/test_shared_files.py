"""Kinds of records that share a file, on the disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from drynpu import RawFormatError
from drynpu.deliverables.monitors.facts import ChipLinkType
from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.raw import ProfReader, ProfWriter, pack_stars_header


def test_counters_of_the_950_survive_the_disk(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    rows = RECORD_KINDS.record("ffts_profile_v6").new(5)
    rows["pmu"], rows["end_tick"], rows["core_type"] = np.arange(50).reshape(5, 10), 7, [0, 1, 0, 1, 0]
    rows["header"][1::2] = 0x29
    ProfWriter(tmp_path, RECORD_KINDS).write("ffts_profile_v6", rows, 0)
    reader = ProfReader(tmp_path, RECORD_KINDS)
    assert (reader.read("ffts_profile_v6", 0) == rows).all()
    assert reader.notes == []


def test_kinds_in_one_file_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    writer = ProfWriter(tmp_path, RECORD_KINDS)
    links = RECORD_KINDS.record("chip_trans").new(2)
    links["header"] = pack_stars_header(0x1B, [1, 2], [ChipLinkType.PA, ChipLinkType.PCIE])
    dies = RECORD_KINDS.record("sio").new(1)
    nodes, waits = RECORD_KINDS.record("aicpu_node").new(3), RECORD_KINDS.record("aicpu_queue").new(2)
    for name, rows in (("chip_trans", links), ("sio", dies), ("aicpu_node", nodes), ("aicpu_queue", waits)):
        writer.write(name, rows, 0)
    reader = ProfReader(tmp_path, RECORD_KINDS)
    assert (reader.read("chip_trans", 0) == links).all()
    assert [len(reader.read(name, 0)) for name in ("sio", "acc_pmu", "aicpu_node", "aicpu_model", "aicpu_queue")] == [
        *(1, 0, 3, 0, 2)
    ]
    assert reader.notes == []
    links["header"][1] = 0x19
    with pytest.raises(RawFormatError, match="Record 1 is none of chip_trans"):
        writer.write("chip_trans", links, 0)


def test_task_counters_and_samples_in_one_file_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    ProfWriter(tmp_path, RECORD_KINDS).write("ffts_profile", RECORD_KINDS.record("ffts_profile").new(6), 0)
    reader = ProfReader(tmp_path, RECORD_KINDS)
    assert len(reader.read("ffts_core_sample", 0)) == 0
    assert len(reader.read("ffts_profile", 0)) == 6
    assert len(reader.notes) == 1
