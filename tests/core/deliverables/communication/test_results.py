"""Collectives read from results alone equal the raw data's."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal

from drynpu.analysis import communication_time, communication_transfers
from drynpu.options import ExportType
from drynpu.products import export_torch, load_profile

FOUR = (0, 1, 2, 3)


@pytest.mark.parametrize("form", ExportType)
def test_collectives_and_their_tasks(kit: Any, tmp_path: Path, form: ExportType) -> None:
    raw = kit.record(
        [
            kit.collective("allReduce", kit.at(0, 300), FOUR, 1, wait_ns=20_000),
            kit.collective("allGather", kit.at(0, 500), FOUR, 1, 1 << 22, group="dp"),
        ],
        rank=1,
    )
    export_torch(raw, [form])
    alone = tmp_path / "alone" / raw.path.name
    shutil.copytree(raw.path / "ASCEND_PROFILER_OUTPUT", alone / "ASCEND_PROFILER_OUTPUT")
    found = load_profile(alone)
    names = ["device_id", "name", "group", "start_ns", "duration_ns", "connection_id", "dtype", "count", "rank_size"]
    assert raw.communication_ops.height == 2
    assert_frame_equal(found.communication_ops.select(names), raw.communication_ops.select(names))
    key = ["connection_id", "plane_id", "start_ns"]
    # A timeline knows neither notifies of RDMA nor batches, a database no estimates.
    names = [*key, "name", "is_master", "src_rank", "dst_rank", "transport", "size_bytes", "transfer_bytes"]
    own, expected = (profile.frame("communication_tasks").select(names).sort(key) for profile in (found, raw))
    assert_frame_equal(own, expected)
    times = [communication_time(profile, communication_transfers(profile)) for profile in (found, raw)]
    assert_frame_equal(*times)
