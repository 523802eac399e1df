"""
What comes first is known like everything else: a recording with one operator, one with one collective.

Rows count from 0 and -1 is none, so that the first row of every table is the one that is lost where both are mixed up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from drynpu.analysis import link_operators, operator_memory
from drynpu.options import Activity, Level, MetricGroup, ProfilingRequest, Switches
from drynpu.platforms import load_chip
from drynpu.recorder import Outcome
from drynpu.simulate import Collective
from drynpu.tables import Profile

CHIPS = ("310P3", "910A", "910B2", "910_93", "950PR")
COUNTED = ProfilingRequest(
    level=Level.L1,
    activities=(Activity.HOST, Activity.DEVICE),
    aic_metrics=MetricGroup.PIPE_UTILIZATION,
    switches=Switches(record_shapes=True, profile_memory=True, communication=True),
)


@pytest.fixture
def single(tools: Any, write: Callable[..., Outcome]) -> Callable[..., Profile]:
    """Return a function that records one operator, and reads what was written."""

    def make(chip: str = "910B2", name: str = "add", **recording: Any) -> Profile:
        table = tools.operators([tools.Row(name, 0, 50_000)])
        where = load_chip(f"Ascend{chip}")
        return tools.read(write(table, name=f"{name}_{chip}", chip=where, request=COUNTED, **recording))

    return make


@pytest.mark.parametrize("chip", CHIPS)
def test_the_only_kernel_is_named_described_counted_and_launched_by_the_only_operator(
    single: Callable[..., Profile], chip: str
) -> None:
    profile = single(chip)
    (kernel,) = profile.kernels.to_dicts()
    assert (kernel["name"], kernel["op_type"]) == ("aclnnAdd_Add", "Add")
    assert kernel["input_shapes"].strip('"') == "256,512"
    assert kernel["block_num"] > 0
    assert kernel["duration_ns"] > 0
    assert any(kernel[name] is not None for name in profile.pmu_columns)
    (task,) = profile.tasks.filter(pl.col("kernel_name") != "").to_dicts()
    assert (task["kernel_name"], task["start_ns"]) == ("aclnnAdd_Add", kernel["start_ns"])
    (link,) = link_operators(profile).kernel_op.to_dicts()
    assert (link["op_id"], link["op_start_ns"]) == (0, profile.host_ops["start_ns"][0])
    assert link["connection_id"] == kernel["connection_id"] >= 0
    calls = profile.api.filter(pl.col("connection_id") == kernel["connection_id"])
    assert "launch" in calls["name"].to_list()
    assert kernel["node_start_ns"] == calls.filter(pl.col("name") == "launch")["start_ns"][0]


def test_the_only_allocation_is_the_only_operators(tools: Any, single: Callable[..., Profile]) -> None:
    profile = single(allocations=tools.allocations([(10_000, 1 << 20, 4096)]))
    (row,) = operator_memory(profile).to_dicts()
    assert row["size_bytes"] == 4096 + 32 - (4096 + 32) % 512 + 512
    assert row["name"] == profile.host_ops["name"][0]


@pytest.mark.parametrize("chip", ["910A", "910B2", "950PR"])
def test_the_only_collective_has_its_group_its_tasks_and_its_call(
    tools: Any, write: Callable[..., Outcome], chip: str
) -> None:
    only = Collective(
        kind="allReduce", start_ns=tools.begin_ns + 1000, thread=tools.pid, group="tp", ranks=(0, 1), rank=1,
        size_bytes=1 << 20, dtype="FLOAT16", count=1 << 19,
    )  # fmt: skip
    where = load_chip(f"Ascend{chip}")
    outcome = write(tools.operators([tools.Row("view", 0, 500)]), collectives=(only,), chip=where, request=COUNTED)
    profile = tools.read(outcome)
    (operation,) = profile.communication_ops.to_dicts()
    assert operation["name"].startswith("hcom_allReduce__")
    assert operation["connection_id"] >= 0
    assert operation["duration_ns"] > 0
    tasks = profile.frame("communication_tasks")
    assert tasks.height > 0
    assert set(tasks["connection_id"]) == {operation["connection_id"]}
    assert set(tasks["group"]) == {operation["group"]}
    assert int(tasks["start_ns"].min()) >= operation["start_ns"]  # type: ignore[arg-type]
    calls = profile.api.filter(pl.col("connection_id") == operation["connection_id"])
    assert calls.height > 0
    assert profile.kernels.filter(pl.col("name").str.contains("hcom")).is_empty()
