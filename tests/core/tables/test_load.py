"""A profile directory written by the raw room comes back as tables."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import polars.selectors as cs
import pytest

from drynpu import OutputError
from drynpu.products import find_profiles, load_profile
from drynpu.tables import (
    ALLOCATIONS,
    API,
    HOST_OPS,
    KERNELS,
    NO_CONTEXT,
    NO_MODEL,
    PMU_COLUMNS_SPLIT,
    QUEUE,
    TASKS,
    Profile,
)

from .conftest import LAUNCHER, MAIN, PID, T0, Recording


def us(frame: pl.DataFrame, column: str) -> list[float]:
    return [(value - T0) / 1000 for value in frame[column].to_list()]


def test_facts(recording: Recording, tmp_path: Path) -> None:
    profile = load_profile(recording.write(tmp_path))
    assert (profile.pid, profile.pid_name, profile.hostname, profile.rank_id) == (PID, "python", "box", 3)
    assert profile.device_ids == (0,)
    assert (profile.platform_version, profile.aic_mhz, profile.aic_cores, profile.aiv_cores) == ("5", 1800, 24, 48)
    assert (profile.level, profile.aic_metrics) == ("level1", "PipeUtilization")
    assert (profile.begin_ns, profile.end_ns) == (T0, T0 + 900_000)
    assert profile.metadata == {"trace_id": "X"}
    assert profile.notes == ()


def test_framework_tables(recording: Recording, tmp_path: Path) -> None:
    profile = load_profile(recording.write(tmp_path))
    assert profile.host_ops.schema == HOST_OPS
    assert profile.host_ops["name"].to_list() == ["ProfilerStep#4", "aten::linear", "aten::addmm", "aten::attention"]
    assert profile.host_ops["op_id"].to_list() == [0, 1, 2, 3]
    assert us(profile.host_ops, "start_ns") == [0, 10, 12, 100]
    assert profile.host_ops["input_shapes"].to_list() == ["", "4,8;8,8", "8;4,8;8,8", ""]
    assert profile.host_ops["tid"].unique().to_list() == [MAIN]
    assert profile.queue.schema == QUEUE
    assert profile.queue.select("correlation_id", "side", "name", "tid").rows() == [
        (1, "enqueue", "aclnnAddmm", MAIN),
        (1, "dequeue", "aclnnAddmm", LAUNCHER),
        (2, "enqueue", "aclnnAttention", MAIN),
        (2, "dequeue", "aclnnAttention", LAUNCHER),
    ]
    assert us(profile.queue, "end_ns") == [22, 80, 112, 180]
    assert profile.allocations.schema == ALLOCATIONS
    assert profile.allocations["total_allocated_bytes"].to_list() == [512, 768, 768, 256]
    assert us(profile.gc, "end_ns") == [2]


def test_api_is_counted_in_time_order(recording: Recording, tmp_path: Path) -> None:
    api = load_profile(recording.write(tmp_path)).api
    assert api.schema == API
    assert api.select("connection_id", "level", "name", "item").rows() == [
        (1, "acl", "aclnnAddmm", ""),
        (2, "node", "launch", "aclnnAddmm_MatMul"),
        (3, "runtime", "KernelLaunchWithHandleV2", ""),
        (4, "node", "launch", "aclnnAttention_Flash"),
        (5, "runtime", "KernelLaunchWithHandleV2", ""),
        (6, "runtime", "MemcopyAsync", ""),
    ]


def test_tasks(recording: Recording, tmp_path: Path) -> None:
    tasks = load_profile(recording.write(tmp_path)).tasks
    assert tasks.schema == TASKS
    columns = ("task_id", "kernel_name", "kernel_type", "connection_id", "copy_bytes", "copy_kind")
    assert tasks.select(columns).rows() == [
        (10, "MatMulV2_kernel", "AI_CORE", 2, None, None),
        (11, "aclnnAttention_Flash", "MIX_AIC", 4, None, None),
        (12, "", "MEMCPY_ASYNC", 6, 4096, 2),
        (13, "", "EVENT_RECORD", 6, None, None),
    ]
    assert us(tasks, "start_ns") == [70, 160, 270, 285]
    assert tasks["duration_ns"].to_list() == [60_000, 100_000, 10_000, 0]
    assert tasks["context_id"].unique().to_list() == [NO_CONTEXT]
    assert tasks["model_id"].unique().to_list() == [NO_MODEL]


def test_kernels(recording: Recording, tmp_path: Path) -> None:
    kernels = load_profile(recording.write_prof(tmp_path, aging=("node_basic_info",))).kernels
    assert dict(list(kernels.schema.items())[: len(KERNELS)]) == dict(KERNELS)
    first, second = kernels.rows(named=True)
    assert (first["name"], first["op_type"], first["task_type"]) == ("aclnnAddmm_MatMul", "MatMulV2", "AI_CORE")
    assert (first["op_state"], first["block_num"], first["mix_block_num"], first["hf32"]) == ("dynamic", 20, 0, True)
    assert (first["input_shapes"], first["input_dtypes"], first["input_formats"]) == ("4,8;", "FLOAT;DT_BF16", "ND;ND")
    assert (first["output_shapes"], first["output_dtypes"]) == ("4,16", "FLOAT16")
    assert first["output_formats"] == "FRACTAL_NZ:16"
    assert (first["node_start_ns"], first["node_tid"], first["connection_id"]) == (T0 + 40_000, LAUNCHER, 2)
    # Tensors beyond five come in a second record.
    assert (second["input_shapes"], second["output_shapes"]) == ("1;2;3;4;5;6", "7")
    assert (second["block_num"], second["mix_block_num"], second["hf32"]) == (24, 48, False)


def test_counters(recording: Recording, tmp_path: Path) -> None:
    profile = load_profile(recording.write(tmp_path))
    assert profile.pmu_columns == PMU_COLUMNS_SPLIT["PipeUtilization"]
    # Tables keep what files round.
    cube, mixed = profile.kernels.with_columns(cs.float().round(3)).rows(named=True)
    assert profile.kernels["aicore_time(us)"][0] == pytest.approx(2.7777777777)
    # The verified example of cann_msprof.md 4.2.
    assert (cube["aicore_time(us)"], cube["aic_total_cycles"], cube["cube_utilization(%)"]) == (2.778, 100_000, 3.858)
    assert (cube["aic_mac_ratio"], cube["aic_mac_time(us)"]) == (0.5, 1.389)
    assert (cube["aic_fixpipe_ratio"], cube["aic_icache_miss_rate"]) == (0.3, 0.005)
    assert (cube["aiv_time(us)"], cube["aiv_total_cycles"], cube["aiv_vec_ratio"]) == (0.0, 0, 0.0)
    assert (mixed["aic_total_cycles"], mixed["aicore_time(us)"]) == (240_000, 5.556)
    assert (mixed["aiv_total_cycles"], mixed["aiv_time(us)"]) == (480_000, 5.556)
    assert (mixed["aiv_vec_ratio"], mixed["aiv_mte3_ratio"], mixed["aiv_icache_miss_rate"]) == (0.25, 0.2, 0.5)


def test_block_records_of_several_blocks_are_summed(recording: Recording, tmp_path: Path) -> None:
    recording.counted(2, 11, (160, 260), 20_000, [0] * 8, block=1 | 3 << 1)
    kernels = load_profile(recording.write(tmp_path)).kernels
    assert kernels["aiv_total_cycles"].to_list() == [0, 500_000]


def test_an_unmeasured_kernel_has_no_numbers(recording: Recording, tmp_path: Path) -> None:
    recording.call("launch", 300, 320, item="aclnnUnique_Unique2")
    recording.call("KernelLaunchWithHandleV2", 305, 315)
    recording.track(310, "KERNEL_AICORE", 2, 14)
    recording.basic(302, "aclnnUnique_Unique2", "Unique2", 1, 1)
    recording.ran(2, 14, 320, 330, sqe=1)
    kernels = load_profile(recording.write(tmp_path)).kernels
    assert kernels["task_type"].to_list()[-1] == "AI_CPU"
    assert kernels["aic_total_cycles"].to_list() == [100_000, 240_000, None]
    assert kernels["aicore_time(us)"].to_list()[-1] is None


def test_level0_keeps_the_name(recording: Recording, tmp_path: Path) -> None:
    for name in ("node_basic_info", "tensor_info", "ffts_profile"):
        del recording.rows[name]
    profile = load_profile(recording.write_prof(tmp_path, level="level0"))
    assert profile.level == "level0"
    assert profile.kernels["name"].to_list() == ["aclnnAddmm_MatMul", "aclnnAttention_Flash"]
    assert profile.kernels["op_type"].to_list() == ["", ""]
    assert profile.kernels["task_type"].to_list() == ["", ""]
    assert profile.kernels["input_shapes"].to_list() == ["", ""]
    assert profile.kernels["block_num"].to_list() == [0, 0]
    assert profile.kernels["mix_block_num"].to_list() == [None, None]
    assert profile.pmu_columns == ()
    assert profile.tasks["kernel_type"].to_list()[:2] == ["KERNEL_AICORE", "KERNEL_MIX_AIC"]


def test_the_operator_starts_when_its_counters_say(recording: Recording, tmp_path: Path) -> None:
    recording.rows["ffts_profile"][0]["start_tick"] = recording.tick(72)
    profile = load_profile(recording.write(tmp_path))
    assert us(profile.kernels, "start_ns")[0] == 72
    assert profile.kernels["duration_ns"].to_list()[0] == 58_000
    assert us(profile.tasks, "start_ns")[0] == 70


def test_task_ids_that_begin_again(tmp_path: Path) -> None:
    scene = Recording()
    for number, task in enumerate((65534, 65535, 65536, 65537, 65536 * 2 - 2, 65536 * 2 + 65534)):
        at = 10 * number
        name = f"op{number}"
        scene.call("launch", at, at + 8, item=name)
        scene.call("KernelLaunchWithHandleV2", at + 2, at + 6)
        scene.track(at + 3, "KERNEL_AICORE", 5, task)
        scene.basic(at + 1, name, f"Type{number}", 2, 1)
        scene.ran(5, task, 1000 + at, 1005 + at)
    profile = load_profile(scene.write_prof(tmp_path))
    assert profile.kernels["name"].to_list() == [f"op{number}" for number in range(6)]
    assert profile.kernels["task_id"].to_list() == [65534, 65535, 0, 1, 65534, 65534]
    assert profile.tasks["batch_id"].to_list() == [0, 0, 1, 1, 1, 2]


def test_tasks_of_two_streams_may_share_ids(tmp_path: Path) -> None:
    scene = Recording()
    for stream in (3, 4):
        scene.call("KernelLaunchWithHandleV2", stream * 10, stream * 10 + 5)
        scene.track(stream * 10 + 1, "KERNEL_AICORE", stream, 1, kernel=f"on{stream}")
    scene.ran(4, 1, 100, 110)
    scene.ran(3, 1, 105, 106)
    profile = load_profile(scene.write_prof(tmp_path))
    assert profile.kernels.select("stream_id", "name", "duration_ns").rows() == [(4, "on4", 10_000), (3, "on3", 1000)]


def test_a_graph_gives_its_operators_a_model(recording: Recording, tmp_path: Path) -> None:
    recording.event_pair("ModelExecute", 125, 163, item=9)
    profile = load_profile(recording.write(tmp_path))
    assert profile.kernels["model_id"].to_list() == [NO_MODEL, 9]
    # The file of its description says it (Ascend/msprof analysis/msparser/compact_info/node_basic_info_parser.py).
    assert profile.kernels["op_state"].to_list() == ["static", "static"]
    assert profile.api.filter(pl.col("level") == "model").select("name", "item").rows() == [("ModelExecute", "9")]


def test_communication(recording: Recording, tmp_path: Path) -> None:
    recording.call("AllReduce", 500, 560, item="hcom_allReduce__1")
    for task, (start, end) in enumerate(((600, 620), (615, 650)), start=20):
        recording.call("KernelLaunchWithHandleV2", 500 + task, 501 + task)
        recording.track(500.5 + task, "KERNEL_AICORE", 9, task, kernel="memcpy")
        recording.ran(9, task, start, end)
    recording._add(
        "hccl_op_info", thread_id=LAUNCHER, timestamp=recording.raw(510), data_type=4, count=99,
        group_name=recording.text("world"), alg_type=recording.text("MESH"),
    )  # fmt: skip
    profile = load_profile(recording.write(tmp_path))
    assert profile.kernels.height == 2
    row = profile.communication_ops.row(0, named=True)
    assert (row["name"], row["group"], row["dtype"], row["count"], row["algorithm"]) == (
        "hcom_allReduce__1", "world", "FP32", 99, "MESH",
    )  # fmt: skip
    assert (row["start_ns"], row["duration_ns"]) == (T0 + 600_000, 50_000)


def test_only_framework(recording: Recording, tmp_path: Path) -> None:
    recording.write_framework(tmp_path / "x_1_20240102030405000_ascend_pt")
    profile = load_profile(tmp_path / "x_1_20240102030405000_ascend_pt")
    assert profile.prof_path is None
    assert profile.pid == PID
    assert profile.host_ops.height == 4
    assert profile.kernels.schema == KERNELS
    assert profile.device_ids == ()
    assert any("Unix time" in note for note in profile.notes)


def test_framework_clock_from_profiler_info(recording: Recording, tmp_path: Path) -> None:
    recording.write_framework(tmp_path)
    times = {"collectionTimeEnd": T0 + 77, "MonotonicTimeEnd": recording.clock.monotonic_raw_ns + 77}
    (tmp_path / "profiler_info.json").write_text(f'{{"end_info": {times}}}'.replace("'", '"'))
    profile = load_profile(tmp_path)
    assert us(profile.host_ops, "start_ns") == [0, 10, 12, 100]
    assert profile.notes == ()


def test_only_prof(recording: Recording, tmp_path: Path) -> None:
    profile = load_profile(recording.write_prof(tmp_path))
    assert profile.framework_path is None
    assert profile.host_ops.schema == HOST_OPS
    assert profile.kernels.height == 2


def test_killed_half_way(recording: Recording, tmp_path: Path) -> None:
    recording.ran(2, 15, 500, None)
    profile = load_profile(recording.write_prof(tmp_path, ended=False))
    assert profile.end_ns == 0
    assert profile.tasks.height == 4
    assert any("1 task(s) started but never ended" in note for note in profile.notes)
    assert any("end_info" in note for note in profile.notes)


def test_an_end_without_a_start_is_no_task(recording: Recording, tmp_path: Path) -> None:
    del recording.rows["stars_soc"][0]
    profile = load_profile(recording.write_prof(tmp_path))
    assert profile.kernels["name"].to_list() == ["aclnnAttention_Flash"]
    assert any("1 task end(s) have no start" in note for note in profile.notes)


@pytest.mark.parametrize(
    "gone",
    [
        ("stars_soc",),
        ("api_event",),
        ("task_track",),
        ("node_basic_info",),
        ("tensor_info",),
        ("api_event", "task_track", "node_basic_info", "tensor_info", "memcpy_info"),
        ("stars_soc", "ffts_profile", "api_event", "task_track", "node_basic_info", "tensor_info", "memcpy_info"),
    ],
)
def test_any_family_may_be_absent(recording: Recording, tmp_path: Path, gone: tuple[str, ...]) -> None:
    profile = load_profile(recording.write_prof(tmp_path, skip=gone))
    assert isinstance(profile, Profile)
    assert profile.tasks.height == (0 if "stars_soc" in gone else 4)
    assert dict(list(profile.kernels.schema.items())[: len(KERNELS)]) == dict(KERNELS)
    if "task_track" in gone and "stars_soc" not in gone:
        assert profile.tasks["connection_id"].to_list() == [-1] * 4
        assert profile.tasks["kernel_type"].to_list() == ["AI_CORE", "AI_CORE", "SDMA_SQE", "EVENT_RECORD_SQE"]
        assert any("4 of 4 device tasks have no host record" in note for note in profile.notes)


def test_a_device_without_its_clock_is_left_out(recording: Recording, tmp_path: Path) -> None:
    path = recording.write(tmp_path)
    for file in path.glob("PROF_*/device_0/info.json*"):
        file.unlink()
    profile = load_profile(path)
    assert profile.host_ops.height == 4
    assert any("info.json" in note for note in profile.notes)


def test_finding_profiles(recording: Recording, tmp_path: Path) -> None:
    first = recording.write(tmp_path)
    assert find_profiles(first) == [first]
    assert find_profiles(tmp_path) == [first]
    assert load_profile(tmp_path).path == first
    second = recording.write_prof(tmp_path)
    assert find_profiles(tmp_path) == sorted([first, second])
    with pytest.raises(OutputError, match=r"found 2 profiles \(.*PROF_.*\); name one"):
        load_profile(tmp_path)


def test_nothing_to_find(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"found none.*_ascend_pt.*PROF_"):
        load_profile(tmp_path)
    with pytest.raises(OutputError, match="nowhere: it does not exist"):
        load_profile(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="it is no result file"):
        find_profiles(tmp_path / "file")


def test_a_kernel_on_both_kinds_of_core_is_a_sub_task(recording: Recording, tmp_path: Path) -> None:
    """Ascend/msprof analysis/profiling_bean/stars/ffts_log.py: function 0x22 and 0x23, type 6 in FFTS+ of type 4."""
    whole = load_profile(recording.write_prof(tmp_path / "whole")).kernels.row(1, named=True)
    assert whole["context_id"] == NO_CONTEXT
    start, length = whole["start_ns"] - T0, whole["duration_ns"]
    for function, ns in ((0x22, start + 1_000), (0x23, start + length - 1_000)):
        recording._add(
            "stars_soc", header=function, stream_id=whole["stream_id"], task_id=whole["task_id"],
            tick=recording.tick(ns / 1000), sub_task_type=6, sub_task_id=0, ffts=4 << 13,
        )  # fmt: skip
    profile = load_profile(recording.write_prof(tmp_path / "mixed"))
    mixed = profile.kernels.row(1, named=True)
    assert (mixed["context_id"], mixed["start_ns"] - T0, mixed["duration_ns"]) == (0, start + 1_000, length - 2_000)
    assert profile.kernels["context_id"][0] == NO_CONTEXT
