"""Every counter group on every class of chip: recorded, read back, and shown as op_summary and kernel_details."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from attrs import evolve, frozen
from tests.by_hand import ANCHORS, BEGIN_NS, PID, call_table

from drynpu import OptionError
from drynpu.deliverables.counters.records import counter_problem
from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.kernels import (
    CoreCounters,
    CostTable,
    KernelPlan,
    KernelSpec,
    Operators,
    Signature,
    TaskType,
    TensorDesc,
    counter_values,
    event_codes,
    metric_column_names,
    metric_columns,
)
from drynpu.options import Clock, CustomEvents, Level, MetricGroup, Metrics, ProfilingRequest, Sampling
from drynpu.options.profiling_options import METRIC_NAMES, metric_groups, metrics_text, parse
from drynpu.platforms import Chip, load_chip
from drynpu.products import export_msprof, export_torch, load_profile
from drynpu.raw import ProfReader, write_document
from drynpu.recorder import Outcome, Setup, write_recording
from drynpu.simulate import Destination, Recording, simulate
from drynpu.tables import KERNELS, Profile

END_NS = BEGIN_NS + 60_000_000
CHIPS = ("Ascend310", "Ascend310P3", "Ascend910A", "Ascend910B2", "Ascend910_93", "Ascend950PR")
SPLIT = CHIPS[3:]
GIB = 2.0**30
LINE = 128
CELLS = [(chip, group) for chip in CHIPS for group in metric_groups(load_chip(chip).platform)]

HALF, WHOLE, BYTE = (TensorDesc((512, 1024), dtype) for dtype in ("FLOAT16", "FLOAT", "INT8"))
LARGE = TensorDesc((8192, 16384), "FLOAT16")
"""More than any L2 holds."""


def kernel(
    kind: TaskType, tensor: TensorDesc, *, cube_flops: int = 0, vector_ops: int = 0, tiles: int = 0
) -> KernelSpec:
    return KernelSpec(
        name=f"aclnn_{kind.name}_{tensor.dtype}",
        op_type=f"Op{kind.name}",
        task_type=kind,
        inputs=(tensor, tensor),
        outputs=(tensor,),
        cube_flops=cube_flops,
        vector_ops=vector_ops,
        bytes_read=2 * tensor.size_bytes,
        bytes_written=tensor.size_bytes,
        cube_tiles=tiles,
    )


FLOPS = 2 * 512 * 1024 * 1024
KINDS = (
    kernel(TaskType.AI_CORE, HALF, cube_flops=FLOPS, tiles=12),
    kernel(TaskType.AI_VECTOR_CORE, WHOLE, vector_ops=512 * 1024),
    kernel(TaskType.MIX_AIC, HALF, cube_flops=FLOPS, vector_ops=512 * 1024, tiles=16),
    kernel(TaskType.MIX_AIV, HALF, vector_ops=3 * 512 * 1024),
    kernel(TaskType.AI_CORE, BYTE, cube_flops=FLOPS, tiles=8),
    kernel(TaskType.AI_CPU, WHOLE, vector_ops=1024),
    kernel(TaskType.AI_CORE, LARGE, cube_flops=64 * FLOPS, tiles=64),
    kernel(TaskType.AI_VECTOR_CORE, LARGE, vector_ops=LARGE.elements),
)
LAUNCHED = (0, 1, 2, 3, 4, 1, 0, 6, 7, 5)
COUNTED = slice(0, 9)
"""All but the AI CPU's."""


def plan(signature: Signature) -> KernelPlan:
    return KernelPlan(api="aclnnAny", kernels=(KINDS[int(signature.name.removeprefix("op"))],))


def operators() -> Operators:
    start = BEGIN_NS + 1_000_000 + 1_000_000 * np.arange(len(LAUNCHED))
    kinds = np.array(LAUNCHED)
    return call_table(
        tuple(f"op{kind}" for kind in range(len(KINDS))),
        kinds,
        start,
        start + 400_000,
        tuple(Signature(f"op{kind}", spec.inputs) for kind, spec in enumerate(KINDS)),
        texts=(("float;float", "512,1024;512,1024"),) * len(KINDS),
    )


@frozen(eq=False)
class Result:
    """What one recording left, and the account of its launches."""

    profile: Profile
    outcome: Outcome
    account: CostTable
    duration_us: np.ndarray
    tick_us: float
    op_summary: list[dict[str, str]]
    kernel_details: list[dict[str, str]]

    def column(self, name: str) -> np.ndarray:
        return np.array([float(row[name]) if row[name] != "N/A" else np.nan for row in self.op_summary])

    @property
    def counters(self) -> list[str]:
        """Names behind those that every op_summary has."""
        names = list(self.op_summary[0])
        return names[names.index("Context ID" if "Context ID" in names else "Output Formats") + 1 :]

    def bytes_behind(self, name: str) -> np.ndarray:
        """Bytes that a bandwidth column stands for: the rate of one core, times all cores' cycles."""
        side = name[:4] if name[:4] in ("aic_", "aiv_") else ""
        return self.column(f"{name}(GB/s)") * GIB * self.column(f"{side}total_cycles") / (self.profile.aic_mhz * 1e6)


Record = Callable[..., Result]


def carry_out(directory: Path, chip: Chip, request: ProfilingRequest) -> Result:
    how: dict[str, Any] = {"chip": chip, "clock": Clock.PROJECTED, "seed": 3}
    recording = Recording(operators=operators(), begin_ns=BEGIN_NS, end_ns=END_NS)
    target = Destination(directory=directory, framework="torch", pid=PID)
    outcome = write_recording(recording, target, Setup(request=request, anchors=ANCHORS, plan=plan, **how))
    simulation = simulate(recording, plan=plan, base_ns=BEGIN_NS, **how)
    write_document(directory / "profiler_info.json", "{}")  # what a framework leaves when a recording is whole
    profile = load_profile(directory)
    summary, details = (
        next(path for path in paths if path.name.startswith(stem))
        for paths, stem in ((export_msprof(profile), "op_summary"), (export_torch(profile), "kernel_details"))
    )
    return Result(
        profile=profile,
        outcome=outcome,
        account=simulation.costs.take(simulation.lowered.launch_kernel, simulation.factor),
        duration_us=simulation.kernel_ticks * simulation.tick_ns / 1000,
        tick_us=simulation.tick_ns / 1000,
        op_summary=read(summary),
        kernel_details=read(details),
    )


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Return a function that records a group on a chip; the same recording each time, so that it is kept."""
    known: dict[object, Result] = {}

    def make(chip: str | Chip, metrics: Metrics, level: Level = Level.L1, sampling: Sampling | None = None) -> Result:
        key = chip, metrics, level, sampling
        if key not in known:
            description = load_chip(chip) if isinstance(chip, str) else chip
            request = ProfilingRequest(level=level, aic_metrics=metrics, sampling=sampling or Sampling())
            directory = tmp_path_factory.mktemp("run") / "box_1_20260101000000000_ascend_pt"
            directory.mkdir()
            known[key] = carry_out(directory, description, request)
        return known[key]

    return make


def text(value: float) -> str:
    return "N/A" if np.isnan(value) else repr(float(np.round(value, 3)))


def on_ticks(time_ns: np.ndarray, found: Result) -> np.ndarray:
    """Return core times as the 950's records hold them, us."""
    return np.rint(time_ns / 1000 / found.tick_us) * found.tick_us


def expected(found: Result, metrics: str) -> dict[str, np.ndarray]:
    """Return the columns from the account, without records."""
    account, chip = found.account, found.account.chip
    events, (cube, vector) = counter_values(account, metrics), event_codes(metrics, chip)
    ticked = chip.platform_version == "15"
    core = CoreCounters(
        total_cycles=events.aic_total_cycles,
        pmu=events.aic_pmu,
        block_num=account.block_num,
        mhz=chip.aic_mhz,
        cores=chip.cube_cores,
        events=cube,
        time_us=on_ticks(account.cube.time_ns, found) if ticked else None,
    )
    other = CoreCounters(
        total_cycles=events.aiv_total_cycles,
        pmu=events.aiv_pmu,
        block_num=account.aiv_blocks,
        mhz=chip.aiv_mhz,
        cores=chip.vector_cores,
        events=vector,
        time_us=on_ticks(account.vector.time_ns, found) if ticked else None,
    )
    return metric_columns(metrics, core, other if chip.split else None, found.duration_us, chip.platform)


def shown(name: str, value: float, chip: Chip) -> str:
    if name.endswith("total_cycles"):
        return str(int(value))
    return f"{value:.3f}" if name == "cube_utilization(%)" and chip.split else text(value)


@pytest.mark.parametrize(("chip", "group"), CELLS)
def test_columns_in_order_with_the_numbers_of_the_account(record: Record, chip: str, group: MetricGroup) -> None:
    found, metrics = record(chip, group), METRIC_NAMES[group]
    columns = metric_column_names(metrics, found.account.chip.platform)
    assert found.profile.aic_metrics == metrics
    assert found.profile.pmu_columns == tuple(found.counters) == columns
    assert list(found.kernel_details[0])[-len(columns) :] == list(columns)
    assert [row["OP Type"] for row in found.op_summary] == [KINDS[kind].op_type for kind in LAUNCHED]
    told = expected(found, metrics)
    for row, (seen, details) in enumerate(zip(found.op_summary, found.kernel_details, strict=True)):
        counted = KINDS[LAUNCHED[row]].task_type is not TaskType.AI_CPU
        for name in columns:
            assert seen[name] == (shown(name, told[name][row], found.account.chip) if counted else "N/A"), name
            assert details[name] == seen[name]
    assert found.outcome.notes == found.profile.notes == ()


@pytest.mark.parametrize("chip", CHIPS)
def test_groups_are_about_the_same_run(record: Record, chip: str) -> None:
    """Whatever is counted, a recording has the same kernels at the same times, with the same cycles."""
    groups = metric_groups(load_chip(chip).platform)
    first = record(chip, groups[0])
    lead = [name for name in first.counters if "cycles" in name or name in ("aicore_time(us)", "aiv_time(us)")]
    assert len(lead) == (4 if chip in SPLIT else 2)
    for group in groups[1:]:
        found = record(chip, group)
        assert found.profile.kernels.select(KERNELS.names()).equals(first.profile.kernels.select(KERNELS.names()))
        for name in lead:
            np.testing.assert_array_equal(found.column(name), first.column(name))


@pytest.mark.parametrize("chip", CHIPS)
def test_times_are_those_of_the_account(record: Record, chip: str) -> None:
    found = record(chip, MetricGroup.PIPE_UTILIZATION)
    rows, of = COUNTED, found.account
    pairs = {"aicore_time(us)": of.cube.time_ns}
    if chip in SPLIT:
        pairs |= {"aic_mac_time(us)": of.cube.mac_ns, "aic_mte1_time(us)": of.cube.mte1_ns}
        pairs |= {"aic_mte2_time(us)": of.cube.mte2_ns}
        pairs |= {"aic_fixpipe_time(us)": of.cube.fixpipe_ns, "aiv_time(us)": of.vector.time_ns}
        pairs |= {"aiv_vec_time(us)": of.vector.vec_ns, "aiv_mte3_time(us)": of.vector.mte3_ns}
    else:
        pairs |= {"mac_time(us)": of.cube.mac_ns, "vec_time(us)": of.vector.vec_ns, "mte3_time(us)": of.vector.mte3_ns}
    for name, time_ns in pairs.items():
        # Cycles are whole numbers, the 950's core times whole ticks, cells have three decimals.
        np.testing.assert_allclose(found.column(name)[rows], time_ns[rows] / 1000, rtol=1e-4, atol=found.tick_us)
    busy = [name for name in pairs if found.column(name)[rows].any()]
    assert busy == list(pairs)
    assert (found.column("aicore_time(us)")[rows] <= found.duration_us[rows] + 1e-3).all()


@pytest.mark.parametrize("chip", ["Ascend910B2", "Ascend910_93"])
def test_three_groups_tell_the_same_bytes(record: Record, chip: str) -> None:
    memory, access, cache = (
        record(chip, group) for group in (MetricGroup.MEMORY, MetricGroup.MEMORY_ACCESS, MetricGroup.L2_CACHE)
    )
    of, rows = memory.account, COUNTED
    cube, vector = of.work.cube, of.work.vector
    for side, moved in (("aic", cube), ("aiv", vector)):
        read_kb = access.column(f"{side}_read_main_memory_datas(KB)")[rows]
        np.testing.assert_allclose(1024 * read_kb, of.gather(moved.main_read_bytes)[rows], atol=2 * LINE)
        # A bandwidth has three decimals of GB/s.
        room = 0.0006 * GIB * memory.column(f"{side}_total_cycles")[rows] / (memory.profile.aic_mhz * 1e6) + 2 * LINE
        assert (abs(memory.bytes_behind(f"{side}_main_mem_read_bw")[rows] - 1024 * read_kb) <= room).all()
        lines = sum(cache.column(f"{side}_r{way}_read_cache_miss_allocate")[rows] for way in (0, 1))
        np.testing.assert_allclose(lines * LINE, 1024 * read_kb, atol=2 * LINE)
        assert 1024 * read_kb.max() > LARGE.size_bytes
    moved_kb = {"aic_GM_to_L1_datas(KB)": cube.gm_to_l1_bytes, "aiv_UB_to_GM_datas(KB)": vector.ub_to_gm_bytes}
    for column, bytes_moved in moved_kb.items():
        np.testing.assert_allclose(1024 * access.column(column)[rows], of.gather(bytes_moved)[rows], atol=256)
    assert access.column("aic_GM_to_L1_datas(KB)")[0] > 0
    assert access.column("aiv_UB_to_GM_datas(KB)")[1] > 0


@pytest.mark.parametrize("chip", CHIPS)
def test_products_of_a_matmul(record: Record, chip: str) -> None:
    found = record(chip, MetricGroup.ARITHMETIC_UTILIZATION)
    prefix = "aic_" if chip in SPLIT else ""
    fops, fp16, int8 = (found.column(f"{prefix}{name}") for name in ("cube_fops", "mac_fp16_ratio", "mac_int8_ratio"))
    np.testing.assert_allclose(fops[[0, 4, 6]], FLOPS, rtol=2e-3)
    assert fops[1] == 0
    assert fp16[0] > 0 == int8[0]
    assert int8[4] > 0 == fp16[4]


@pytest.mark.parametrize("chip", SPLIT)
def test_a_mixed_kernel_has_both_halves(record: Record, chip: str) -> None:
    found = record(chip, MetricGroup.PIPE_UTILIZATION)
    assert found.op_summary[2]["Task Type"] == "MIX_AIC"
    assert found.column("aic_mac_ratio")[2] > 0
    assert found.column("aiv_vec_ratio")[2] > 0
    assert found.column("aiv_mte3_ratio")[2] > 0
    assert found.column("aic_total_cycles")[[1, 3]].tolist() == [0, 0]
    assert found.column("aiv_total_cycles")[[0, 4]].tolist() == [0, 0]


def sample(found: Result) -> dict[str, str]:
    assert found.profile.prof_path is not None
    text = (found.profile.prof_path / "device_0" / "sample.json").read_text(encoding="utf-8")
    document: dict[str, str] = json.loads(text)
    return document


@pytest.mark.parametrize(("chip", "group"), CELLS)
def test_the_collectors_parameters_say_what_was_counted(record: Record, chip: str, group: MetricGroup) -> None:
    document, name = sample(record(chip, group)), METRIC_NAMES[group]
    exact = chip in ("Ascend910B2", "Ascend910_93") and group is MetricGroup.PIPE_UTILIZATION
    events = [",".join(f"{code:#x}" for code in codes) for codes in event_codes(name, load_chip(chip))]
    assert document["ai_core_metrics"] == ("PipeUtilizationExct" if exact else name)
    assert document["aiv_metrics"] == (name if chip in SPLIT else "")
    assert [document["ai_core_profiling_events"], document["aiv_profiling_events"]] == events
    assert (document["ai_core_profiling"], document["ai_core_profiling_mode"]) == ("on", "task-based")
    assert document["aiv_profiling"] == ("on" if chip in SPLIT else "off")


CUSTOM = {"Ascend310P3": (0x8, 0x12), "Ascend910B2": (0x49, 0x416, 0x8, 0x50D), "Ascend950PR": (0x301, 0x501, 0x424)}


@pytest.mark.parametrize("chip", CUSTOM)
def test_custom_events_are_columns_of_their_own(record: Record, chip: str) -> None:
    custom = CustomEvents(CUSTOM[chip])
    found, metrics = record(chip, custom), metrics_text(custom)
    assert found.profile.aic_metrics == sample(found)["ai_core_metrics"] == metrics
    assert found.counters == list(metric_column_names(metrics, found.account.chip.platform))
    sides = ("aic_", "aiv_") if chip in SPLIT else ("",)
    assert found.counters[2 : 2 + len(custom.events)] == [f"{sides[0]}r{code:x}" for code in custom.events]
    told = expected(found, metrics)
    for name in found.counters:
        np.testing.assert_allclose(found.column(name)[COUNTED], told[name][COUNTED], atol=6e-4)
    assert all(any(found.column(f"{side}r{code:x}")[COUNTED].any() for side in sides) for code in custom.events)


MINI = evolve(load_chip("Ascend310"), name="Ascend310B4", platform_version="7")
REFUSED = [
    ("Ascend910A", MetricGroup.L2_CACHE, "Ascend910 has no counters for 'L2Cache'; available: Arithmetic"),
    ("Ascend310P3", MetricGroup.MEMORY_ACCESS, "Ascend310P has no counters for 'MemoryAccess'"),
    ("Ascend950PR", MetricGroup.MEMORY_ACCESS, "Ascend950 has no counters for 'MemoryAccess'"),
    ("Ascend910B2", MetricGroup.PIPELINE_EXECUTE_UTILIZATION, "Ascend910B/A3 has no counters for 'PipelineExecute"),
    ("Ascend910B2", CustomEvents((0x8, 0x7FFF)), "event(s) 0x7fff of 'Custom:0x8,0x7fff' are not modelled"),
    (MINI, MetricGroup.PIPE_UTILIZATION, "the counters of Ascend310B can be read, but are not modelled"),
]


@pytest.mark.parametrize(("chip", "metrics", "why"), REFUSED)
def test_counters_that_a_chip_does_not_give_are_named(
    record: Record, chip: str | Chip, metrics: Metrics, why: str
) -> None:
    found = record(chip, metrics)
    assert why in (counter_problem(metrics, found.account.chip) or "")
    (note,) = found.outcome.notes
    assert note.startswith("No counters were recorded: aic_metrics: ")
    assert why in note
    assert found.counters == []
    assert (found.profile.aic_metrics, sample(found)["ai_core_profiling"]) == ("", "off")
    assert len(found.op_summary) == len(LAUNCHED)


def test_options_refuse_what_the_chip_lacks() -> None:
    with pytest.raises(OptionError, match="MemoryAccess"):
        parse({"output": "x", "aic_metrics": "MemoryAccess"}, chip="Ascend910A")


def test_level0_and_none_count_nothing(record: Record) -> None:
    for metrics, level in ((MetricGroup.MEMORY, Level.L0), (MetricGroup.NONE, Level.L1)):
        found = record("Ascend910B2", metrics, level)
        assert found.outcome.notes == ()
        assert sample(found)["ai_core_metrics"] == ""
        assert found.counters == []
        assert not list(found.profile.path.rglob("ffts_profile*"))


def test_tasks_have_no_counters_where_cores_were_sampled(record: Record) -> None:
    found = record("Ascend910B2", MetricGroup.MEMORY, Level.L1, Sampling(ai_core_hz=100))
    assert sample(found)["ai_core_profiling_mode"] == sample(found)["aiv_profiling_mode"] == "sample-based"
    assert found.counters == []
    assert found.profile.notes == ()


def test_the_later_platform_of_the_950(record: Record) -> None:
    found = record(evolve(load_chip("Ascend950PR"), platform_version="16"), MetricGroup.MEMORY_UB)
    assert found.counters == record("Ascend950PR", MetricGroup.MEMORY_UB).counters
    assert found.op_summary == record("Ascend950PR", MetricGroup.MEMORY_UB).op_summary


def test_records_of_the_950(record: Record) -> None:
    """One context record per kernel and kind of core; its ticks are that core's time."""
    found = record("Ascend950PR", MetricGroup.MEMORY)
    assert found.profile.prof_path is not None
    rows = ProfReader(found.profile.prof_path, RECORD_KINDS).read("ffts_profile_v6", 0)
    assert set(rows["header"] & 0x3F) == {0x2A}
    rows = rows[np.lexsort((1 - (rows["flags"] & 1), rows["start_tick"]))]
    # Launches: cube, vector, both, vector of a mixed kind, cube, vector, cube, cube, vector.
    assert [(int(row["flags"]), int(row["core_type"])) for row in rows] == [
        (1, 0), (1, 1), (3, 0), (2, 1), (3, 1), (1, 0), (1, 1), (1, 0), (1, 0), (1, 1),
    ]  # fmt: skip
    tasks = found.profile.tasks.filter(pl.col("kernel_name").str.contains("MIX_AIC"))
    assert rows["end_tick"][2] - rows["start_tick"][2] == round(found.account.cube.time_ns[2] / found.tick_us / 1000)
    assert tasks["duration_ns"].to_list() == [round(1000 * found.duration_us[2])]


def test_profiles_without_a_list_of_events_have_the_usual_ones(record: Record) -> None:
    for chip, group in (("Ascend910B2", MetricGroup.PIPE_UTILIZATION), ("Ascend950PR", MetricGroup.MEMORY)):
        found = record(chip, group)
        assert found.profile.prof_path is not None
        for path in found.profile.prof_path.rglob("sample.json"):
            kept = {key: value for key, value in json.loads(path.read_text()).items() if "events" not in key}
            path.write_text(json.dumps(kept))
        assert load_profile(found.profile.path).kernels.equals(found.profile.kernels)
