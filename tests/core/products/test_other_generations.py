"""Results of older toolkits are opened; results of other tools are named, with the way to a profile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drynpu import OutputError
from drynpu.products import find_profiles, load_profile

# Titles of CANN 5 and 6: the start has no unit, and is in us.
OP_SUMMARY = (
    "Model Name,Model ID,Task ID,Stream ID,Infer ID,Op Name,OP Type,Task Type,Task Start Time,Task Duration(us),"
    "Task Wait Time(us),Block Dim\n"
    "resnet,1,4,47,1,conv1,Conv2D,AI_CORE,1043640017380.831,82.11,0,8\n"
    "resnet,1,5,47,1,relu1,Relu,AI_CORE,1043640017470.5,9.5,7.559,8\n"
)
ACL_STATISTIC = (
    "Name,Type,Time(%),Time(us),Count,Avg(us),Min(us),Max(us),Process ID,Thread ID\n"
    "aclmdlExecute,ACL_MODEL,2.293195,3128.72,1,3128.72,3128.72,3128.72,85078,85078\n"
)


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """Return what CANN 5 leaves of a run whose raw data were deleted."""
    prof = tmp_path / "PROF_000001_20220129014731273_KEDKPORHMAGPGDCC"
    for name, text in {
        "summary/op_summary_0_1.csv": OP_SUMMARY,
        "summary/acl_statistic_0_1.csv": ACL_STATISTIC,
        "timeline/msprof_0_1_1.json": "[]",
        "start_info.0": json.dumps({"collectionTimeBegin": "1"}),
    }.items():
        path = prof / "device_0" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return prof


@pytest.mark.parametrize("place", ["", "device_0", "device_0/summary", ".."])
def test_results_beside_the_device_of_an_older_toolkit_are_opened(older: Path, place: str) -> None:
    profile = load_profile(older / place)
    kernels = profile.kernels.select("name", "op_type", "start_ns", "duration_ns", "block_num")
    assert kernels.rows() == [
        ("conv1", "Conv2D", 1_043_640_017_380_831, 82_110, 8),
        ("relu1", "Relu", 1_043_640_017_470_500, 9_500, 8),
    ]
    assert profile.prof_path is None
    calls = profile.results["api_statistic"].select("level", "name", "count", "time_us")
    assert calls.rows() == [("ACL_MODEL", "aclmdlExecute", 1, 3128.72)]


def test_raw_data_count_for_more_than_results(older: Path) -> None:
    (older / "device_0" / "data").mkdir()
    (older / "device_0" / "data" / "hwts.data.0.slice_0").write_bytes(b"")
    assert find_profiles(older.parent) == [older]
    with pytest.raises(Exception, match=r"info\.json|start_info|clock"):
        load_profile(older)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (("cluster_step_trace_time.csv",), "an analysis of a cluster"),
        (("cluster_analysis_output/cluster_communication_matrix.json",), "an analysis of a cluster"),
        (("cluster_analysis_output/cluster_analysis.db",), "an analysis of a cluster"),
        (("OPPROF_20240101000000_ABCDEFGHIJKLMNOP/OpBasicInfo.csv",), "msprof op"),
        (("profiler/aicore_intermediate_0_detail.csv", "profiler/step_trace_raw_0_detail_time.csv"), "MindSpore 1"),
        (("minddata_pipeline_raw_0.csv",), "MindSpore 1"),
    ],
)
def test_results_of_other_tools_are_named(files: tuple[str, ...], words: str, tmp_path: Path) -> None:
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(OutputError) as caught:
        load_profile(tmp_path)
    message = str(caught.value)
    assert words in message
    assert Path(files[0]).name in message
    assert "A profile is a *_ascend_pt" in message
