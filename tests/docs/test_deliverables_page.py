"""
The page of deliverables, read by a reader of its own, against what runs left and against the vendor's table.

The expected files and layers are typed from cann_msprof.md 1.3 and 3.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "deliverables.md"
DEFAULT, TOGETHER = "`output` alone", "all that the chip takes, together"
ALL = ("310", "310P", "910", "910B (A2)", "910_93 (A3)", "950")
A2_A3, HBM = ALL[3:5], ALL[2:]

Runs = dict[str, dict[str, Any]]
Cells = dict[str, dict[str, list[str]]]

EXPECTED: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("training_trace=on", ALL, "step_trace", "Step Trace"),
    ("aicpu=on", ("910",), "aicpu,dp,aicpu_mi", ""),
    ("aicpu=on", (*ALL[:2], *ALL[3:]), "aicpu,aicpu_mi", ""),
    ("l2=on", ALL[1:], "l2_cache", ""),
    ("msproftx=on", ALL, "msprof_tx", "application"),
    ("task_memory=on", ALL, "memory_record,operator_memory,static_op_mem", ""),
    ("sys_hardware_mem_freq=50", ("310",), "npu_mem,ddr", "NPU MEM,DDR"),
    ("sys_hardware_mem_freq=50", ("310P",), "npu_mem,npu_module_mem,ddr,llc_read_write", "NPU MEM,DDR,LLC"),
    ("sys_hardware_mem_freq=50", HBM, "npu_mem,npu_module_mem,hbm,llc_read_write", "NPU MEM,HBM,LLC"),
    ("sys_io_sampling_freq=50", ("910", *A2_A3), "nic,roce", "NIC,RoCE"),
    ("sys_interconnection_freq=50", ("310P", "950"), "pcie", "PCIe"),
    ("sys_interconnection_freq=50", ("910", "910B (A2)"), "pcie,hccs", "PCIe,HCCS"),
    ("sys_interconnection_freq=50", ("910_93 (A3)",), "pcie,hccs", "PCIe,HCCS,SIO"),
    ("host_sys=cpu", ALL, "host_cpu_usage", "CPU Usage"),
    ("host_sys=mem", ALL, "host_mem_usage", "Memory Usage"),
    ("host_sys_usage=cpu", ALL, "cpu_usage,process_cpu_usage", ""),
    ("host_sys_usage=mem", ALL, "sys_mem,process_mem", ""),
)
NOT_SIMULATED = {  # what the vendor's table has besides
    ("l2=on", ALL[3:]): {"soc_pmu"},
    ("sys_hardware_mem_freq=50", A2_A3): {"Acc PMU", "Stars Soc Info", "QoS"},
    ("sys_hardware_mem_freq=50", ("950",)): {"QoS"},
    ("sys_io_sampling_freq=50", ("950",)): {"ub", "Ub"},
    ("sys_interconnection_freq=50", A2_A3): {"Stars Chip Trans"},
    ("sys_interconnection_freq=50", ("950",)): {"Stars Chip Trans", "SIO", "ccu_channel", "ub", "Ub"},
    ("dvpp_freq=50", ("310", *HBM)): {"dvpp"},
    ("host_sys=osrt", ALL): {"os_runtime_statistic", "OS Runtime API"},
}
KEYS = {  # cann_msprof.md 1.3
    "output", "storage_limit", "training_trace", "task_trace", "task_time", "ge_api", "hccl", "aicpu", "fp_point",
    "bp_point", "aic_metrics", "l2", "msproftx", "runtime_api", "task_memory", "task_tsfw", "task_block",
    "sys_hardware_mem_freq", "sys_mem_serviceflow", "llc_profiling", "sys_io_sampling_freq",
    "sys_interconnection_freq", "sys_cpu_freq", "dvpp_freq", "instr_profiling", "instr_profiling_freq", "host_sys",
    "host_sys_usage", "host_sys_usage_freq", "sys_lp_freq", "optype",
}  # fmt: skip


@pytest.fixture(scope="module")
def cells() -> Cells:
    """The committed page: option -> chip -> lines of the cell."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    heads = rows[0][1:]
    assert tuple(heads) == ALL
    return {title: dict(zip(heads, (text.split("<br>") for text in own), strict=True)) for title, *own in rows[2:]}


def listed(lines: list[str], lead: str) -> set[str]:
    """What the line that starts with *lead* lists; files are the line of names in backquotes alone."""
    (text,) = [line[len(lead) :] for line in lines if line.startswith(lead) and ("[" not in line or lead)] or [""]
    return set(re.sub(r"`| \[\d+\]", "", text).split(", ")) - {""}


def files(lines: list[str]) -> set[str]:
    own = [line for line in lines if re.fullmatch(r"`\w+`(, `\w+`)*", line)]
    return listed(own, "") if own else set()


def absent(lines: list[str]) -> set[str]:
    return {name for line in lines if line.startswith("not ") for name in listed([line], "not ")}


def of_host(name: str) -> bool:
    return re.search("network|disk", name, re.IGNORECASE) is not None


def base_of(title: str) -> str:
    if title in ("acl.json `output` alone", "msprof `--output` alone"):
        return DEFAULT
    return {"acl": "acl.json `output` alone", "msp": "msprof `--output` alone"}.get(title[:3], DEFAULT)


@pytest.mark.parametrize("chip", ALL)
def test_every_cell_says_what_its_run_left(cells: Cells, runs: Runs, chip: str) -> None:
    assert set(cells) == set(runs[chip])
    for title, run in runs[chip].items():
        lines = cells[title][chip]
        assert lines[0].startswith("refused ") == ("refused" in run), title
        if "refused" in run:
            continue
        base = {} if title == DEFAULT else runs[chip][base_of(title)]
        for lead, key in (("", "csv"), ("json: ", "json"), ("layers: ", "layers"), ("db: ", "tables")):
            new = {name for name in set(run[key]) - set(base.get(key, ())) if not name.startswith("ENUM_")}
            shown = listed(lines, lead) if lead else files(lines)
            assert shown == {name for name in new if not of_host(name)}, (title, lead)
        gone = set(base.get("csv", ())) - set(run["csv"])
        without = [line.removeprefix("without ") for line in lines if re.match("without (`|all)", line)]
        assert without == ([] if not gone else ["all"]) or listed(without, "") == gone, title


@pytest.mark.parametrize(("option", "chips", "csv", "layers"), EXPECTED)
def test_an_option_leaves_what_the_vendors_does(
    cells: Cells, option: str, chips: tuple[str, ...], csv: str, layers: str
) -> None:
    for chip in chips:
        lines = cells[f"`{option}`"][chip]
        assert files(lines) == set(csv.split(","))
        assert listed(lines, "layers: ") == set(layers.split(",")) - {""}


@pytest.mark.parametrize(("option", "chips"), NOT_SIMULATED)
def test_what_is_not_simulated_is_named_with_its_reason(cells: Cells, option: str, chips: tuple[str, ...]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for chip in chips:
        lines = cells[f"`{option}`"][chip]
        assert absent(lines) == NOT_SIMULATED[option, chips]
        for line in lines:
            for number in re.findall(r"\[(\d+)\]", line):
                assert re.search(rf"^{number}\. \w", text, re.MULTILINE)


def test_frequency_and_analyses_come_with_the_tasks(cells: Cells) -> None:
    always = {"op_summary", "api_statistic", "task_time", "op_statistic", "communication_statistic", "fusion_op"}
    layers = {"CANN", "Ascend Hardware", "Communication", "Overlap Analysis"}
    for chip, lines in cells[DEFAULT].items():
        assert files(lines) == always
        assert listed(lines, "layers: ") == layers | ({"AI Core Freq"} if chip in A2_A3 else set())
        assert absent(lines) == (
            {"Voltage Info"}
            if chip in A2_A3
            else {"AI Core Freq", "Fusion Task", "ccu_mission", "CCU"}
            if chip == "950"
            else set()
        )
        assert {"op_statistic", "communication_statistic"} == listed(
            [line for line in cells["`task_time=l0`"][chip] if line.startswith("without `")], "without "
        )


@pytest.mark.parametrize("chip", ALL)
def test_options_do_not_take_anything_from_each_other(runs: Runs, chip: str) -> None:
    """All together leave what each of them leaves alone."""
    together, alone = runs[chip][TOGETHER], runs[chip]
    single = [f"`{option}`" for option, chips, _, _ in EXPECTED if chip in chips]
    for key in ("csv", "layers", "tables"):
        parts = {name for title in single for name in alone[title][key]}
        counters = {"TASK_PMU_INFO"} if key == "tables" and chip in (*A2_A3, "950") else set()
        assert {name for name in together[key] if not of_host(name)} == parts | counters
    # The 310 shows the iterations of a graph, once it traces them.
    header = [name for name in together["csv"]["op_summary"] if name not in ("Model Name", "Infer ID")]
    assert header == alone["`aic_metrics=PipeUtilization`"]["csv"]["op_summary"]


def test_every_key_has_a_row_or_is_said_to_leave_nothing(cells: Cells) -> None:
    text = PAGE.read_text(encoding="utf-8").split("| option |")[0]
    rows = {key for title in cells for key in re.findall(r"`(\w+)[=`]", title)}
    assert rows | set(re.findall(r"`(\w+)`", text)) >= KEYS
    assert {"storage_limit", "fp_point", "bp_point", "optype", "host_sys_usage_freq"} == KEYS - rows


def test_the_header_lines_of_the_page_are_those_of_the_runs(runs: Runs) -> None:
    section = PAGE.read_text(encoding="utf-8").split("## Header lines")[1].split("## Counter columns")[0]
    shown = re.findall(r"^- `(\w+)`(?: \((.*)\))?: `(.*)`$", section, re.MULTILINE)
    for stem, where, header in shown:
        split = re.findall(r"(?:^|, )([^,]+)", where) or [chip for chip in ALL if _headers(runs[chip], stem)]
        for chip in split:
            assert any(own == header or own.startswith(f"{header},") for own in _headers(runs[chip], stem)), stem
    every = {stem for run in runs.values() for cell in run.values() for stem in cell.get("csv", {})}
    assert {stem for stem, _, _ in shown} == {stem for stem in every if not of_host(stem)}


def _headers(run: dict[str, Any], stem: str) -> set[str]:
    return {",".join(cell["csv"][stem]) for cell in run.values() if stem in cell.get("csv", {})}
