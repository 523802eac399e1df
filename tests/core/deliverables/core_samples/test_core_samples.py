"""Sampled cores: from the kernels' own counters to ai_core_utilization, its layer and the database."""

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

from drynpu.kernels import TaskType
from drynpu.options import Level, MetricGroup
from drynpu.platforms import load_chip
from drynpu.products.toolkit._db import export_msprof_db

Rows = Callable[[Path], tuple[list[str], list[list[str]]]]
Counters = Callable[[Path, int], list[dict[str, Any]]]
PIPE = ["vec_ratio", "mac_ratio", "scalar_ratio", "mte1_ratio", "mte2_ratio", "mte3_ratio", "icache_miss_rate"]
UNITED = ("Ascend310", "Ascend310P3", "Ascend910A")
APART = ("Ascend910B2", "Ascend910_93", "Ascend950PR")


def layer_events(path: Path) -> list[dict[str, Any]]:
    """Read the counters of a layer whose number runs over into the process id."""
    events = json.loads(path.read_text(encoding="utf-8"))
    heads = {event["pid"] for event in events if event.get("args", {}).get("name") == "AI Core Utilization"}
    return [event for event in events if event["ph"] == "C" and event["pid"] in heads]


@pytest.mark.parametrize("hz", [7, 100])
@pytest.mark.parametrize("chip", [*UNITED, *APART])
def test_samples_agree_with_the_counters_of_tasks(run: Callable[..., Any], chip: str, hz: int) -> None:
    by_task, by_time = run(chip=chip), run(chip=chip, ai_core_hz=hz)
    newer = chip == "Ascend950PR"
    tasks = by_task.reader.read(load_chip(chip).platform.counters.record, 0)
    name = {"Ascend950PR": "ffts_core_sample_v6"}.get(chip, "ffts_core_sample" if chip in APART else "ai_core_sample")
    samples = by_time.reader.read(name, 0)
    if newer:
        vector_task = (tasks["core_type"] & 1).astype(bool)
    elif chip in APART:
        # Of these kernels none is mixed: what is not on a vector core is on a cube core.
        vector_task = tasks["ffts"] >> 13 == 1
    else:
        vector_task = np.zeros(len(tasks), bool)
    known = load_chip(chip)
    first = {"Ascend950PR": 36}.get(chip, 25) if chip in APART else 256
    for vector in (False, True) if known.split else (False,):
        own = samples[(samples["core_id"] >= first) == vector]
        of_tasks = tasks[vector_task == vector] if known.split else tasks
        assert own["task_cycles"].sum() == of_tasks["total_cycles"].sum() > 0
        assert own["events"].sum(axis=0).tolist() == of_tasks["pmu"].sum(axis=0).tolist()
        cores = known.vector_cores if vector else known.cube_cores
        assert len(np.unique(own["core_id"])) == cores
    assert by_time.profile.notes == by_time.outcome.notes == ()


@pytest.mark.parametrize("chip", [*UNITED, *APART])
def test_columns_follow_from_the_records(run: Callable[..., Any], read_table: Rows, chip: str) -> None:
    made = run(chip=chip, ai_core_hz=100)
    files, known = made.files(), load_chip(chip)
    header, rows = read_table(files["ai_core_utilization.csv"])
    cube = ["mac_ratio", "scalar_ratio", "mte1_ratio", "mte2_ratio", "fixpipe_ratio", "icache_miss_rate"]
    newer = [*PIPE[:6], "fixpipe_ratio", PIPE[6], "memory_bound"]
    expected = {"Ascend910B2": cube, "Ascend910_93": cube, "Ascend950PR": newer}.get(chip, [*PIPE, "memory_bound"])
    assert header == ["Device_id", "Core ID", *expected]
    assert [row[1] for row in rows] == [*(f"Core{core}" for core in range(known.cube_cores)), "Average"]
    assert ("ai_vector_core_utilization.csv" in files) == (chip in APART)
    if chip in APART:
        assert len(read_table(files["ai_vector_core_utilization.csv"])[1]) == known.vector_cores + 1
    assert not [name for name in read_table(files["op_summary.csv"])[0] if name.endswith("_ratio")]
    name = {"Ascend950PR": "ffts_core_sample_v6"}.get(chip, "ffts_core_sample" if chip in APART else "ai_core_sample")
    samples = made.reader.read(name, 0)
    codes = [int(code, 16) for code in made.reader.sample(0)["ai_core_profiling_events"].split(",")]
    own = samples[samples["core_id"] == 0]
    at = codes.index({"Ascend950PR": 0x202}.get(chip, 0xC))
    ratio = own["events"][:, at].sum() / own["task_cycles"].sum()
    assert float(rows[0][header.index("mte2_ratio")]) == round(ratio, 3)
    column = [float(row[header.index("mte2_ratio")]) for row in rows]
    assert column[-1] == pytest.approx(np.mean(column[:-1]), abs=1e-3)


def test_header_of_memory_access_is_the_vendors(run: Callable[..., Any], read_table: Rows) -> None:
    files = run(ai_core_hz=50, metrics=MetricGroup.MEMORY_ACCESS).files()
    for name in ("ai_core_utilization.csv", "ai_vector_core_utilization.csv"):
        # The header that the vendor's own smoke test of this mode expects.
        assert read_table(files[name])[0] == [
            "Device_id", "Core ID", "read_main_memory_datas(KB)", "write_main_memory_datas(KB)", "gm_to_l1_datas(KB)",
            "l0c_to_l1_datas(KB)", "l0c_to_gm_datas(KB)", "gm_to_ub_datas(KB)", "ub_to_gm_datas(KB)",
        ]  # fmt: skip


def test_timeline_and_database_show_the_samples(run: Callable[..., Any]) -> None:
    made = run(ai_core_hz=100)
    events = layer_events(made.files()["msprof.json"])
    samples = made.profile.frame("core_samples")
    cube = samples.filter(pl.col("core_type") == "AIC")
    assert {event["name"] for event in events} == {"Average", *(f"Core {core}" for core in range(24))}
    shown = [event["args"]["Utilization(%)"] for event in events if event["name"] == "Core 3"]
    own = cube.filter(pl.col("core_id") == 3)
    assert shown[0] == own["cycles"][0] == 0
    spans = own["interval_ns"].to_numpy()[1:]
    assert shown[1:] == pytest.approx(own["cycles"].to_numpy()[1:] / (spans / 1e9 * 1.8e9) * 100, abs=1e-6)
    assert 0 < max(shown) <= 100
    average = [event["args"]["Utilization(%)"] for event in events if event["name"] == "Average"]
    per_core = [event["args"]["Utilization(%)"] for event in events if event["name"] != "Average"]
    assert sum(average) == pytest.approx(sum(per_core) / 24, abs=1e-4)
    path = export_msprof_db(made.profile)
    assert path is not None
    with closing(sqlite3.connect(path)) as database:
        of = dict(database.execute("SELECT value, id FROM STRING_IDS"))
        sums = database.execute("SELECT coreType, sum(totalCycle), count(*) FROM SAMPLE_PMU_TIMELINE GROUP BY coreType")
        found = {kind: (cycles, count) for kind, cycles, count in sums}
        spent = database.execute("SELECT sum(value) FROM SAMPLE_PMU_SUMMARY WHERE metric = ?", (of["total_time"],))
        all_ns = spent.fetchone()[0]
    expected = samples.group_by("core_type").agg(pl.col("cycles").sum(), pl.len())
    assert found == {of[kind]: (cycles, count) for kind, cycles, count in expected.iter_rows()}
    assert all_ns == pytest.approx(samples["cycles"].sum() / 1.8)


def test_who_gets_samples(run: Callable[..., Any]) -> None:
    assert "ai_core_utilization.csv" not in run().files()
    assert "ai_core_utilization.csv" not in run(ai_core_hz=100, level=Level.L0).files()
    alone = run(ai_core_hz=100, level=Level.NONE).files()
    assert {"ai_core_utilization.csv", "ai_vector_core_utilization.csv"} <= set(alone)
    assert "op_summary.csv" not in alone


def test_a_core_that_ran_no_block_is_idle(run: Callable[..., Any], kernel_specs: dict[str, Any]) -> None:
    made = run(names=("Where",), ai_core_hz=100)
    assert kernel_specs["Where"].task_type is TaskType.AI_CPU
    assert made.profile.frame("core_samples")["cycles"].sum() == 0
    assert made.profile.frame("core_samples").height > 0
