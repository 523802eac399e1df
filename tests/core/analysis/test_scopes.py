"""The scopes of operators and tasks (mindspore_profiler.md 12.5), against bars worked out by hand."""

from __future__ import annotations

import polars as pl
from attrs import evolve

from drynpu.analysis._scopes import scope_bars
from drynpu.analysis.launches import MINDSPORE_LAUNCHES

from .conftest import make_profile, table


def test_a_bar_ends_with_its_last_operator_and_a_task_lies_in_the_deeper_scope_of_name_and_launch() -> None:
    profile = make_profile(
        tasks=[
            {"start_ns": 100, "duration_ns": 30, "kernel_name": "Default/net/Add-op1", "stream_id": 2},
            {"start_ns": 140, "duration_ns": 15, "kernel_name": "Default/x", "stream_id": 2},
            {"start_ns": 170, "duration_ns": 9, "kernel_type": "Gradients/loss/Sum-op5", "stream_id": 2},
            {"start_ns": 190, "duration_ns": 5, "kernel_type": "EVENT_RECORD", "stream_id": 2},
        ]
    )
    cpu = profile.frame("host_cpu_ops").schema
    host = [{"name": "Default/data/Get-op7", "start_ns": 20, "duration_ns": 6}, {"name": "Print", "start_ns": 40}]
    profile = evolve(profile, group_tables={**profile.group_tables, "host_cpu_ops": table(cpu, host)})
    launch = {"stream_id": 2, "start_ns": 140, "launch": "Runtime::Launch::Default/net/conv/Mul-op3"}
    bars = scope_bars(profile, table(MINDSPORE_LAUNCHES, [launch]))
    assert bars.rows() == [
        ("Default", 0, 20, 155),
        ("Gradients", 0, 170, 179),
        ("data", 1, 20, 26),
        ("net", 1, 100, 155),
        ("loss", 1, 170, 179),
        ("conv", 2, 140, 155),
    ]
    collective = table(MINDSPORE_LAUNCHES, [{**launch, "is_communication": True}])
    assert scope_bars(profile, collective).filter(pl.col("name") == "conv").is_empty()
