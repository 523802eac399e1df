"""Files of MindSpore that are cut or hold something else: what can be read is delivered, and the rest is noted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drynpu.products import export_mindspore, load_profile

FILES = (
    "mindspore.op_range",
    "mindspore.memory_usage",
    "mindspore.record_shapes",
    "cpu_op_execute_timestamp_0.txt",
    "cpu_ms_memory_record_0.txt",
    "pipeline_profiling_0.json",
    "minddata_cpu_utilization_0.json",
    "device_queue_profiling_0.txt",
)
GARBAGE = b"\xff\x00 neither; this nor ,that\n" * 40


@pytest.fixture(scope="module")
def whole(hand: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = hand.record(tmp_path_factory.mktemp("damage"), communication=False)
    hand.write_pipeline(path)
    return path


@pytest.mark.parametrize("how", ["cut", "garbage", "empty"])
@pytest.mark.parametrize("name", FILES)
def test_one_damaged_file_costs_no_other(name: str, how: str, whole: Path) -> None:
    file = whole / "FRAMEWORK" / name
    content = file.read_bytes()
    file.write_bytes({"cut": content[: len(content) * 2 // 3 - 1], "garbage": GARBAGE, "empty": b""}[how])
    try:
        profile = load_profile(whole)
        names = {path.name for path in export_mindspore(profile)}
    finally:
        file.write_bytes(content)
    assert {"trace_view.json", "kernel_details.csv", "step_trace_time.csv", "npu_module_mem.csv"} <= names
    if how == "garbage":
        assert any(name in note for note in profile.notes), profile.notes
    assert profile.kernels.height == 15
