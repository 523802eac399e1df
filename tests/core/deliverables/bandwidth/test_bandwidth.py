"""hbm, ddr, llc_read_write and l2_cache: from the bytes of kernels to the cells of the files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.by_hand import BEGIN_NS

from drynpu.kernels import CostTable, KernelSpec
from drynpu.options import Level, LlcMode, Switches
from drynpu.platforms import load_chip

MB = 2.0**20
Rows = Callable[[Path], tuple[list[str], list[list[str]]]]
ON_CORES = ("Small", "Large", "MatMul")
NAMES = ("In", "Small", "Large", "MatMul", "Where", "Large", "Out")


def account(specs: dict[str, KernelSpec], chip: str, *columns: str) -> int:
    """Return the bytes through L2 of the AI core kernels of the recording."""
    names = [name for name in NAMES if name in ON_CORES]
    costs = CostTable.build([specs[name] for name in names], load_chip(chip))
    return sum(int(getattr(costs.l2, column).sum()) for column in columns)


def moved(samples: pl.DataFrame, event: str) -> float:
    """Return the bytes under the curves of the shown rates."""
    rows = samples.filter(pl.col("event") == event).sort("time_ns")
    seconds = pl.col("time_ns").diff().over("unit_id").fill_null(0) / 1e9
    return float(rows.select((pl.col("mb_s") * seconds).sum()).item() * MB)


@pytest.mark.parametrize("hz", [1, 50, 100])
@pytest.mark.parametrize(("chip", "kind"), [("Ascend910B2", "hbm"), ("Ascend910", "hbm"), ("Ascend310P3", "ddr")])
def test_bandwidth_over_time_is_what_was_moved(
    run: Callable[..., Any], kernel_specs: dict[str, KernelSpec], chip: str, kind: str, hz: int
) -> None:
    samples = run(chip=chip, hardware_memory_hz=hz).profile.frame("memory_bandwidth")
    assert samples["kind"].unique().to_list() == [kind]
    copied_in, copied_out = kernel_specs["In"].bytes_written, kernel_specs["Out"].bytes_read
    aicpu = kernel_specs["Where"].bytes_read
    want = {
        "read": account(kernel_specs, chip, "read_misses") + copied_out + aicpu,
        "write": account(kernel_specs, chip, "write_misses") + copied_in + aicpu,
    }
    for event, expected in want.items():
        assert expected > 100_000_000
        assert moved(samples, event) == pytest.approx(expected, rel=1e-6)
        assert samples.filter(pl.col("event") == event)["bytes"].sum() == pytest.approx(expected, abs=32)
        by_unit = samples.filter(pl.col("event") == event).group_by("unit_id").agg(pl.col("bytes").sum())
        assert by_unit["bytes"].max() <= by_unit["bytes"].min() + 32 * samples["time_ns"].n_unique()


def test_samples_lie_at_the_rate_asked_for(run: Callable[..., Any]) -> None:
    profile = run(hardware_memory_hz=100).profile
    times = profile.frame("memory_bandwidth")["time_ns"].unique().sort()
    steps = times.diff().drop_nulls().to_list()
    assert set(steps[:-1]) == {10_000_000}
    assert 0 < steps[-1] <= 10_000_000
    assert times[0] <= profile.kernels["start_ns"].min()
    assert times[-1] >= (profile.kernels["start_ns"] + profile.kernels["duration_ns"]).max()


def test_no_sample_is_above_the_peak_on_one_stream(run: Callable[..., Any]) -> None:
    made = run(hardware_memory_hz=100)
    samples = made.profile.frame("memory_bandwidth")
    both = samples.group_by("time_ns").agg(pl.col("mb_s").sum())
    assert both["mb_s"].max() * MB / 1e9 <= load_chip("Ascend910B2").memory_gbs
    assert both["mb_s"].max() > 0
    assert made.outcome.notes == tuple(note for note in made.outcome.notes if "not written" in note)


def test_streams_that_share_the_memory_are_said_to_pass_its_peak(run: Callable[..., Any]) -> None:
    at = BEGIN_NS + 1_500_000
    made = run(names=("Large",) * 6, streams=tuple((at + 1_000_000 * n, 4321, 3 + n) for n in range(5)))
    assert made.outcome.notes == ()
    specs = ("Large",) * 40
    busy = run(
        names=specs,
        streams=tuple((at - 1_000_000 + 1_000_000 * n, 4321, 3 + n % 7) for n in range(40)),
        hardware_memory_hz=100,
        chip="Ascend310P3",
    )
    assert any("memory bandwidth reaches" in note and "204.8 GB/s" in note for note in busy.outcome.notes)
    assert busy.outcome.describe()["notes"] == list(busy.outcome.notes)


def test_hbm_file(run: Callable[..., Any], read_table: Rows) -> None:
    made = run(hardware_memory_hz=50)
    files = made.files()
    header, rows = read_table(files["hbm.csv"])
    assert header == ["Device_id", "Metric", "Read(MB/s)", "Write(MB/s)"]
    samples = made.profile.frame("memory_bandwidth")
    # The parser takes four stacks for granted (Ascend/msprof analysis/msmodel/hardware/hbm_model.py).
    assert [row[:2] for row in rows] == [["0", name] for name in ("Average", "0", "1", "2", "3")]
    means = [samples.filter(pl.col("event") == event)["mb_s"].mean() for event in ("read", "write")]
    assert [float(cell) for cell in rows[0][2:]] == pytest.approx(means, rel=1e-15)
    for stack, row in enumerate(rows[1:]):
        of_stack = samples.filter(pl.col("unit_id") == stack)
        means = [of_stack.filter(pl.col("event") == event)["mb_s"].mean() for event in ("read", "write")]
        assert row[2:] == [str(round(mean, 3)) for mean in means]
    assert "ddr.csv" not in files


def test_ddr_file(run: Callable[..., Any], read_table: Rows) -> None:
    made = run(chip="Ascend310P3", hardware_memory_hz=50)
    files = made.files()
    header, rows = read_table(files["ddr.csv"])
    assert header == ["Device_id", "Metric", "Read(MB/s)", "Write(MB/s)"]
    samples = made.profile.frame("memory_bandwidth")
    means = [samples.filter(pl.col("event") == event)["mb_s"].mean() for event in ("read", "write")]
    assert rows == [["0", "Average", *(str(round(mean, 3)) for mean in means)]]
    assert "hbm.csv" not in files


def test_a_ddr_count_that_is_too_large_goes_to_several_controllers(run: Callable[..., Any]) -> None:
    made = run(chip="Ascend310P3", names=("Large",) * 40, hardware_memory_hz=1, length_ns=900_000_000)
    records = made.reader.read("ddr", 0)
    assert records["count"].max() < 2**32
    assert made.profile.frame("memory_bandwidth")["unit_id"].unique().to_list() == [-1]


@pytest.mark.parametrize(
    ("chip", "layer", "names"),
    [
        ("Ascend910B2", 24, ("HBM 0/Read", "HBM 0/Write")),
        ("Ascend310P3", 18, ("DDR/Read", "DDR/Write")),
    ],
)
def test_memory_layer(
    run: Callable[..., Any], read_counters: Callable[..., list[dict[str, Any]]], chip: str, layer: int, names: Any
) -> None:
    made = run(chip=chip, hardware_memory_hz=50)
    events = read_counters(made.files()["msprof.json"], layer)
    samples = made.profile.frame("memory_bandwidth")
    assert len(events) == samples.height
    for name, kind in zip(names, ("read", "write"), strict=True):
        shown = [event for event in events if event["name"] == name]
        own = samples.filter((pl.col("event") == kind) & (pl.col("unit_id") <= 0))
        assert [next(iter(event["args"])) for event in shown] == [f"{kind.capitalize()}(MB/s)"] * own.height
        assert [next(iter(event["args"].values())) for event in shown] == pytest.approx(own["mb_s"].to_list())
        assert [event["ts"] for event in shown] == [f"{ns // 1000}.{ns % 1000:03d}" for ns in own["time_ns"]]


@pytest.mark.parametrize("mode", [LlcMode.READ, LlcMode.WRITE])
def test_caches_show_the_traffic_of_the_cores(
    run: Callable[..., Any], kernel_specs: dict[str, KernelSpec], mode: LlcMode
) -> None:
    chip = "Ascend910B2"
    samples = run(hardware_memory_hz=100, llc=mode).profile.frame("llc_samples")
    assert samples["llc_id"].unique().sort().to_list() == [0, 1]
    assert samples["mode"].unique().to_list() == [mode.value]
    rated = samples.with_columns((pl.col("time_ns").diff().over("llc_id").fill_null(0) / 1e9).alias("s"))
    shown = float((rated["mb_s"] * rated["s"]).sum() * MB)
    want = account(kernel_specs, chip, "reads", "writes")
    assert shown == pytest.approx(want, rel=1e-3)
    assert samples["hit_rate"].is_between(0, 1).all()
    # The large kernel is far beyond L2, the small ones fit.
    busy = samples.filter(pl.col("mb_s") > 0)
    assert 0 < busy["hit_rate"].min() < 0.2


def test_llc_file_and_layer(
    run: Callable[..., Any], read_table: Rows, read_counters: Callable[..., list[dict[str, Any]]]
) -> None:
    made = run(hardware_memory_hz=50)
    files, samples = made.files(), made.profile.frame("llc_samples")
    header, rows = read_table(files["llc_read_write.csv"])
    assert header == ["Device_id", "Mode", "Task", "Hit Rate(%)", "Throughput(MB/s)"]
    assert [row[:3] for row in rows] == [["0", "read", "Average"], ["0", "read", "0"], ["0", "read", "1"]]
    first = samples.filter(pl.col("llc_id") == 0)
    assert float(rows[1][3]) == pytest.approx(first["hit_rate"].mean() * 100, abs=1e-3)
    assert float(rows[1][4]) == pytest.approx(first["mb_s"].mean(), abs=1e-3)
    assert float(rows[0][4]) == pytest.approx((float(rows[1][4]) + float(rows[2][4])) / 2, abs=2e-3)
    events = read_counters(files["msprof.json"], 27)
    by_name = {name: [e for e in events if e["name"] == name] for name in {e["name"] for e in events}}
    assert set(by_name) == {f"LLC {n} Read/{what}" for n in (0, 1) for what in ("Hit Rate", "Throughput")}
    shown = [event["args"]["Hit Rate(%)"] for event in by_name["LLC 0 Read/Hit Rate"]]
    assert shown == pytest.approx(first["hit_rate"].to_list())


@pytest.mark.parametrize("chip", ["Ascend910B2", "Ascend910", "Ascend310P3", "Ascend950PR"])
def test_l2_of_tasks(run: Callable[..., Any], read_table: Rows, chip: str) -> None:
    made = run(chip=chip, switches=Switches(l2_cache=True))
    tasks = made.profile.frame("l2_cache_tasks")
    assert tasks["name"].to_list() == [f"{name}_kernel" for name in NAMES if name in ON_CORES]
    assert (tasks["hits"] <= tasks["requests"]).all()
    assert (tasks["victims"] <= tasks["requests"] - tasks["hits"]).all()
    large = tasks.filter(pl.col("name") == "Large_kernel").row(0, named=True)
    small = tasks.filter(pl.col("name") == "Small_kernel").row(0, named=True)
    assert small["hits"] == small["requests"] > 0
    assert large["hits"] < large["requests"]
    assert large["victims"] > 0
    header, rows = read_table(made.files()["l2_cache.csv"])
    assert header == ["Device_id", "Stream Id", "Task Id", "Hit Rate", "Victim Rate", "Op Name"]
    hidden = made.profile.platform_version in ("5", "15")
    for row, task in zip(rows, tasks.iter_rows(named=True), strict=True):
        assert row[1:3] == [str(task["stream_id"]), str(task["task_id"])]
        rate = round(task["hits"] / task["requests"], 6)
        assert row[3] == ("N/A" if hidden else str(rate))
        assert float(row[4]) == pytest.approx(task["victims"] / task["requests"], abs=1e-6)
        assert row[5] == task["name"]


def test_torch_gets_the_l2_file_but_not_the_memory_files(run: Callable[..., Any], read_table: Rows) -> None:
    files = run(switches=Switches(l2_cache=True), hardware_memory_hz=50).torch_files()
    header, rows = read_table(files["l2_cache.csv"])
    assert header[-2:] == ["Victim Rate", "Op Name"]
    assert len(rows) == 4
    assert not {"hbm.csv", "llc_read_write.csv", "ddr.csv", "soc_pmu.csv"} & set(files)


@pytest.mark.parametrize("chip", ["Ascend910B2", "Ascend310P3", "Ascend310"])
def test_nothing_is_sampled_unasked(
    run: Callable[..., Any], read_layers: Callable[[Path], set[str]], chip: str
) -> None:
    made = run(chip=chip)
    files = made.files()
    assert not {"hbm.csv", "ddr.csv", "llc_read_write.csv", "l2_cache.csv", "npu_mem.csv"} & set(files)
    assert not {"HBM", "DDR", "LLC", "NPU MEM"} & read_layers(files["msprof.json"])
    assert made.outcome.notes == ()


def test_the_310_has_ddr_and_neither_cache_file(run: Callable[..., Any]) -> None:
    made = run(chip="Ascend310", hardware_memory_hz=50, switches=Switches(l2_cache=True))
    files = made.files()
    assert "ddr.csv" in files
    assert not {"hbm.csv", "llc_read_write.csv", "l2_cache.csv"} & set(files)


def test_what_is_not_modelled_is_said(run: Callable[..., Any], read_layers: Callable[[Path], set[str]]) -> None:
    made = run(hardware_memory_hz=50, switches=Switches(l2_cache=True))
    assert [note.split(" is not written")[0] for note in made.outcome.notes] == [
        "Acc PMU",
        "QoS",
        "Stars Soc Info",
        "soc_pmu",
    ]
    files = made.files()
    assert "soc_pmu.csv" not in files
    assert not {"Acc PMU", "QoS", "Stars Soc Info"} & read_layers(files["msprof.json"])


def test_levels_without_tasks_have_samples_but_no_task_counters(run: Callable[..., Any]) -> None:
    asked = {"switches": Switches(l2_cache=True), "hardware_memory_hz": 50}
    whole, none = run(**asked), run(level=Level.NONE, **asked)
    assert len(whole.reader.read("l2_cache", 0)) == 4
    assert len(none.reader.read("l2_cache", 0)) == 0
    assert none.profile.frame("memory_bandwidth").equals(whole.profile.frame("memory_bandwidth"))
    parameters = whole.reader.sample(0)
    assert parameters["l2CacheTaskProfilingEvents"] == "0xf6,0xfb,0xfc,0xbf,0x90,0x91,0x9c,0x9d"
    assert parameters["hbm_profiling_events"] == "read,write"


@pytest.mark.parametrize(
    ("asked", "hz"), [({"hardware_memory_hz": 100}, 100), ({"switches": Switches(profile_memory=True)}, 50)]
)
def test_memory_in_use_is_sampled_at_the_same_rate(run: Callable[..., Any], asked: dict[str, Any], hz: int) -> None:
    memory = run(allocated=True, **asked).profile.frame("npu_mem")
    assert set(memory["time_ns"].diff().drop_nulls().to_list()) == {1_000_000_000 // hz}
    assert memory["hbm_bytes"].max() > 0


@pytest.mark.parametrize("chip", ["Ascend910B2", "Ascend310P3"])
def test_an_idle_device_is_sampled_as_idle(run: Callable[..., Any], chip: str) -> None:
    made = run(chip=chip, names=(), hardware_memory_hz=50, interconnection_hz=50, switches=Switches(l2_cache=True))
    samples = made.profile.frame("memory_bandwidth")
    assert samples.height == 2 * 4 * (4 if samples["kind"][0] == "hbm" else 1)
    assert samples["mb_s"].max() == samples["bytes"].max() == 0
    caches = made.profile.frame("llc_samples")
    assert caches["hit_rate"].max() == caches["mb_s"].max() == 0
    assert made.profile.frame("pcie_samples")["rx_cpl_max"].max() == 0
    assert "l2_cache.csv" not in made.files()
