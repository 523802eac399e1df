"""The data pipeline's files, counted by hand (mindspore_profiler.md 12.4)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from drynpu.products import load_profile
from drynpu.products.mindspore._minddata_advice import Pipeline, advice


def test_raw_rows_go_breadth_first_and_lift_children_over_operators_without_a_queue(session: Any) -> None:
    rows = session.rows("minddata_pipeline_raw_0.csv")
    assert [(row["op_id"], row["parent_id"], row["children_id"]) for row in rows] == [
        ("0", "", "[1]"),
        ("1", "0", "[3]"),
        ("3", "1", "[4]"),
        ("4", "3", ""),
    ]
    batch = rows[1]
    assert batch["output_queue_size"] == "[0, 3, 8, 0, 5]"
    assert (batch["output_queue_average_size"], batch["output_queue_length"]) == ("3.2", "8")
    assert batch["output_queue_usage_rate"] == "0.4"
    assert {row["sample_interval"] for row in rows} == {"10"}
    assert rows[0]["output_queue_size"] == ""


def test_the_summary_counts_per_operator(session: Any) -> None:
    summary = session.document("minddata_pipeline_summary_0.json")
    assert summary["op_names"] == ["DataQueue", "Batch", "Repeat", "Map", "Generator"]
    assert summary["pipeline_ops"][3] == "Map(id=3)"
    assert summary["queue_average_size"] == [-1, 3.2, -1, 0.2, 0.6]
    assert summary["queue_utilization_pct"] == [-1, 40.0, -1, 1.25, 3.75]
    assert summary["queue_empty_freq_pct"] == [-1, 40.0, -1, 80.0, 60.0]
    assert summary["children_ids"] == [[1], [3], [3], [4], []]
    assert summary["parent_id"] == [-1, 0, -1, 2, 3]
    assert summary["avg_cpu_pct"] == [2.5, 61.5, 0.9, 1280.5, 177.0]
    assert summary["avg_cpu_pct_per_worker"] == [2.5, 15.38, -1, 160.06, 177.0]
    # Batches 2 to 4 take 14, 21, 28 ms in the pipeline, and a ms more in each part behind it.
    assert [summary[f"per_{part}_time"] for part in ("pipeline", "push_queue", "batch")] == [[21.0], [22.0], [23.0]]
    rows = [line.split(",", 1) for line in csv_lines(session)]
    assert [row[0] for row in rows] == list(summary)


def csv_lines(session: Any) -> list[str]:
    path = session.path / "ASCEND_PROFILER_OUTPUT" / "minddata_pipeline_summary_0.csv"
    lines: list[str] = path.read_bytes().decode().split("\r\n")[:-1]
    return lines


def test_without_a_device_queue_a_batch_lasts_until_the_next_note(hand: Any, tmp_path: Any) -> None:
    from drynpu.products import export_mindspore

    path = hand.record(tmp_path, communication=False)
    hand.write_pipeline(path, queue=False)
    export_mindspore(load_profile(path))
    summary = json.loads((path / "ASCEND_PROFILER_OUTPUT" / "minddata_pipeline_summary_0.json").read_text())
    # Besides 16, 23 and 30 ms that are told, 1000 ms from note to note of batches 2 to 4.
    assert summary["per_batch_time"] == [round((16 + 23 + 30 + 3 * 1000) / 6, 3)]


def test_without_cpu_use_there_is_no_summary_and_a_broken_file_is_noted(hand: Any, tmp_path: Any) -> None:
    from drynpu.products import export_mindspore

    path = hand.record(tmp_path, communication=False)
    hand.write_pipeline(path)
    (path / "FRAMEWORK" / "minddata_cpu_utilization_0.json").write_text("{not json")
    profile = load_profile(path)
    assert any("minddata_cpu_utilization_0.json could not be read" in note for note in profile.notes)
    names = {file.name for file in export_mindspore(profile)}
    assert "minddata_pipeline_raw_0.csv" in names
    assert "minddata_pipeline_summary_0.json" not in names


def test_processors_of_the_machine_and_the_process_are_read(hand: Any, tmp_path: Any) -> None:
    path = hand.record(tmp_path, communication=False)
    hand.write_pipeline(path)
    table = load_profile(path).frame("pipeline_cpu")
    assert set(table["cores"]) == {8}
    assert {(row["owner"], row["measure"]): row["values"] for row in table.iter_rows(named=True)} == {
        ("machine", "user_utilization"): [40, 60],
        ("machine", "idle_utilization"): [50, 30],
        ("machine", "context_switch_count"): [7, 9],
        ("process", "user_utilization"): [20, 30],
        ("process", "sys_utilization"): [1, 3],
    }


def pipeline(**changed: Any) -> Pipeline:
    standard: dict[str, Any] = {
        "op_ids": [0, 1, 2],
        "names": ["DeviceQueue", "Map", "Generator"],
        "workers": [1, 4, 2],
        "average": [-1, 8.0, 9.0],
        "full_pct": [-1, 80.0, 90.0],
        "empty_pct": [-1, 10.0, 0.0],
        "children": [[1], [2], []],
        "cpu_pct": [30.0, 50.0, 50.0],
    }
    told = standard | changed
    shown = [f"{name}(id={op})" for op, name in zip(told["op_ids"], told["names"], strict=True)]
    return Pipeline(shown=shown, **told)


@pytest.mark.parametrize(
    ("changed", "key", "text"),
    [
        ({}, "", ""),
        (
            {"cpu_pct": [30.0, 80.0, 50.0]},
            "bottleneck_suggestion",
            "Map(id=1) is using 80.0% CPU per worker. Setting num_parallel_workers>4 might bring extra performance.",
        ),
        (
            {"cpu_pct": [30.0, 50.0, 10.0]},
            "cpu_analysis_details",
            (
                "Generator(id=2) is using 10.0% CPU per worker. Using num_parallel_workers=2 might not bring as much "
                "benefit due to low CPU usage per worker."
            ),
        ),
        (
            {"full_pct": [-1, 80.0, 50.0]},
            "queue_analysis_details",
            (
                "Leaf op Generator(id=2) is using 50.0% of its output queue. Setting num_parallel_workers>2 might "
                "speed up I/O."
            ),
        ),
        (
            {"empty_pct": [-1, 61.0, 0.0]},
            "queue_analysis_details",
            (
                "DeviceQueue(id=0)'s input queue is empty 61.0% of the time. This might indicate dataset bottlenecks. "
                "Hence host cannot keep up with the device 61.0% of the time. Device waits whenever input queue is "
                "empty."
            ),
        ),
        (
            {"full_pct": [-1, 30.0, 90.0]},
            "queue_analysis_details",
            (
                "Map(id=1)'s input queue usage=90.0% is greater than output queue usage=30.0%. This indicates child op "
                "Generator(id=2) might be producing faster than its parent Map(id=1) can consume. If this op has low "
                "CPU utilization, try increasing prefetch_size or increasing num_workers."
            ),
        ),
        (
            {"full_pct": [-1, 80.0, 9.0], "cpu_pct": [30.0, 10.0, 50.0]},
            "bottleneck_suggestion",
            (
                "Map(id=1) has low CPU utilization per worker of 10.0% and abnormal queue usage. Try increasing "
                "prefetch_size."
            ),
        ),
    ],
    ids=["nothing", "busy", "idle", "leaf", "device queue", "inner", "starved"],
)
def test_advice(changed: dict[str, Any], key: str, text: str) -> None:
    found = advice(pipeline(**changed))
    assert found.get(key, [""])[0] == text
    assert ("bottleneck_warning" in found) == ("bottleneck_suggestion" in found)
    if not key:
        assert found == {}
