"""Records of monitors that no simulation writes: put beside a recording, read back, and shown."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from drynpu.deliverables.monitors.facts import ChipLinkType
from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.layouts.schedulers import StarsFunction
from drynpu.layouts.soc_pmu import SocPmuType
from drynpu.products import load_profile
from drynpu.products.toolkit._db import export_msprof_db
from drynpu.raw import ProfWriter, pack_stars_header
from drynpu.tables import Profile

Rows = Callable[[Path], tuple[list[str], list[list[str]]]]
Counters = Callable[[Path, int], list[dict[str, Any]]]
TICK = 250_000_000


def add(made: Any, name: str, rows: Any, **sample: object) -> None:
    """Write records into the directory of a recording, and settings into its sample.json."""
    prof = made.profile.prof_path
    ProfWriter(prof, RECORD_KINDS).write(name, rows, 0)
    for path in prof.rglob("sample.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | sample))


def again(made: Any) -> Any:
    return type(made)(outcome=made.outcome, profile=load_profile(made.profile.path))


def rows_of(profile: Profile, query: str) -> list[tuple[Any, ...]]:
    path = export_msprof_db(profile)
    assert path is not None
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


def header(function: StarsFunction, count: int, kind: Any = 0) -> Any:
    return pack_stars_header(int(function), np.arange(count), kind)


def test_accelerators(run: Callable[..., Any], read_counters: Counters, read_layers: Any) -> None:
    made = run()
    rows = RECORD_KINDS.record("acc_pmu").new(3)
    rows["tick"], rows["acc_id"] = [TICK, TICK, TICK + 50], [1, 0, 1]
    rows["read_bandwidth"], rows["write_bandwidth"] = [5, 7, 1], [2, 1, 0]
    rows["read_outstanding"], rows["write_outstanding"] = [10, 11, 12], [3, 4, 5]
    add(made, "acc_pmu", rows)
    made = again(made)
    path = made.files()["msprof.json"]
    assert "Acc PMU" in read_layers(path)
    found: dict[str, list[int]] = {}
    for event in read_counters(path, 19):
        found.setdefault(event["name"], []).append(event["args"]["value"])
    # Of the accelerators with a sample at one time, the largest.
    assert found == {"read_bandwidth": [7, 1], "read_ost": [11, 12], "write_bandwidth": [2, 0], "write_ost": [4, 5]}
    columns = "accId, readBwLevel, writeBwLevel, readOstLevel, writeOstLevel"
    stored = rows_of(made.profile, f"SELECT {columns} FROM ACC_PMU ORDER BY timestampNs, accId")
    assert stored == [(0, 7, 1, 11, 4), (1, 5, 2, 10, 3), (1, 1, 0, 12, 5)]


def test_levels_of_the_buses(run: Callable[..., Any], read_counters: Counters) -> None:
    made = run()
    rows = RECORD_KINDS.record("soc_bandwidth").new(2)
    rows["tick"], rows["levels"] = [TICK, TICK + 50], [0b111_1111_1101, 3]
    add(made, "soc_bandwidth", rows)
    made = again(made)
    events = read_counters(made.files()["msprof.json"], 25)
    assert [(event["name"], event["args"]) for event in events] == [
        ("L2 Buffer Bw Level", {"L2 Buffer Bw Level": 255}),
        ("L2 Buffer Bw Level", {"L2 Buffer Bw Level": 0}),
        ("Mata Bw Level", {"Mata Bw Level": 5}),
        ("Mata Bw Level", {"Mata Bw Level": 3}),
    ]
    begin = made.profile.frame("soc_levels")["time_ns"][0]
    assert float(events[0]["ts"]) == begin / 1000
    assert rows_of(made.profile, "SELECT * FROM SOC_BANDWIDTH_LEVEL") == [(255, 5, begin, 0), (0, 3, begin + 1000, 0)]


def test_links_to_other_chips(run: Callable[..., Any], read_counters: Counters) -> None:
    made = run()
    rows = RECORD_KINDS.record("chip_trans").new(3)
    rows["header"] = header(0x1B, 3, [ChipLinkType.PA, ChipLinkType.PCIE, 5])
    rows["tick"], rows["link_id"] = TICK, [0x42, 1, 1]
    rows["rx_or_write"], rows["tx_or_read"] = [8, 100, 1], [9, 200, 1]
    add(made, "chip_trans", rows)
    made = again(made)
    events = read_counters(made.files()["msprof.json"], 26)
    assert [(event["name"], event["tid"], event["args"]) for event in events] == [
        ("PA Link Rx", 111111, {"PA Link ID": 2, "PA Link Rx": 8}),
        ("PA Link Tx", 111111, {"PA Link ID": 2, "PA Link Tx": 9}),
        ("PCIE Write Bandwidth", 100010, {"PCIE ID": 1, "PCIE Write Bandwidth": 100}),
        ("PCIE Read Bandwidth", 100010, {"PCIE ID": 1, "PCIE Read Bandwidth": 200}),
    ]


def test_links_of_the_950(run: Callable[..., Any], read_counters: Counters) -> None:
    made = run(chip="Ascend950PR")
    rows = RECORD_KINDS.record("chip_trans_v6").new(2)
    rows["header"] = header(0x1B, 2, [0, 1])
    rows["tick"], rows["write"], rows["read"] = TICK, [3, 4], [5, 6]
    add(made, "chip_trans_v6", rows)
    events = read_counters(again(made).files()["msprof.json"], 26)
    assert [(event["name"], event["args"]) for event in events] == [
        ("PCIE Write Bandwidth", {"U-Die0": 3}),
        ("PCIE Write Bandwidth", {"U-Die1": 4}),
        ("PCIE Read Bandwidth", {"U-Die0": 5}),
        ("PCIE Read Bandwidth", {"U-Die1": 6}),
    ]


def test_memory_partitions(run: Callable[..., Any], read_counters: Counters) -> None:
    made = run()
    rows = RECORD_KINDS.record("qos").new(2)
    rows["tick"], rows["bandwidth"] = [TICK, TICK + 50], np.arange(20).reshape(2, 10)
    add(made, "qos", rows, qosEvents="sdma,dvpp")
    made = again(made)
    events = read_counters(made.files()["msprof.json"], 29)
    assert [(event["name"], event["args"]) for event in events] == [
        ("QoS sdma", {"value": 0}),
        ("QoS dvpp", {"value": 1}),
        ("QoS sdma", {"value": 10}),
        ("QoS dvpp", {"value": 11}),
    ]
    query = "SELECT value, bandwidth, dieId FROM QOS JOIN STRING_IDS ON id = eventName"
    assert sorted(rows_of(made.profile, query)) == [
        ("dvpp", 1, -1),
        ("dvpp", 11, -1),
        ("sdma", 0, -1),
        ("sdma", 10, -1),
    ]


def test_memory_partitions_without_names_are_left_out(run: Callable[..., Any]) -> None:
    made = run()
    add(made, "qos", RECORD_KINDS.record("qos").new(2))
    made = again(made)
    assert made.profile.frame("qos_samples").is_empty()
    assert any("qosEvents is empty" in note for note in made.profile.notes)


def test_memory_partitions_of_the_950(run: Callable[..., Any], read_counters: Counters) -> None:
    made = run(chip="Ascend950PR")
    rows = RECORD_KINDS.record("stars_qos").new(3)
    rows["header"] = header(0x18, 3, [0, 1, 0])
    rows["tick"], rows["bandwidth"] = [TICK, TICK, TICK + 50], np.arange(30).reshape(3, 10)
    add(made, "stars_qos", rows, qosEvents="sdma")
    events = read_counters(again(made).files()["msprof.json"], 29)
    # The first two of the ten numbers are no partitions.
    assert sorted(map(str, (event["args"] for event in events))) == ["{'die 0': 2, 'die 1': 12}", "{'die 0': 22}"]


def test_image_engines(run: Callable[..., Any], read_table: Rows) -> None:
    made = run()
    values = [(5, 0, 4, 1, 100, 10, 1.5), (6, 0, 4, 1, 160, 14, 2.5), (5, 0, 0, 0, 7, 0, 0.0)]
    names = ["time_ns", "dvpp_id", "engine_type", "engine_id", "all_time", "all_frame", "all_utilization"]
    rows = pl.DataFrame(values, schema=names, orient="row").with_columns(
        *(pl.lit(0).alias(name) for name in ("proc_time", "proc_frame", "last_time", "last_frame")),
        pl.lit(0.0).alias("proc_utilization"),
    )
    schema = ["proc_time", "proc_frame", "proc_utilization", "last_time", "last_frame"]
    ProfWriter(made.profile.prof_path, RECORD_KINDS).write_text("dvpp", rows.select(*names, *schema), device_id=0)
    found, cells = read_table(again(made).files()["dvpp.csv"])
    assert found == [
        "Device_id", "Dvpp Id", "Engine Type", "Engine ID", "All Time(us)", "All Frame", "All Utilization(%)",
    ]  # fmt: skip
    assert cells == [["0", "0", "VDEC", "0", "0", "0", "0.0"], ["0", "0", "VPC", "1", "60", "4", "2.5"]]


SMMU = "HA:0x00,0x88;SMMU:0x2,0x8a,0x8b,0x8c,0x8d"


@pytest.mark.parametrize(("chip", "name"), [("Ascend910B2", "soc_pmu"), ("Ascend950PR", "soc_pmu_v6")])
def test_address_translation(run: Callable[..., Any], read_table: Rows, chip: str, name: str) -> None:
    made = run(chip=chip)
    kernel = made.profile.kernels.filter(pl.col("task_type") == "AI_CORE").row(0, named=True)
    rows = RECORD_KINDS.record(name).new(2)
    rows["stream_id"], rows["task_id"] = [kernel["stream_id"], 900], [kernel["task_id"], 9]
    rows["data_type"] = SocPmuType.SMMU
    rows["events"][:, :5] = [[25, 100, 0, 60, 15], [0, 0, 0, 0, 0]]
    add(made, name, rows, npuEvents=SMMU)
    made = again(made)
    for files in (made.files(), made.torch_files()):
        found, cells = read_table(files["soc_pmu.csv"])
        assert found == ["Device_id", "Stream Id", "Task Id", "TLB Hit Rate", "TLB Miss Rate", "Op Name"]
        assert cells == [
            ["0", str(kernel["stream_id"]), str(kernel["task_id"]), "0.75", "0.25", kernel["name"]],
            ["0", "900", "9", "0.0", "0.0", "N/A"],
        ]


def test_translation_counters_nobody_can_name_are_left_out(run: Callable[..., Any]) -> None:
    made = run()
    rows = RECORD_KINDS.record("soc_pmu").new(1)
    rows["data_type"] = SocPmuType.SMMU
    add(made, "soc_pmu", rows, npuEvents="SMMU:0x2")
    made = again(made)
    assert "soc_pmu.csv" not in made.files()
    assert any("translation counters" in note for note in made.profile.notes)


def test_cache_counters_beside_the_translation_count_as_the_cache_s(run: Callable[..., Any], read_table: Rows) -> None:
    made = run()
    rows = RECORD_KINDS.record("soc_pmu").new(1)
    rows["data_type"], rows["stream_id"], rows["task_id"] = SocPmuType.L2_CACHE, 900, 9
    rows["events"] = [0, 30, 10, 0, 20, 10, 4, 0]
    add(made, "soc_pmu", rows, l2CacheTaskProfilingEvents="0xf6,0xfb,0xfc,0xbf,0x90,0x91,0x9c,0x9d")
    table = again(made).profile.frame("l2_cache_tasks")
    assert table.select("requests", "hits", "victims").rows() == [(40, 30, 4)]


def test_nothing_of_it_is_invented(run: Callable[..., Any], read_layers: Any) -> None:
    made = run(hardware_memory_hz=50, interconnection_hz=50, dvpp_hz=50)
    files = made.files()
    assert not {"soc_pmu.csv", "dvpp.csv"} & set(files)
    assert not {"Acc PMU", "Stars Soc Info", "Stars Chip Trans", "QoS"} & read_layers(files["msprof.json"])
