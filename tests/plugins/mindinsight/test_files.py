"""What MindInsight reads, by plain readers and, where it is installed, by MindInsight."""

from __future__ import annotations

import csv
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from attrs import evolve

from drynpu.analysis import op_statistic, step_phases
from drynpu.products import load_profile
from drynpu.tables import Profile
from drynpu_mindinsight.export import export_mindinsight


@pytest.fixture
def loaded(profile: Callable[[Path], Path], tmp_path: Path) -> Profile:
    return load_profile(profile(tmp_path / "host_77_20250109074803000_ascend_pt"))


@pytest.fixture
def with_pipeline(loaded: Profile) -> Profile:
    """A profile with a pipeline of two operators, a device queue and waits for it."""
    schema = loaded.schemas["pipeline_ops"]
    ops = pl.DataFrame(
        [
            {"op_id": 0, "op_type": "BatchOp", "num_workers": 4, "children": [1], "sample_interval": 10},
            {
                "op_id": 1, "op_type": "MapOp", "num_workers": 2, "queue_sizes": [1, 5, 6], "queue_length": 8,
                "sample_interval": 10,
            },
        ],
        schema=schema,
    )  # fmt: skip
    times = pl.DataFrame(
        {"record": [0, 1, 1], "part": [2, 8, 8], "batch": [1, 1, 2], "value": [7, 0, 8], "time_ms": [50, 51, 60],
         "is_device_queue": [True] * 3},
        schema=loaded.schemas["pipeline_times"],
    )  # fmt: skip
    waits = pl.DataFrame(
        {"device_id": [0, 0, 0], "name": ["GetNext_dequeue_wait"] * 3, "start_us": [10, 2000, 9000],
         "end_us": [1510, 2250, 9001], "queue_size": [0, 3, None]},
        schema=loaded.schemas["queue_waits"],
    )  # fmt: skip
    added = {"pipeline_ops": ops, "pipeline_times": times, "queue_waits": waits}
    return evolve(loaded, group_tables={**loaded.group_tables, **added})


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_step_trace_counts_ten_nanoseconds(loaded: Profile, tmp_path: Path) -> None:
    export_mindinsight(loaded, tmp_path)
    phases = step_phases(loaded)
    *steps, mean = rows(tmp_path / "profiler" / "step_trace_raw_0_detail_time.csv")
    assert [row["step_num"] for row in steps] == [str(number) for number in range(1, phases.height + 1)]
    assert mean["step_num"] == "-"
    for row, phase in zip(steps, phases.iter_rows(named=True), strict=True):
        assert abs(int(row["total"]) * 10 - (phase["end_ns"] - phase["start_ns"])) <= 10
        assert int(row["start_point"]) > 0
        parts = ("iteration_interval", "fp_and_bp", "tail") if "tail" in row else ("iteration_interval", "fp")
        assert sum(int(row[part]) for part in parts) == int(row["total"])
    assert int(mean["total"]) == round(sum(int(row["total"]) for row in steps) / len(steps))


def test_operators_add_up_to_the_kernels(loaded: Profile, tmp_path: Path) -> None:
    export_mindinsight(loaded, tmp_path)
    place = tmp_path / "profiler"
    kernels = loaded.kernels.filter(pl.col("task_type") != "AI_CPU")
    types = rows(place / "aicore_intermediate_0_type.csv")
    assert sum(int(row["execution_frequency"]) for row in types) == kernels.height
    assert sum(float(row["total_time"]) for row in types) == pytest.approx(kernels["duration_ns"].sum() / 1e6)
    assert sum(float(row["percent"]) for row in types) == pytest.approx(1)
    totals = (
        op_statistic(loaded).filter(pl.col("core_type") != "AI_CPU").group_by("op_type").agg(pl.col("total_us").sum())
    )
    assert {row["kernel_type"]: pytest.approx(float(row["total_time"]) * 1000) for row in types} == dict(totals.rows())
    detail = rows(place / "aicore_intermediate_0_detail.csv")
    known = {row["full_kernel_name"]: row for row in rows(place / "framework_raw_0.csv")}
    assert [row["full_kernel_name"] for row in detail] == list(known)
    whole = sum(float(row["execution_time"]) * int(row["execution_frequency"]) for row in detail)
    assert whole == pytest.approx(kernels["duration_ns"].sum() / 1e6)
    assert any("input_0" in row["op_info"] for row in known.values())


def test_data_preparation_is_written_line_by_line(
    with_pipeline: Profile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export_mindinsight(with_pipeline, tmp_path)
    place = tmp_path / "profiler"
    assert (place / "device_queue_profiling_0.txt").read_text() == "0 2 1 7 50\n1 8 1 0 51\n1 8 2 8 60\n"
    expected = "GetNext_dequeue_wait 10 1510 0\nGetNext_dequeue_wait 2000 2250 3\n"
    assert (place / "minddata_aicpu_0.txt").read_text() == expected
    assert "1 waits of device 0 have no size of the queue" in capsys.readouterr().err
    root, mapped = rows(place / "minddata_pipeline_raw_0.csv")
    assert (root["op_type"], root["children_id"], root["output_queue_size"]) == ("BatchOp", "[1]", "")
    assert (mapped["output_queue_average_size"], mapped["output_queue_usage_rate"]) == ("4.0", "0.5")


def test_the_timeline_holds_every_kernel(loaded: Profile, tmp_path: Path) -> None:
    export_mindinsight(loaded, tmp_path)
    events = json.loads((tmp_path / "profiler" / "ascend_timeline_display_0.json").read_text())
    summary = json.loads((tmp_path / "profiler" / "ascend_timeline_summary_0.json").read_text())
    on_streams = [event for event in events if event["ph"] == "X" and event["pid"] in {0, 9000} and event["tid"] < 1000]
    assert len(on_streams) == loaded.kernels.height == summary["op_exe_times"]
    assert sum(event["dur"] for event in on_streams) == pytest.approx(loaded.kernels["duration_ns"].sum() / 1000)
    assert summary["total_time"] == pytest.approx(loaded.kernels["duration_ns"].sum() / 1e6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_mindinsight_reads_our_numbers(with_pipeline: Profile, tmp_path: Path) -> None:
    """Needs ``pip install mindinsight==2.3.1`` and what its analysers import (marshmallow, pandas)."""
    try:
        factory = importlib.import_module("mindinsight.profiler.analyser.analyser_factory").AnalyserFactory
    except ImportError as error:
        pytest.skip(f"MINDINSIGHT'S OWN ANALYSERS DID NOT RUN: {error}")
    export_mindinsight(with_pipeline, tmp_path)
    place = str(tmp_path / "profiler")
    phases = step_phases(with_pipeline)
    summary = factory.get_analyser("step_trace", place, "0").summary
    mean = (phases["end_ns"] - phases["start_ns"]).mean()
    assert isinstance(mean, float)
    assert (summary["total_steps"], summary["total_time"]) == (phases.height, pytest.approx(mean / 1e6, abs=1e-4))
    types = factory.get_analyser("aicore_type", place, "0").query({})["object"]
    kernels = with_pipeline.kernels.filter(pl.col("task_type") != "AI_CPU")
    assert sum(row[1] for row in types) == pytest.approx(kernels["duration_ns"].sum() / 1000, rel=1e-3)
    details = factory.get_analyser("aicore_detail", place, "0").query({})["object"]
    assert sum(row[4] for row in details) == kernels.height
    pipeline = factory.get_analyser("minddata_pipeline", place, "0").query({})["object"]
    assert [(row[1], row[4]) for row in pipeline] == [("BatchOp", 0), ("MapOp", 0.5)]
    data = factory.get_analyser("minddata", place, "0")
    queues = data.analyse_queue_summary(data.analyse_get_next_info()[0], data.analyse_device_queue_info()[0])
    assert queues["get_next_queue_info"]["summary"] == {"empty_batch_count": 1, "total_batch": 2}
    assert queues["device_queue_info"]["summary"] == {"empty_batch_count": 1, "full_batch_count": 1, "total_batch": 2}


def test_ranks_do_not_share_a_file(loaded: Profile, tmp_path: Path) -> None:
    assert all("_3" in path.name for path in export_mindinsight(evolve(loaded, rank_id=3), tmp_path))


def test_the_command_writes_it_and_names_the_plugin_where_it_is_off(
    drynpu: Callable[..., Any], profile: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("export", profile(tmp_path / "a_ascend_pt"), "--to", "mindinsight", "-o", tmp_path / "out")
    assert drynpu(*command).code == 0
    assert (tmp_path / "out" / "profiler" / "profiler_info_0.json").is_file()
    monkeypatch.setenv("DRYNPU_PLUGINS", "-mindinsight")
    ended = drynpu(*command)
    off = "It is an exporter of the plugin 'mindinsight', which DRYNPU_PLUGINS switches off."
    assert (ended.code, ended.err) == (1, f"drynpu: no exporter 'mindinsight'. {off}\n")
