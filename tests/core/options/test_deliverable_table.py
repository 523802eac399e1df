"""The table option x chip -> files, against the vendor's tables (cann_msprof.md 3)."""

from __future__ import annotations

import pytest
from attrs import frozen

from drynpu._errors import OptionError
from drynpu.options import (
    Deliverable,
    DeliverableKind,
    Parsed,
    acl_json,
    deliverables,
    known_deliverables,
    msprof_cli,
    profiling_options,
)
from drynpu.platforms import known_series

CHIPS = ("310", "310B", "310P", "910", "A2", "A3", "950")


@frozen
class Documented:
    """An option of cann_msprof.md 3 with a document that turns it on, and as little else as its dialect allows."""

    path: str
    document: dict[str, object]
    dialect: str = "profiling_options"

    def parse(self, chip: str) -> Parsed:
        document = {**self.document, "output": "/tmp"}
        if self.dialect == "msprof_cli":
            flags = {name: str(text) for name, text in document.items()}
            return msprof_cli.parse(flags, chip=chip, environ={}, cwd="/tmp", require_target=False)
        if self.dialect == "acl_json":
            return acl_json.parse({"switch": "on", **document}, chip=chip, environ={}, cwd="/tmp")
        return profiling_options.parse(document, chip=chip, environ={}, cwd="/tmp")

    def deliverables(self, chip: str) -> tuple[Deliverable, ...] | None:
        """Return what it leaves on *chip*; ``None`` when the chip does not have it."""
        try:
            request = self.parse(chip).request
        except OptionError:
            return None
        return tuple(row for row in deliverables(request, chip) if row.option == self.path)


def flag(path: str, **flags: str) -> Documented:
    return Documented(path, {name.replace("_", "-"): text for name, text in flags.items()}, "msprof_cli")


# ``--type`` stands for what is always there; two options only say how others are sampled and leave nothing themselves.
DOCUMENTED = {
    "task_time": Documented("level", {"task_time": "l1"}),
    "training_trace": Documented("switches.training_trace", {"training_trace": "on"}),
    "runtime_api": Documented("switches.runtime_api", {"runtime_api": "on"}),
    "ascendcl": Documented("switches.acl_api", {"ascendcl": "on"}, "acl_json"),
    "ge_api": Documented("switches.graph_api", {"ge_api": "l1"}),
    "hccl": Documented("switches.communication", {"hccl": "on"}),
    "aicpu": Documented("switches.aicpu", {"aicpu": "on"}),
    "aic_metrics": Documented("aic_metrics", {"aic_metrics": "PipeUtilization"}),
    "--aic-mode": flag("sampling.ai_core_hz", aic_mode="sample-based"),
    "l2": Documented("switches.l2_cache", {"l2": "on"}),
    "msproftx": Documented("switches.tx", {"msproftx": "on"}),
    "task_memory": Documented("switches.task_memory", {"task_memory": "on"}),
    "task_block": Documented("switches.task_block", {"task_block": "on"}),
    "sys_hardware_mem_freq": Documented("sampling.hardware_memory_hz", {"sys_hardware_mem_freq": 50}),
    "llc_profiling": Documented("sampling.llc", {"llc_profiling": "read", "sys_hardware_mem_freq": 50}),
    "sys_io_sampling_freq": Documented("sampling.io_hz", {"sys_io_sampling_freq": 100}),
    "sys_interconnection_freq": Documented("sampling.interconnection_hz", {"sys_interconnection_freq": 50}),
    "dvpp_freq": Documented("sampling.dvpp_hz", {"dvpp_freq": 50}),
    "--instr-profiling": flag("switches.instructions", instr_profiling="on"),
    "host_sys": Documented("sampling.host_systems", {"host_sys": "cpu,mem,disk,network,osrt"}),
    "host_sys_usage": Documented("sampling.host_usage", {"host_sys_usage": "cpu,mem"}),
    "host_sys_usage_freq": Documented(
        "sampling.host_usage_hz", {"host_sys_usage_freq": 50, "host_sys_usage": "cpu,mem"}
    ),
    "--sys-profiling": flag("sampling.device_system_hz", sys_profiling="on"),
    "--sys-pid-profiling": flag("sampling.device_process_hz", sys_pid_profiling="on"),
    "--sys-cpu-profiling": flag("sampling.cpu_hz", sys_cpu_profiling="on"),
    "--type": flag("output.export", type="text"),
}
SOCS = ("Ascend310", "Ascend310B", "Ascend310P3", "Ascend910A", "Ascend910B2", "Ascend910_9391", "Ascend950PR")
TABLE = {
    (name, chip): option.deliverables(soc)
    for name, option in DOCUMENTED.items()
    for chip, soc in zip(CHIPS, SOCS, strict=True)
}


def files(option: str, chip: str) -> set[str] | None:
    """Return the CSV and JSON files of one cell; the stems alone."""
    cell = TABLE[option, chip]
    if cell is None:
        return None
    return {row.name for row in cell if row.kind in (DeliverableKind.CSV, DeliverableKind.JSON)}


def layers(option: str, chip: str) -> set[str] | None:
    cell = TABLE[option, chip]
    return None if cell is None else {row.name for row in cell if row.kind is DeliverableKind.LAYER}


# -- the table option x chip ----------------------------------------------------------------------------------------


def test_every_option_has_a_cell_for_every_chip() -> None:
    assert set(known_series()) == set(CHIPS)


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
                "310": {"npu_mem", "ddr"},
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
    for (name, chip), cell in TABLE.items():
        for row in cell or ():
            assert row.option == DOCUMENTED[name].path
            assert chip in row.chips


def test_two_options_only_say_how_others_are_sampled() -> None:
    empty = {option for (option, _), cell in TABLE.items() if cell == ()}
    assert empty == {"llc_profiling", "host_sys_usage_freq", "dvpp_freq"}
    assert [chip for chip in known_series() if TABLE["dvpp_freq", chip] == ()] == ["310P"]


def test_every_deliverable_is_reached_from_some_cell() -> None:
    reached = {row for cell in TABLE.values() for row in cell or ()}
    assert reached == set(known_deliverables())


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
    cell = TABLE[option, "910"]
    assert cell is not None
    assert _SEED[option] <= {row.title for row in cell}
