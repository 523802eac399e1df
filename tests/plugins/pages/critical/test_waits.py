"""Collectives, other streams and other ranks on a critical path, and what runs left."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest
from tests.core.analysis.conftest import host_op, make_profile

from drynpu.analysis import STEP_RANGES, step_ranges
from drynpu.tables import NO_CONTEXT, NO_MODEL, Profile
from drynpu.views.content import ANSWER, Note, Table, find_block, flat
from drynpu.views.runs import Rank, Run, Selection, View
from drynpu_pages.critical import bounds, critical_path, host_shares
from drynpu_pages.critical._work import latest_before
from drynpu_pages.pages import find_page

BEGIN = 1_700_000_000_000_000_000
BOUND = (
    "Kernels and copies bound the recording: 58.3 % of the critical path, most of it at 0 (33.3 %); removing all of it "
    "saves at most 7.00 us of 12.00 us."
)


def task(start: int, end: int, stream: int, kind: str = "AI_CORE", connection: int = -1) -> Mapping[str, object]:
    return {
        "start_ns": BEGIN + start, "duration_ns": end - start, "stream_id": stream, "kernel_type": kind,
        "kernel_name": "" if kind != "AI_CORE" else f"at {start}", "connection_id": connection, "model_id": NO_MODEL,
        "context_id": NO_CONTEXT,
    }  # fmt: skip


def rows(path: pl.DataFrame) -> list[tuple[str, int, int]]:
    parts = path.select("kind", pl.col("start_ns") - BEGIN, pl.col("end_ns") - BEGIN).rows()
    return [(kind, start, end) for kind, start, end in parts]


def collective(*waits: tuple[int, int, int], stream: int = 7) -> Profile:
    """A kernel, then an all-reduce of 5 to 90 us on another stream, with waits (begin, end, rank) in it."""
    operation = {
        "name": "hcom_allReduce__0_0_1", "op_type": "hcom_allReduce_", "start_ns": BEGIN + 5_000,
        "duration_ns": 85_000, "connection_id": 3, "model_id": NO_MODEL,
    }  # fmt: skip
    inside = [
        {
            "connection_id": 3, "name": "Notify_Wait", "is_master": True, "start_ns": BEGIN + start,
            "duration_ns": end - start, "dst_rank": rank, "transfer_ns": None,
        }
        for start, end, rank in waits
    ]  # fmt: skip
    tasks = [task(0, 4_000, 2), task(5_000, 60_000, stream, "NOTIFY_WAIT", 3), task(60_000, 90_000, stream, "SDMA", 3)]
    after = task(91_000, 95_000, 2)
    return make_profile(tasks=[*tasks, after], communication_ops=[operation], communication_tasks=inside)


def test_a_collective_is_one_work_whose_waiting_names_the_rank() -> None:
    path = critical_path(collective((6_000, 60_000, 5), (70_000, 71_000, 1)))
    assert rows(path) == [
        ("kernel", 0, 4_000),
        ("other stream", 4_000, 5_000),
        ("collective", 5_000, 6_000),
        ("other ranks", 6_000, 60_000),
        ("collective", 60_000, 70_000),
        ("other ranks", 70_000, 71_000),
        ("collective", 71_000, 90_000),
        ("other stream", 90_000, 91_000),
        ("kernel", 91_000, 95_000),
    ]
    assert path["rank"].drop_nulls().to_list() == [5, 1]
    assert set(path.filter(pl.col("kind") == "collective")["type"]) == {"hcom_allReduce_"}


def test_waits_that_no_file_tells_of_stay_communication() -> None:
    path = critical_path(collective())
    assert dict(bounds(path).select("what", "us").iter_rows()) == {
        "communication": 85.0,
        "kernels": 8.0,
        "between": 2.0,
    }


def test_a_wait_for_another_stream_leads_to_what_ended_there() -> None:
    waiting = task(4_500, 31_000, 2, "EVENT_WAIT")
    tasks = [task(0, 4_000, 2), task(1_000, 30_500, 5), waiting, task(31_020, 40_000, 2)]
    assert rows(critical_path(make_profile(tasks=tasks))) == [
        ("gap", 0, 1_000),
        ("kernel", 1_000, 30_500),
        ("other stream", 30_500, 31_000),
        ("gap", 31_000, 31_020),
        ("kernel", 31_020, 40_000),
    ]


def test_an_event_that_had_come_before_is_no_wait() -> None:
    tasks = [task(0, 4_000, 2), task(1_000, 3_000, 5), task(4_500, 4_520, 2, "EVENT_WAIT"), task(4_540, 9_000, 2)]
    assert ("kernel", 0, 4_000) in rows(critical_path(make_profile(tasks=tasks)))


def test_work_of_a_graph_waits_for_its_execution_not_for_its_load() -> None:
    load, run = {"level": "model", "tid": 9}, {"level": "model", "name": "ModelExecute", "item": "4", "tid": 1}
    api = [
        {**load, "connection_id": 1, "name": "ModelLoad", "start_ns": BEGIN - 900, "end_ns": BEGIN - 100},
        {**run, "connection_id": 2, "start_ns": BEGIN, "end_ns": BEGIN + 50_000},
        {**run, "connection_id": 3, "start_ns": BEGIN + 100_000, "end_ns": BEGIN + 101_000},
    ]
    tasks = [
        {**task(start, end, 2, connection=1), "model_id": 4}
        for start, end in ((5_000, 9_000), (9_000, 70_000), (103_000, 120_000), (120_100, 130_000))
    ]
    path = critical_path(make_profile(api=api, tasks=tasks))
    assert rows(path) == [
        ("host", 5_000, 101_000),
        ("launch", 101_000, 103_000),
        ("kernel", 103_000, 120_000),
        ("gap", 120_000, 120_100),
        ("kernel", 120_100, 130_000),
    ]


def test_steps_that_results_state_without_times_are_no_windows() -> None:
    """Files of results may name a step and not say when it was."""
    stated = {"step_id": 3, "op_id": -1, "host_start_ns": None, "host_end_ns": None, "tid": -1}
    times = [(None, None), (BEGIN, BEGIN + 9_500)]
    ranges = [{**stated, "device_start_ns": start, "device_end_ns": end} for start, end in times]
    results = {"step_ranges": pl.DataFrame(ranges, schema=STEP_RANGES)}
    tasks = [task(100, 4_000, 2), task(4_000, 9_000, 2), task(9_900, 9_950, 2)]
    profile = make_profile(tasks=tasks, results=results)
    assert rows(critical_path(profile)) == [
        ("gap", 0, 100),
        ("kernel", 100, 4_000),
        ("kernel", 4_000, 9_000),
        ("host", 9_000, 9_500),
    ]


def test_the_host_is_shown_by_its_outermost_operators() -> None:
    ops = [host_op("ProfilerStep#1", 0, 900), host_op("outer", 100, 400), host_op("inner", 150, 200)]
    ops += [host_op("outer", 500, 510), host_op("other", 800, 2_000, 3)]
    path = pl.DataFrame({"kind": ["host", "gap", "host"], "start_ns": [0, 300, 505], "end_ns": [300, 505, 1_000]})
    shares = host_shares(make_profile(host_ops=ops), path)
    assert dict(shares.select("what", "us").iter_rows()) == pytest.approx(
        {"outer": 0.205, "other": 0.2, "between operators": 0.39}
    )
    assert shares["share"].sum() == pytest.approx(795 / 1000)


def test_the_last_before_a_time_is_of_the_same_group() -> None:
    groups, times = np.array([1, 1, 4, 4]), np.array([10, 20, 5, 30])
    found = latest_before(groups, times, np.array([1, 1, 4, 4, 2]), np.array([9, 25, 29, 30, 99]))
    assert found.tolist() == [-1, 1, 2, 3, -1]


def check(view: View) -> pl.DataFrame:
    """The path of each step of a run is whole, and the page shows all of it."""
    path = critical_path(view.rank.profile)
    for (step,), part in path.group_by("step", maintain_order=True):
        assert (part["end_ns"] > part["start_ns"]).all(), step
        assert part["start_ns"][1:].to_list() == part["end_ns"][:-1].to_list()
    ends = step_ranges(view.rank.profile)["device_end_ns"]
    assert not ends.len() or set(ends) == set(path.group_by("step").agg(pl.col("end_ns").max())["end_ns"])
    blocks = flat(find_page("critical").build(view))
    shown: Table = find_block(blocks, "critical-bounds", Table)
    steps = path["step"].n_unique()
    assert shown.frame["us"].sum() == pytest.approx((path["end_ns"] - path["start_ns"]).sum() / 1000 / steps)
    assert [block for block in blocks if isinstance(block, Note) and block.kind == ANSWER]
    return path


def test_steps_of_pytorch(view: View) -> None:
    path = check(view)
    assert path["step"].unique(maintain_order=True).to_list() == ["0", "1"]
    (first,) = (block for block in find_page("critical").build(view)[:1])
    assert isinstance(first, Note)
    assert first.text.startswith("Launches and host bound the 2 steps: ")
    alone = find_page("critical").build(View(view.run, view.rank, Selection("1")))[0]
    assert isinstance(alone, Note)
    assert "bound step 1: " in alone.text


def test_gaps_that_no_call_explains_say_so(view: View) -> None:
    said = [block.text for block in find_page("critical").build(view) if isinstance(block, Note)]
    assert not [text for text in said if "calls of the host" in text]
    rank = Rank(view.rank.path, None)
    vars(rank)["profile"] = make_profile(tasks=[task(0, 4_000, 2), task(9_000, 12_000, 2)])
    blocks = find_page("critical").build(View(view.run, rank))
    assert [block.text for block in blocks if isinstance(block, Note)] == [
        BOUND, "No calls of the host were recorded: what gaps between kernels waited for is not known.",
    ]  # fmt: skip


def test_genuine_runs(genuine: Run) -> None:
    """The all-reduces of the genuine steps take most of them, and the kernels on the path ran."""
    path = check(View(genuine, genuine.rank()))
    shares = dict(bounds(path).select("what", "share").iter_rows())
    inside = genuine.rank().profile.communication_ops.filter(pl.col("start_ns") < path["end_ns"].max())
    assert (shares.get("communication", 0.0) > 0.5) == (inside.height > 0)
    kernels = path.filter(pl.col("kind") == "kernel")
    known = genuine.rank().profile.tasks.with_columns((pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns"))
    assert kernels.join(known, on=["stream_id", "start_ns", "end_ns"], how="semi").height == kernels.height > 0
