"""What a recording leaves as a whole: levels, sides, parameters, names, what it says of itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

from drynpu import OutputError, __version__
from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.kernels import MODEL_VERSION
from drynpu.options import Activity, Clock, Level, MetricGroup, Output, ProfilingRequest, Switches
from drynpu.platforms import load_chip
from drynpu.products import load_profile
from drynpu.raw import ProfReader, ProfWriter
from drynpu.recorder import Outcome

Write = Callable[..., Outcome]


@pytest.mark.parametrize("level", list(Level))
def test_levels(tools: Any, write: Write, level: Level) -> None:
    outcome = write(tools.mixture(), request=ProfilingRequest(level=level))
    profile = tools.read(outcome)
    assert profile.level == ("off" if level is Level.NONE else f"level{level.name[1]}")
    assert profile.host_ops.height > 0, "the framework's side does not depend on the level"
    assert profile.queue.height > 0
    if level is Level.NONE:
        assert outcome.prof_path is not None
        names = {path.name.split(".slice")[0] for path in outcome.prof_path.rglob("data/*")}
        dictionaries = {"unaging.additional.hash_dic", "unaging.additional.type_info_dic"}
        assert names - dictionaries == {"unaging.api_event.data"}
        assert set(profile.api["level"]) == {"acl"}
        assert profile.tasks.is_empty()
        return
    assert profile.kernels.height == 16
    described = level > Level.L0
    assert set(profile.kernels["op_type"] != "") == {described}
    assert set(profile.kernels["input_shapes"] != "") == {described}
    assert (profile.aic_metrics, bool(profile.pmu_columns)) == (("PipeUtilization", True) if described else ("", False))


@pytest.mark.parametrize("asked", [True, False])
def test_calls_into_the_runtime_follow_their_switch(tools: Any, write: Write, asked: bool) -> None:
    switches = Switches(runtime_api=asked, acl_api=False)
    profile = tools.read(write(tools.mixture(), request=ProfilingRequest(switches=switches)))
    runtime = set(profile.api.filter(pl.col("level") == "runtime")["name"])
    assert runtime - {"StreamSynchronize"} == {"KernelLaunchWithHandle", "MemcpyAsync"}, "they come with the tasks"
    assert ("StreamSynchronize" in runtime) == asked
    alone = write(tools.mixture(), "alone", request=ProfilingRequest(level=Level.NONE, switches=switches))
    calls = tools.read(alone).api
    assert set(calls["level"]) == ({"runtime"} if asked else set())
    assert set(calls["name"]) == (runtime if asked else set())


def test_calls_into_acl_follow_their_switch(tools: Any, write: Write) -> None:
    without = Switches(acl_api=False)
    profile = tools.read(write(tools.mixture(), request=ProfilingRequest(switches=without)))
    assert set(profile.api["level"]) == {"node", "runtime"}
    assert profile.kernels.height == 16
    nothing = write(tools.mixture(), "nothing", request=ProfilingRequest(level=Level.NONE, switches=without))
    assert nothing.prof_path is not None
    assert not list(nothing.prof_path.rglob("data/*api_event*"))


def test_no_operators(tools: Any, write: Write) -> None:
    outcome = write(tools.operators([]), end_ns=tools.begin_ns + 1_000_000)
    profile = tools.read(outcome)
    assert (outcome.kernels, dict(outcome.unmapped), outcome.end_ns) == (0, {}, tools.begin_ns + 1_000_000)
    for frame in (
        profile.host_ops,
        profile.queue,
        profile.tasks,
        profile.kernels,
        profile.api,
        profile.frame("step_marks"),
    ):
        assert frame.is_empty()
    assert (profile.begin_ns, profile.end_ns // 1000) == (tools.begin_ns, outcome.end_ns // 1000)


def test_only_one_side(tools: Any, write: Write) -> None:
    table = tools.mixture()
    host = write(table, "host", device_data=False)
    assert host.prof_path is None
    assert [path.name for path in host.directory.iterdir()] == ["FRAMEWORK"]
    assert load_profile(host.directory).tasks.is_empty()
    device = write(table, "device", host_data=False)
    assert list(device.directory.iterdir()) == [device.prof_path]
    profile = load_profile(device.prof_path)
    assert profile.kernels.height == 16
    assert profile.host_ops.is_empty()


def test_the_collectors_parameters(tools: Any, write: Write) -> None:
    outcome = write(tools.mixture(), device_id=2, rank_id=6)
    assert outcome.prof_path is not None
    reader = ProfReader(outcome.prof_path, RECORD_KINDS)
    needed = "ai_core_profiling ai_core_profiling_mode ai_core_metrics ai_core_profiling_events aiv_profiling "
    needed += "aiv_profiling_mode aiv_metrics aiv_profiling_events llc_profiling prof_level aicore_sampling_interval "
    # The native path gives up a device whose file lacks one (Ascend/msprof device_context/sample_info.cpp).
    needed += "aiv_sampling_interval "
    needed += "hccsInterval msprofBinPid instrProfilingFreq npuEvents qosEvents job_id host_sys_pid result_dir devices"
    for device in (None, 2):
        sample = reader.sample(device)
        assert set(needed.split()) <= set(sample)
        assert sample["devices"] == ("64" if device is None else "2")
        assert sample["ai_core_metrics"] == "PipeUtilizationExct"
        assert sample["ai_core_profiling_events"] == "0x416,0x417,0x9,0x302,0xc,0x303,0x54,0x55"
        assert sample["aiv_profiling_events"] == "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55"
        assert sample["host_sys_pid"] == tools.pid
        assert sample["result_dir"] == str(outcome.prof_path)
    info = orjson.loads((outcome.prof_path / "device_2" / "info.json.2").read_bytes())
    assert (info["rank_id"], info["pid"], info["CPU"][0]["Frequency"]) == (6, str(tools.pid), "")
    assert info["DeviceInfo"][0]["aic_frequency"] == "1800"


@pytest.mark.parametrize(
    ("chip", "metrics", "level", "on"),
    [
        ("910B2", MetricGroup.PIPELINE_EXECUTE_UTILIZATION, Level.L1, ("off", "off")),
        ("910B2", MetricGroup.MEMORY, Level.L0, ("off", "off")),
        ("910B2", MetricGroup.MEMORY, Level.L1, ("on", "on")),
        ("910B2", MetricGroup.NONE, Level.L1, ("off", "off")),
        ("910B2", MetricGroup.PIPE_UTILIZATION, Level.L0, ("off", "off")),
        ("910B2", MetricGroup.PIPE_UTILIZATION, Level.L1, ("on", "on")),
        ("910A", MetricGroup.PIPE_UTILIZATION, Level.L1, ("on", "off")),
    ],
)
def test_the_parameters_name_only_counters_that_were_taken(
    tools: Any, write: Write, chip: str, metrics: MetricGroup, level: Level, on: tuple[str, str]
) -> None:
    request = ProfilingRequest(level=level, aic_metrics=metrics)
    outcome = write(tools.mixture(), chip=load_chip(chip), request=request)
    assert outcome.prof_path is not None
    sample = ProfReader(outcome.prof_path, RECORD_KINDS).sample(None)
    assert (sample["ai_core_profiling"], sample["aiv_profiling"]) == on
    for switch, prefix in zip(on, ("ai_core", "aiv"), strict=True):
        assert (sample[f"{prefix}_profiling_events"] == "") == (switch == "off")
        assert (sample[f"{prefix}_metrics"] == "") == (switch == "off")
    records = len(list(outcome.prof_path.glob(f"device_0/data/{'aicore' if chip == '910A' else 'ffts_profile'}*")))
    assert (records > 0) == (on[0] == "on")


def test_an_outcome_says_what_is_simulated(tools: Any, write: Write) -> None:
    row = tools.Row
    table = tools.operators([row("unknown", 0, 10), row("other", 20, 30), row("unknown", 40, 50)])
    outcome = write(table, seed=11)
    told = outcome.describe()
    assert (told["version"], told["model"]) == (__version__, MODEL_VERSION)
    assert (told["chip"], told["clock"], told["seed"]) == ("Ascend910B2", "projected", 11)
    assert told["unmapped_operators"] == {"unknown": 2, "other": 1}
    assert "kernel times" in told["simulated"]
    assert "host times between operators" in told["measured"]
    assert "host times" in write(table, "wall", clock=Clock.WALL).describe()["measured"]
    modelled = write(table, "modelled", clock=Clock.MODELLED).describe()
    assert "host times of calls" in modelled["simulated"]
    assert "long gaps between operators" in modelled["measured"]
    assert orjson.loads(orjson.dumps(told)) == told


def test_memory_is_that_of_the_framework_s_pool_and_may_be_a_model(tools: Any, write: Write) -> None:
    request = ProfilingRequest(switches=Switches(profile_memory=True))
    memory = tools.allocations([(2000, 64, 10_000)])
    reserved = {}
    for framework in ("torch", "mindspore"):
        outcome = write(
            tools.mixture(),
            framework,
            framework=framework,
            request=request,
            allocations=memory,
            live_before_bytes=512,
            modelled=("device memory: lives",),
        )
        assert outcome.describe()["simulated"][-1] == "device memory: lives"
        (row,) = load_profile(outcome.directory).allocations.iter_rows(named=True)
        assert row["total_allocated_bytes"] == 512 + 10_240
        reserved[framework] = row["total_reserved_bytes"]
    assert reserved == {"torch": (2 << 20) + (20 << 20), "mindspore": 2 << 30}


def test_the_directory_carries_vendor_names_and_modes(tools: Any, write: Write) -> None:
    request = ProfilingRequest(activities=(Activity.HOST, Activity.DEVICE), switches=Switches(profile_memory=True))
    memory = tools.allocations([(2000, 64, 10_000)])
    outcome = write(tools.mixture(), request=request, allocations=memory, prof_number=41)
    assert outcome.prof_path is not None
    assert outcome.prof_path.name.startswith("PROF_000042_")
    files = {path.name for path in (outcome.directory / "FRAMEWORK").iterdir()}
    assert files == {"torch.op_range", "torch.op_mark", "torch.memory_usage"}
    for path in outcome.directory.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o750 if path.is_dir() else 0o640), path
    assert not [path for path in outcome.directory.rglob("*") if path.name.startswith(".")]
    for path in (outcome.prof_path / "host" / "data").iterdir():
        assert path.name.endswith(".done") or Path(f"{path}.done").is_file()


def test_a_place_that_cannot_be_written_is_named(tools: Any, write: Write, tmp_path: Path) -> None:
    table = tools.operators([tools.Row("add", 0, 10)])
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(OutputError, match=r"/file/FRAMEWORK: cannot create the directory: Not a directory"):
        write(table, directory=blocked)
    with pytest.raises(OutputError, match="/file"):
        write(table, "again", directory=blocked, host_data=False)


def test_the_storage_limit_is_that_of_the_raw_data(tools: Any, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of the limit and of a slice: the oldest slices go, of the device and of what ages on the host."""
    create = ProfWriter.create
    limits: list[int | None] = []

    def small(parent: Path, kinds: Any, *, storage_limit_mb: int | None, **rest: Any) -> ProfWriter:
        limits.append(storage_limit_mb)
        least = None if storage_limit_mb is None else storage_limit_mb // 200
        return create(parent, kinds, storage_limit_mb=least, slice_bytes=100_000, **rest)

    monkeypatch.setattr(ProfWriter, "create", small)
    table = tools.operators([tools.Row("add", 10_000 * i, 10_000 * i + 5000) for i in range(4000)])
    requests = {"all": ProfilingRequest(), "less": ProfilingRequest(output=Output(storage_limit_mb=200))}
    paths = {name: write(table, name, request=request).prof_path for name, request in requests.items()}
    assert limits == [None, 200]
    slices = {
        name: {part.name for part in path.glob("device_*/data/*") if part.suffix != ".done"}
        for name, path in paths.items()
    }
    assert slices["less"] < slices["all"]
    kept, host = (
        {part.name for part in paths[name].glob("host/data/*") if not part.name.startswith("aging.")}
        for name in ("less", "all")
    )
    assert kept == host
