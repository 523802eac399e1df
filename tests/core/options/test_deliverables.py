"""Option x chip -> files, against the vendor's tables (cann_msprof.md 3)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.options import (
    DELIVERABLES,
    DOCUMENTED_OPTIONS,
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
    deliverable_table,
    deliverables,
    explain,
    files_of_option,
    leaf_values,
    msprof_cli,
    profiling_options,
)
from drynpu.options.profiling_options import ChipClass

TABLE = deliverable_table()
CHIPS = ("310", "310B", "310P", "910", "A2", "A3", "950")


def device(**keywords: Any) -> ProfilingRequest:
    keywords.setdefault("activities", (Activity.DEVICE,))
    return ProfilingRequest(**keywords)


def titles(request: ProfilingRequest, chip: str = "Ascend910B2") -> set[str]:
    return {row.title for row in deliverables(request, chip)}


def files(option: str, chip: str) -> set[str] | None:
    """Return the CSV and JSON files of one cell; the stems alone."""
    cell = TABLE[option, ChipClass(chip)]
    if cell is None:
        return None
    return {row.name for row in cell if row.kind in (DeliverableKind.CSV, DeliverableKind.JSON)}


def layers(option: str, chip: str) -> set[str] | None:
    cell = TABLE[option, ChipClass(chip)]
    return None if cell is None else {row.name for row in cell if row.kind is DeliverableKind.LAYER}


# -- the table option x chip ----------------------------------------------------------------------------------------


def test_every_option_has_a_cell_for_every_chip() -> None:
    assert {chip.value for chip in ChipClass} == set(CHIPS)
    assert set(TABLE) == {(option.name, chip) for option in DOCUMENTED_OPTIONS for chip in ChipClass}
    assert len(DOCUMENTED_OPTIONS) == len({option.name for option in DOCUMENTED_OPTIONS})


@pytest.mark.parametrize(
    ("option", "lacking"),
    [
        ("l2", {"310"}),
        ("task_block", {"310", "310B", "310P", "910", "A2", "A3"}),
        ("llc_profiling", {"310"}),
        ("sys_io_sampling_freq", {"310P"}),
        ("sys_interconnection_freq", {"310", "310B"}),
        ("--instr-profiling", {"310", "310B", "310P", "910"}),
    ],
)
def test_options_that_chips_lack(option: str, lacking: set[str]) -> None:
    assert {chip for chip in CHIPS if files(option, chip) is None} == lacking


def test_all_other_options_are_for_every_chip() -> None:
    part = {option for (option, _), cell in TABLE.items() if cell is None}
    expected = {"l2", "task_block", "llc_profiling", "sys_io_sampling_freq", "sys_interconnection_freq"}
    assert part == expected | {"--instr-profiling"}


_MEMORY = {"npu_mem", "npu_module_mem"}
_CPU = {f"{cpu}_cpu_{what}" for cpu in ("ai", "ctrl") for what in ("top_function", "pmu_events")}
_TS_CPU = {"ts_cpu_top_function", "ts_cpu_pmu_events"}


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (
            "sys_hardware_mem_freq",
            {
                "310": _MEMORY | {"ddr"},
                "310B": _MEMORY | {"ddr", "llc_read_write"},
                "310P": _MEMORY | {"ddr", "llc_read_write"},
                "910": _MEMORY | {"hbm", "llc_read_write"},
                "A2": _MEMORY | {"hbm", "llc_read_write"},
                "A3": _MEMORY | {"hbm", "llc_read_write"},
                "950": _MEMORY | {"hbm", "llc_read_write"},
            },
        ),
        (
            "sys_io_sampling_freq",
            {
                "310": {"nic"},
                "310B": {"nic"},
                "310P": None,
                "910": {"nic", "roce"},
                "A2": {"nic", "roce"},
                "A3": {"nic", "roce"},
                "950": {"ub"},
            },
        ),
        (
            "sys_interconnection_freq",
            {
                "310": None,
                "310B": None,
                "310P": {"pcie"},
                "910": {"pcie", "hccs"},
                "A2": {"pcie", "hccs"},
                "A3": {"pcie", "hccs"},
                "950": {"pcie", "ccu_channel", "ub"},
            },
        ),
        (
            "l2",
            {
                "310": None,
                "310B": {"l2_cache"},
                "310P": {"l2_cache"},
                "910": {"l2_cache"},
                "A2": {"l2_cache", "soc_pmu"},
                "A3": {"l2_cache", "soc_pmu"},
                "950": {"l2_cache", "soc_pmu"},
            },
        ),
        ("aicpu", {chip: {"aicpu", "aicpu_mi"} | ({"dp"} if chip == "910" else set()) for chip in CHIPS}),
        ("dvpp_freq", {chip: set() if chip == "310P" else {"dvpp"} for chip in CHIPS}),
        (
            "--aic-mode",
            {
                chip: {"ai_core_utilization"}
                | ({"ai_vector_core_utilization"} if chip in ("310B", "A2", "A3", "950") else set())
                for chip in CHIPS
            },
        ),
        ("--sys-cpu-profiling", {chip: _CPU | (_TS_CPU if chip != "950" else set()) for chip in CHIPS}),
    ],
)
def test_files_per_chip(option: str, expected: dict[str, set[str] | None]) -> None:
    assert {chip: files(option, chip) for chip in CHIPS} == expected


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("training_trace", {"step_trace"}),
        ("runtime_api", set()),
        ("ascendcl", set()),
        ("ge_api", set()),
        ("hccl", {"communication_statistic"}),
        ("aic_metrics", set()),
        ("msproftx", {"msprof_tx"}),
        ("task_memory", {"memory_record", "operator_memory", "static_op_mem"}),
        (
            "host_sys",
            {"host_cpu_usage", "host_mem_usage", "host_disk_usage", "host_network_usage", "os_runtime_statistic"},
        ),
        ("host_sys_usage", {"cpu_usage", "process_cpu_usage", "sys_mem", "process_mem"}),
        ("host_sys_usage_freq", set()),
        ("--sys-profiling", {"cpu_usage", "sys_mem"}),
        ("--sys-pid-profiling", {"process_cpu_usage", "process_mem"}),
    ],
)
def test_files_that_are_the_same_on_every_chip(option: str, expected: set[str]) -> None:
    assert [files(option, chip) for chip in CHIPS] == [expected] * len(CHIPS)


@pytest.mark.parametrize(
    ("option", "layer", "chips"),
    [
        ("task_time", "CANN", set(CHIPS)),
        ("task_time", "Ascend Hardware", set(CHIPS)),
        ("task_time", "Communication", set(CHIPS)),
        ("task_time", "AI Core Freq", {"310B", "A2", "A3", "950"}),
        ("task_time", "Voltage Info", {"A2", "A3"}),
        ("task_time", "CCU", {"950"}),
        ("training_trace", "Step Trace", set(CHIPS)),
        ("msproftx", "application", set(CHIPS)),
        ("--aic-mode", "AI Core Utilization", set(CHIPS)),
        ("sys_hardware_mem_freq", "HBM", {"910", "A2", "A3", "950"}),
        ("sys_hardware_mem_freq", "DDR", {"310", "310B", "310P"}),
        ("sys_hardware_mem_freq", "LLC", set(CHIPS) - {"310"}),
        ("sys_hardware_mem_freq", "NPU MEM", set(CHIPS)),
        ("sys_hardware_mem_freq", "Acc PMU", {"310B", "A2", "A3"}),
        ("sys_hardware_mem_freq", "Stars Soc Info", {"310B", "A2", "A3"}),
        ("sys_hardware_mem_freq", "QoS", {"A2", "A3", "950"}),
        ("sys_io_sampling_freq", "RoCE", {"910", "A2", "A3"}),
        ("sys_io_sampling_freq", "Ub", {"950"}),
        ("sys_interconnection_freq", "SIO", {"A3", "950"}),
        ("sys_interconnection_freq", "HCCS", {"910", "A2", "A3"}),
        ("sys_interconnection_freq", "Stars Chip Trans", {"A2", "A3", "950"}),
        ("--instr-profiling", "biu_group", {"A2", "A3"}),
        ("--instr-profiling", "Biu Perf", {"950"}),
        ("task_block", "Block Detail", {"950"}),
        ("host_sys", "OS Runtime API", set(CHIPS)),
    ],
)
def test_layers_per_chip(option: str, layer: str, chips: set[str]) -> None:
    assert {chip for chip in CHIPS if layer in (layers(option, chip) or ())} == chips


def test_a_cell_holds_what_its_option_leaves_and_nothing_else() -> None:
    paths = {option.name: option.path for option in DOCUMENTED_OPTIONS}
    for (name, chip), cell in TABLE.items():
        for row in cell or ():
            assert row.option == paths[name]
            assert chip in row.chips


def test_two_options_only_say_how_others_are_sampled() -> None:
    empty = {option for (option, _), cell in TABLE.items() if cell == ()}
    assert empty == {"llc_profiling", "host_sys_usage_freq", "dvpp_freq"}
    assert [chip.value for chip in ChipClass if TABLE["dvpp_freq", chip] == ()] == ["310P"]


def test_every_deliverable_is_reached_from_some_cell() -> None:
    reached = {row for cell in TABLE.values() for row in cell or ()}
    assert reached == set(DELIVERABLES)


# The rows of the seed's Table 1; HCCL is Communication and hccl_statistic communication_statistic in CANN 8.x.
_SEED = {
    "task_time": {
        "msprof_*.json (CANN)",
        "api_statistic_*.csv",
        "msprof_*.json (Ascend Hardware)",
        "task_time_*.csv",
        "msprof_*.json (Communication)",
        "communication_statistic_*.csv",
        "op_summary_*.csv",
        "op_statistic_*.csv",
        "fusion_op_*.csv",
    },
    "training_trace": {"step_trace_*.json"},
    "runtime_api": {"api_statistic_*.csv (runtime rows)"},
    "hccl": {"msprof_*.json (Communication)", "communication_statistic_*.csv"},
    "aicpu": {"aicpu_*.csv", "dp_*.csv"},
    "aic_metrics": {"op_summary_*.csv (counter columns)"},
    "l2": {"l2_cache_*.csv"},
    "msproftx": {"msprof_tx_*.csv", "msprof_tx_*.json"},
    "sys_hardware_mem_freq": {
        "hbm_*.csv",
        "msprof_*.json (LLC)",
        "llc_read_write_*.csv",
        "msprof_*.json (NPU MEM)",
        "npu_mem_*.csv",
        "npu_module_mem_*.csv",
    },
    "sys_io_sampling_freq": {
        "msprof_*.json (NIC)",
        "nic_*.csv",
        "msprof_*.json (RoCE)",
        "roce_*.csv",
    },
    "sys_interconnection_freq": {
        "msprof_*.json (PCIe)",
        "pcie_*.csv",
        "msprof_*.json (HCCS)",
        "hccs_*.csv",
    },
    "dvpp_freq": {"dvpp_*.csv"},
    "host_sys": {
        "msprof_*.json (CPU Usage)",
        "host_cpu_usage_*.csv",
        "msprof_*.json (Memory Usage)",
        "host_mem_usage_*.csv",
    },
    "host_sys_usage": {"cpu_usage_*.csv", "process_cpu_usage_*.csv", "sys_mem_*.csv", "process_mem_*.csv"},
}


@pytest.mark.parametrize("option", sorted(_SEED))
def test_seed_table_is_within_the_column_of_the_910(option: str) -> None:
    cell = TABLE[option, ChipClass.ASCEND_910]
    assert cell is not None
    assert _SEED[option] <= {row.title for row in cell}


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
        return Deliverable(option="level", chips=frozenset(), when=lambda _: True, **keywords)

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


def test_explain_for_a_chip_names_its_files_only() -> None:
    parsed = msprof_cli.parse(
        {"output": "/o", "sys-io-profiling": "on"}, application=["./a"], chip="950", environ={}, cwd="/"
    )
    (row,) = [row for row in explain(parsed, chip="Ascend950PR") if row.path == "sampling.io_hz"]
    assert row.option == "--sys-io-sampling-freq"
    assert row.files == ("ub_*.csv",)
    with pytest.raises(OptionError):
        explain(parsed, chip="nope")


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
    assert set(found) <= set(DELIVERABLES)
    assert len(found) == len(set(found))
    assert all(ChipClass(chip) in row.chips for row in found)
    paths = leaf_values(request)
    assert {row.option for row in found} <= set(paths)
    has_db = any(row.kind is DeliverableKind.DB for row in found)
    assert has_db or not found
    if request.output.export == (ExportType.DB,):
        assert all(row.kind is DeliverableKind.DB for row in found)
    for path in paths:
        named = files_of_option(request, path, torch=False, chip=chip)
        assert set(named) <= {row.title for row in found if row.option == path}
