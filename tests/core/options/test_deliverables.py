"""What a request leaves on a chip, against the vendor's tables (cann_msprof.md 3)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.options import (
    Activity,
    BlockTrace,
    Deliverable,
    DeliverableKind,
    ExportType,
    GraphApi,
    HostSystem,
    HostUsage,
    Level,
    MetricGroup,
    Needs,
    Output,
    ProfilingRequest,
    Sampling,
    Switches,
    deliverables,
    files_of_option,
    known_deliverables,
    leaf_values,
    profiling_options,
)

CHIPS = ("310", "310B", "310P", "910", "A2", "A3", "950")


def device(**keywords: Any) -> ProfilingRequest:
    keywords.setdefault("activities", (Activity.DEVICE,))
    return ProfilingRequest(**keywords)


def titles(request: ProfilingRequest, chip: str = "Ascend910B2") -> set[str]:
    return {row.title for row in deliverables(request, chip)}


# -- what a request leaves ------------------------------------------------------------------------------------------


def test_low_levels_name_no_operators() -> None:
    at_l1 = titles(device(level=Level.L1))
    at_l0 = titles(device(level=Level.L0))
    assert at_l1 - at_l0 == {
        "op_statistic_*.csv",
        "communication_statistic_*.csv",
        "op_summary_*.csv (counter columns)",
    }
    assert {"op_summary_*.csv", "task_time_*.csv", "api_statistic_*.csv"} <= at_l0
    at_none = titles(device(level=Level.NONE))
    calls = {"api_statistic_*.csv (AscendCL rows)", "msprof_*.json (CANN)", "msprof_*.json"}
    assert at_none == {*calls, "msprof_*.db", "README.txt"}


def test_without_counters_or_with_counters_by_time() -> None:
    columns = "op_summary_*.csv (counter columns)"
    assert columns in titles(device())
    assert columns not in titles(device(aic_metrics=MetricGroup.NONE))
    by_time = titles(device(sampling=Sampling(ai_core_hz=10)))
    assert columns not in by_time
    assert {"ai_core_utilization_*.csv", "ai_vector_core_utilization_*.csv"} <= by_time
    none = titles(device(aic_metrics=MetricGroup.NONE, sampling=Sampling(ai_core_hz=10)))
    assert "ai_core_utilization_*.csv" not in none
    at_l0 = titles(device(level=Level.L0, sampling=Sampling(ai_core_hz=10)))
    assert "ai_core_utilization_*.csv" not in at_l0


def test_export_of_the_database_alone() -> None:
    everything = profiling_options.parse(
        {"output": "/o", "l2": "on", "sys_io_sampling_freq": 10, "host_sys": "cpu"}, environ={}, cwd="/"
    ).request
    assert len(titles(everything)) > 10
    as_db = ProfilingRequest(
        level=everything.level, switches=everything.switches, output=Output(export=(ExportType.DB,))
    )
    assert titles(as_db) == {"msprof_*.db"}
    nothing = device(level=Level.NONE, switches=Switches(acl_api=False))
    assert titles(nothing) == set()


def test_communication_by_name_names_statistics_from_l1() -> None:
    def named(level: Level) -> list[str]:
        request = device(level=level, switches=Switches(communication=True))
        return [row.title for row in deliverables(request, "A2") if row.option == "switches.communication"]

    timeline = "msprof_*.json (Communication)"
    assert named(Level.L0) == [timeline]
    assert named(Level.L1) == [
        "communication_statistic_*.csv",
        "api_statistic_*.csv (communication rows)",
        timeline,
    ]


def test_needs_say_why_a_file_may_be_missing() -> None:
    request = device(switches=Switches(tx=True, aicpu=True, training_trace=True, task_memory=True))
    needs = {row.title: row.needs for row in deliverables(request, "Ascend910A") if row.option.startswith("switches")}
    assert needs["msprof_tx_*.csv"] is Needs.MARKS
    assert needs["aicpu_*.csv"] is Needs.AICPU
    assert needs["dp_*.csv"] is Needs.PREPROCESSING
    assert needs["aicpu_mi_*.csv"] is Needs.DATA_QUEUE
    assert needs["step_trace_*.csv"] is Needs.ITERATIONS
    assert needs["memory_record_*.csv"] is Needs.OPERATOR_MEMORY
    assert needs["static_op_mem_*.csv"] is Needs.STATIC_GRAPH


def test_files_and_titles() -> None:
    def one(**keywords: Any) -> Deliverable:
        return Deliverable(option="level", chips=frozenset(), **keywords)

    assert one(kind=DeliverableKind.CSV, name="nic").title == "nic_*.csv"
    assert one(kind=DeliverableKind.LAYER, name="NIC").title == "msprof_*.json (NIC)"
    assert one(kind=DeliverableKind.ROWS, name="api_statistic", detail="GE rows").title == (
        "api_statistic_*.csv (GE rows)"
    )
    assert one(kind=DeliverableKind.TEXT, name="README").title == "README.txt"
    assert one(kind=DeliverableKind.DB, name="msprof").title == "msprof_*.db"


def test_the_same_chip_by_every_name() -> None:
    request = device(sampling=Sampling(interconnection_hz=10))
    for names in (("0",), ("1", "Ascend910A", "910"), ("5", "Ascend910B2", "A2"), ("A3", "Ascend910_9391")):
        assert len({tuple(deliverables(request, name)) for name in names}) == 1
    assert "msprof_*.json (SIO)" in titles(request, "Ascend910_9391")
    assert "msprof_*.json (SIO)" not in titles(request, "Ascend910B2")


def test_unknown_chip() -> None:
    with pytest.raises(OptionError) as caught:
        deliverables(ProfilingRequest(), "Ascend999")
    assert len(caught.value.problems) == 1
    assert "Ascend999" in caught.value.problems[0]


def test_files_of_one_option() -> None:
    request = device(sampling=Sampling(io_hz=10, low_power_hz=10), switches=Switches(runtime_api=True))
    assert files_of_option(request, "sampling.io_hz", torch=False) == ("nic_*.csv", "roce_*.csv", "ub_*.csv")
    assert files_of_option(request, "sampling.io_hz", torch=False, chip="950") == ("ub_*.csv",)
    assert files_of_option(request, "sampling.io_hz", torch=False, chip="310P") == ()
    assert files_of_option(request, "switches.runtime_api", torch=False) == ("api_statistic_*.csv (runtime rows)",)
    memory = device(sampling=Sampling(hardware_memory_hz=10))
    assert "msprof_*.json (QoS)" not in files_of_option(memory, "sampling.hardware_memory_hz", torch=False)
    traced = device(switches=Switches(task_block=BlockTrace.ALL))
    assert files_of_option(traced, "switches.task_block", torch=False) == ("msprof_*.json (Block Detail)",)


# -- any request ----------------------------------------------------------------------------------------------------

REQUESTS = st.builds(
    ProfilingRequest,
    level=st.sampled_from(Level),
    activities=st.lists(st.sampled_from(Activity), min_size=1),
    aic_metrics=st.sampled_from(MetricGroup),
    switches=st.builds(
        Switches,
        l2_cache=st.booleans(),
        tx=st.booleans(),
        acl_api=st.booleans(),
        communication=st.booleans(),
        instructions=st.booleans(),
        graph_api=st.sampled_from(GraphApi),
        task_block=st.sampled_from(BlockTrace),
    ),
    sampling=st.builds(
        Sampling,
        hardware_memory_hz=st.none() | st.integers(1, 10_000),
        io_hz=st.none() | st.integers(1, 100),
        interconnection_hz=st.none() | st.integers(1, 50),
        ai_core_hz=st.none() | st.integers(1, 100),
        host_systems=st.lists(st.sampled_from(HostSystem)),
        host_usage=st.lists(st.sampled_from(HostUsage)),
    ),
    output=st.builds(Output, export=st.lists(st.sampled_from(ExportType), min_size=1)),
)


@given(REQUESTS, st.sampled_from(CHIPS))
def test_any_request_on_any_chip(request: ProfilingRequest, chip: str) -> None:
    found = deliverables(request, chip)
    assert set(found) <= set(known_deliverables())
    assert len(found) == len(set(found))
    assert all(chip in row.chips for row in found)
    paths = leaf_values(request)
    assert {row.option for row in found} <= set(paths)
    has_db = any(row.kind is DeliverableKind.DB for row in found)
    assert has_db or not found
    if request.output.export == (ExportType.DB,):
        assert all(row.kind is DeliverableKind.DB for row in found)
    for path in paths:
        named = files_of_option(request, path, torch=False, chip=chip)
        assert set(named) <= {row.title for row in found if row.option == path}
