"""The page of data preparation: what is slow, and what to do where nothing was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from attrs import evolve

from drynpu.views.content import EMPTY, WARNING, Chart, Facts, Hint, Note, Table, find_block, flat
from drynpu.views.runs import Rank, View
from drynpu_pages.pages import find_page

PAGE = find_page("data")


def with_rows(view: View, product: str, **tables: Sequence[dict[str, object]]) -> View:
    profile = view.rank.profile
    frames = {name: pl.DataFrame(rows, schema=profile.schemas[name]) for name, rows in tables.items()}
    rank = Rank(view.rank.path, None)
    vars(rank)["profile"] = evolve(profile, product=product, group_tables={**profile.group_tables, **frames})
    return View(view.run, rank)


@pytest.fixture
def mindspore(view: View) -> View:
    """Eight batches of which three found the queue empty, and a pipeline whose reader is slow."""
    sizes = [0, 2, 0, 4, 4, 0, 3, 3]
    times: list[dict[str, object]] = [
        {"record": 1, "part": 4, "batch": i, "value": size, "time_ms": 10 * i, "is_device_queue": False}
        for i, size in enumerate(sizes, start=1)
    ]
    times += [
        {"record": 0, "part": part, "batch": i, "value": (part + 1) * i, "time_ms": 10 * i, "is_device_queue": False}
        for i in range(1, 9)
        for part in (0, 2)
    ]
    ops = [
        {"op_id": 0, "op_type": "EpochCtrlOp", "num_workers": 1, "children": [1], "queue_sizes": None,
         "queue_length": None, "sample_interval": 25, "cpu_pct": [1.0]},
        {"op_id": 1, "op_type": "BatchOp", "num_workers": 3, "children": [2], "queue_sizes": [1, 2, 0],
         "queue_length": 4, "sample_interval": 25, "cpu_pct": [95.0]},
        {"op_id": 2, "op_type": "GeneratorOp", "num_workers": 1, "children": [], "queue_sizes": [0, 0, 1],
         "queue_length": 4, "sample_interval": 25, "cpu_pct": [99.0]},
    ]  # fmt: skip
    measures = {
        ("machine", "user_utilization"): [40, 60],
        ("machine", "idle_utilization"): [50, 30],
        ("machine", "context_switch_count"): [7, 9],
        ("process", "sys_utilization"): [1, 3],
    }
    cpu: list[dict[str, object]] = [
        {"owner": owner, "measure": measure, "values": values, "cores": 8, "sample_interval": 1000}
        for (owner, measure), values in measures.items()
    ]
    return with_rows(view, "mindspore", pipeline_times=times, pipeline_ops=ops, pipeline_cpu=cpu)


def notes(blocks: Sequence[Any], kind: str) -> list[str]:
    return [block.text for block in flat(blocks) if isinstance(block, Note) and block.kind == kind]


def test_queues_of_mindspore(mindspore: View) -> None:
    blocks = PAGE.build(mindspore)
    shown = {f.label: (f.text, f.detail) for b in flat(blocks) if isinstance(b, Facts) for f in b.facts}
    assert shown["Queue on the host: empty"] == ("3 of 8", "batches; full 2 times")
    assert shown["Queue on the host: wait"][0] == "4.50 ms"
    assert any("Suspect is data processing" in text for text in notes(blocks, WARNING))
    lengths = find_block(blocks, "host-queue-length", Chart).draw()
    assert list(lengths.data[0].y) == [0, 2, 0, 4, 4, 0, 3, 3]
    assert list(lengths.data[1].y) == [4] * 8
    ratios = {trace.name: list(trace.x) for trace in find_block(blocks, "queue-ratios", Chart).draw().data}
    assert ratios == {"Not empty": [62.5], "Empty": [37.5]}
    parts = {trace.name: list(trace.y) for trace in find_block(blocks, "batch-times", Chart).draw().data}
    assert parts == {"obtaining from the pipeline": [*range(1, 9)], "whole batch": [*range(3, 27, 3)]}


def test_the_pipeline_of_mindspore(mindspore: View) -> None:
    blocks = PAGE.build(mindspore)
    table = find_block(blocks, "pipeline", Table).frame.to_dicts()
    assert [(row["title"], row["takes"], row["suspect"]) for row in table] == [
        ("EpochCtrl (0)", "the training", "no"),
        ("Batch (1)", "EpochCtrl (0)", "no"),
        ("Generator (2)", "Batch (1)", "yes"),
    ]
    assert [row["usage_pct"] for row in table] == [None, 25.0, pytest.approx(100 / 12)]
    depths = {trace.name: list(trace.y) for trace in find_block(blocks, "pipeline-depths", Chart).draw().data}
    assert depths == {"Batch (1)": [1, 2, 0], "Generator (2)": [0, 0, 1]}
    hints = [block for block in blocks if isinstance(block, Hint)]
    assert [hint.title for hint in hints] == ["Bottleneck of the pipeline: Generator(id=2)"]
    assert hints[0].evidence.startswith("Generator is the source whose rows Python makes (GeneratorDataset); by the")


def test_the_processors_of_mindspore(mindspore: View) -> None:
    blocks = PAGE.build(mindspore)
    shown = {f.label: f.text for b in flat(blocks) if isinstance(b, Facts) for f in b.facts}
    assert {label: shown[label] for label in ("Machine: user", "Machine: idle", "Process: system")} == {
        "Machine: user": "50.0 %", "Machine: idle": "40.0 %", "Process: system": "2.0 %",
    }  # fmt: skip
    assert (shown["Context switches"], shown["Cores"]) == ("8", "8")
    machine = find_block(blocks, "pipeline-cpu-machine", Chart).draw()
    assert {trace.name: (list(trace.x), list(trace.y)) for trace in machine.data} == {
        "user": ([0, 1000], [40, 60]), "idle": ([0, 1000], [50, 30]),
    }  # fmt: skip
    assert [trace.name for trace in find_block(blocks, "pipeline-cpu-process", Chart).draw().data] == ["system"]


def test_processors_before_the_first_interval_are_not_known(mindspore: View) -> None:
    zeros = [{**row, "values": [0, 0]} for row in mindspore.rank.profile.frame("pipeline_cpu").iter_rows(named=True)]
    blocks = PAGE.build(with_rows(mindspore, "mindspore", pipeline_cpu=zeros))
    assert any("less than an interval" in text for text in notes(blocks, EMPTY))
    assert not any(getattr(block, "name", "").startswith("pipeline-cpu") for block in flat(blocks))


def test_a_device_that_always_has_data(view: View) -> None:
    waits = [{"device_id": 0, "name": "GetNext_dequeue_wait", "start_us": 50 * i, "end_us": 50 * i + 3 + i,
              "queue_size": size} for i, size in enumerate((2, 1, 3))]  # fmt: skip
    blocks = PAGE.build(with_rows(view, "torch", queue_waits=waits))
    assert any("not what holds the training up" in text for text in notes(blocks, "note"))
    assert find_block(blocks, "queue-records", Table).frame["wait_us"].to_list() == [3.0, 4.0, 5.0]
    starved = [{**row, "queue_size": 0} for row in waits]
    blocks = PAGE.build(with_rows(view, "torch", queue_waits=starved))
    assert any("no data waiting for 3 of 3 batches" in text for text in notes(blocks, WARNING))


def test_without_data_the_page_says_what_to_record(view: View) -> None:
    assert "DataLoader" in notes(PAGE.build(view), EMPTY)[0]
    assert "data_process of mindspore.profiler" in notes(PAGE.build(with_rows(view, "mindspore")), EMPTY)[0]
