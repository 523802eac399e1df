"""Marks of a script, from ``torch_npu.npu.mstx`` to msprof_tx and the timeline."""

from __future__ import annotations

import csv
from typing import Any

import pytest

SCRIPT = """
import threading

import torch
import torch_npu
from torch.utils.data import DataLoader, TensorDataset
from torch_npu import profiler
from torch_npu.profiler import ProfilerActivity, ProfilerLevel

mstx = torch_npu.npu.mstx
older = torch_npu.npu.mstx()
layer = torch.nn.Linear(64, 64).npu()
x = torch.ones(32, 64).npu()
side = torch.npu.Stream()
loader = DataLoader(TensorDataset(torch.arange(32.0).reshape(8, 4)), batch_size=4)
save = torch.save


@mstx.mstx_range("decorated")
def forward():
    return layer(x)


def step_of_training():
    current = torch.npu.current_stream()
    mstx.mark("begin")
    older.mark("older")
    mstx.range_push("outer")
    mstx.range_push("inner", current)
    forward()
    mstx.mark("behind the forward", current)
    mstx.range_pop()
    mstx.range_pop()
    with torch.npu.stream(side), mstx.annotate("on the side", side, "data"):
        layer(x)
    number = mstx.range_start("crossing", domain="data")
    ending = threading.Thread(target=mstx.range_end, args=(number, "data"))
    ending.start()
    ending.join()
    mstx.range_start("never ended")
    for _ in loader:
        pass
    torch.save(torch.ones(2), "checkpoint.pt")
    return number


def record(folder, scheduled=True, activities=None, **given):
    config = profiler._ExperimentalConfig(
        **{"aic_metrics": profiler.AiCMetrics.AiCoreNone, "data_simplification": False, **given}
    )
    with profiler.profile(
        activities=activities,
        schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1) if scheduled else None,
        on_trace_ready=profiler.tensorboard_trace_handler(folder),
        experimental_config=config,
    ) as prof:
        ids = []
        for step in range(3):
            ids.append(step_of_training())
            prof.step()
    print("ids", folder, *ids)


record("all", profiler_level=ProfilerLevel.Level1, mstx=True)
record("alone", profiler_level=ProfilerLevel.Level_none, mstx=True, mstx_domain_include=["data"])
record("without", scheduled=False, msprof_tx=True, mstx_domain_exclude=["data"])
record("off")
record("host", activities=[ProfilerActivity.CPU], mstx=True)
print("restored", torch.save is save)
"""


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT, environment={"DRYNPU_QUIET": "1"})


@pytest.fixture(scope="module")
def all_rows(run: Any) -> list[dict[str, str]]:
    (path,) = run.output("all").prof.glob("mindstudio_profiler_output/msprof_tx_*.csv")
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_no_option_of_marks_is_said_to_have_no_effect(run: Any) -> None:
    assert not [line for line in run.said() if line.startswith("drynpu does not record")]


def test_ids_are_there_only_while_marks_are_recorded(run: Any) -> None:
    said = dict(line.split(maxsplit=2)[1:] for line in run.stdout.splitlines() if line.startswith("ids "))
    ids = {folder: [int(number) for number in numbers.split()] for folder, numbers in said.items()}
    assert ids["off"] == ids["host"] == ids["without"] == [0, 0, 0]
    waiting, *recorded = ids["all"]
    assert waiting == 0
    assert 0 < recorded[0] < recorded[1] < ids["alone"][1] < ids["alone"][2]


def test_every_mark_of_the_recorded_steps_is_in_the_table(run: Any, all_rows: list[dict[str, str]]) -> None:
    expected = ["begin", "older", "behind the forward", "outer", "inner", "decorated", "on the side", "crossing"]
    expected += ["dataloader"] * 2 + ["save_checkpoint"]
    assert sorted(row["message"] for row in all_rows) == sorted(2 * expected + ["ProfilerStep#1", "ProfilerStep#2"])
    rows = {row["message"]: row for row in all_rows}
    assert {row["pid"] for row in all_rows} == {str(run.pid)}
    assert {name for name, row in rows.items() if row["domain"] == "data"} == {"on the side", "crossing"}
    assert {row["domain"] for row in all_rows} == {"default", "data"}
    instants = {"begin", "older", "behind the forward"}
    assert {name for name, row in rows.items() if row["event_type"] == "marker"} == instants
    assert {row["event_type"] for row in all_rows} == {"marker", "start/end"}
    for name, row in rows.items():
        assert (row["Start_time(us)"] == row["End_time(us)"]) == (name in instants)
    on_stream = {"behind the forward", "inner", "on the side", "ProfilerStep#1", "ProfilerStep#2"}
    assert {name for name, row in rows.items() if row["Device_id"] == "0"} == on_stream
    assert {row["Device_id"] for name, row in rows.items() if name not in on_stream} == {"host"}


def test_ranges_nest_as_they_did_in_the_script(ns: Any, all_rows: list[dict[str, str]]) -> None:
    rows = {row["message"]: row for row in all_rows}

    def inside(inner: str, outer: str, side: str = "") -> None:
        begin, end = f"{side}Start_time(us)", f"{side}End_time(us)"
        assert ns(rows[outer][begin]) <= ns(rows[inner][begin]) <= ns(rows[inner][end]) <= ns(rows[outer][end])

    for inner, outer in (("decorated", "inner"), ("inner", "outer"), ("outer", "ProfilerStep#2")):
        inside(inner, outer)
    inside("inner", "ProfilerStep#2", "Device ")
    inside("behind the forward", "inner", "Device ")


def test_the_timeline_shows_marks_beside_the_work_they_mark(run: Any, ns: Any) -> None:
    output = run.output("all")
    hardware = output.layers["Ascend Hardware"]
    marks = [e for e in output.trace if e["ph"] == "X" and "event_type" in e.get("args", {})]
    assert {e["pid"] for e in marks} == {(run.pid << 10) | (6 << 5) | 31}
    assert {e["args"]["domain"] for e in marks if e["name"] == "begin"} == {"default"}
    starts = {e["id"] for e in output.trace if e.get("cat") == "MsTx" and e["ph"] == "s"}
    ends = {e["id"]: e for e in output.trace if e.get("cat") == "MsTx" and e["ph"] == "f"}
    assert starts == set(ends)
    assert len(starts) == 8
    assert {e["pid"] for e in ends.values()} == {hardware}
    device = {e["name"]: e for e in output.layer("Ascend Hardware") if "Subtask Id" not in e["args"]}
    kernels = [e for e in output.layer("Ascend Hardware") if "Subtask Id" in e["args"] and e["tid"] == 2]
    behind = ns(device["behind the forward"]["ts"])
    before = [e for e in kernels if ns(e["ts"]) < behind]
    assert before
    assert all(ns(e["ts"]) + round(e["dur"] * 1000) <= behind for e in before)
    # The side stream has a row of its own, with the kernel inside the range.
    side = device["on the side"]
    assert side["tid"] != 2
    (kernel, *_) = [e for e in output.layer("Ascend Hardware") if e["tid"] == side["tid"] and e is not side]
    assert kernel["dur"] > 0
    operators = {e["name"] for e in output.operators() if e["name"].startswith("mstx_")}
    assert operators == {
        *("mstx_mark_op", "mstx_range_start_op", "mstx_range_end_op"),
        *("mstx_range_push_op", "mstx_range_pop_op"),
    }


def test_level_none_records_marks_alone_and_domains_choose(run: Any) -> None:
    alone, without = run.output("alone"), run.output("without")
    named = [e for e in alone.trace if e["ph"] == "X" and "event_type" in e.get("args", {})]
    assert sorted(e["name"] for e in named) == sorted(["on the side", "crossing"] * 2)
    assert "kernel_details.csv" not in alone.files
    assert "trace_view.json" in alone.files
    shown = {e["name"] for e in without.trace if e["ph"] == "X" and "event_type" in e.get("args", {})}
    assert {"begin", "dataloader", "save_checkpoint"} <= shown
    # Without a schedule there are no steps to mark.
    assert not {"on the side", "crossing", "ProfilerStep#1"} & shown


def test_nothing_is_left_where_marks_were_not_asked_for(run: Any) -> None:
    off = run.output("off")
    assert not list(off.prof.glob("mindstudio_profiler_output/msprof_tx_*"))
    assert not [e for e in off.trace if "mstx" in e["name"]]
    assert "restored True" in run.stdout
