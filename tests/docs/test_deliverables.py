"""
Every option on every chip: what the page says is what runs leave, and what the vendor's files look like.

The expected lines are typed from the page on the vendor's formats (cann_msprof.md 4.2 to 4.6), not from the code.
"""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

Runs = dict[str, dict[str, Any]]
pytestmark = pytest.mark.slow

CHIPS = ("310", "310P", "910", "910B (A2)", "910_93 (A3)", "950")
UNIFIED, A2_A3 = ("310", "310P", "910"), ("910B (A2)", "910_93 (A3)")

_PORT = (
    "Timestamp(us),Bandwidth(MB/s),Rx Bandwidth efficiency(%),rxPacket/s,rxError rate(%),rxDropped rate(%),"
    "Tx Bandwidth efficiency(%),txPacket/s,txError rate(%),txDropped rate(%),funcId"
)
_BUSY = "vec_ratio,mac_ratio,scalar_ratio,mte1_ratio,mte2_ratio,mte3_ratio"
_TENSORS = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats"
HEADERS = {
    "api_statistic": "Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance",
    "task_time": "kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)",
    "op_statistic": "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)",
    "step_trace": (
        "Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),FP to BP Time(us),"
        "Iteration Refresh(us),Data Aug Bound(us),Model ID,Reduce Start(us),Reduce Duration(us)"
    ),
    "fusion_op": (
        "Model Name,Model ID,Fusion Op,Original Ops,Memory Input(KB),Memory Output(KB),Memory Weight(KB),"
        "Memory Workspace(KB),Memory Total(KB)"
    ),
    "communication_statistic": "OP Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)",
    "npu_mem": "event,ddr(KB),hbm(KB),memory(KB),timestamp(us)",
    "npu_module_mem": "Component,Timestamp(us),Total Reserved(KB),Device",
    "aicpu": (
        "Timestamp(us),Node,Compute_time(us),Memcpy_time(us),Task_time(us),Dispatch_time(us),Total_time(us),"
        "Stream ID,Task ID"
    ),
    "dp": "Timestamp(us),Action,Source,Cached Buffer Size",
    "aicpu_mi": "Node Name,Start Time(us),End Time(us),Queue Size",
    "l2_cache": "Stream Id,Task Id,Hit Rate,Victim Rate,Op Name",
    "soc_pmu": "Stream Id,Task Id,TLB Hit Rate,TLB Miss Rate,Op Name",
    "llc_read_write": "Mode,Task,Hit Rate(%),Throughput(MB/s)",
    "ddr": "Metric,Read(MB/s),Write(MB/s)",
    "hbm": "Metric,Read(MB/s),Write(MB/s)",
    "nic": _PORT,
    "roce": _PORT,
    "pcie": "Mode,Min,Max,Avg",
    "hccs": "Mode,Max,Min,Average",
    "dvpp": "Dvpp Id,Engine Type,Engine ID,All Time(us),All Frame,All Utilization(%)",
    "ub": "PortId,TimeStamp,UBRxPortBandWidth(MB/s),UBTxPortBandWidth(MB/s)",
    "host_cpu_usage": "Total Cpu Numbers,Occupied Cpu Numbers,Recommend Cpu Numbers",
    "host_mem_usage": "Total Memory(KB),Peak Used Memory(KB),Recommend Memory(KB)",
    "host_disk_usage": (
        "Peak Disk Read(KB/s),Recommend Disk Read(KB/s),Peak Disk Write(KB/s),Recommend Disk Write(KB/s)"
    ),
    "host_network_usage": "Netcard Speed(KB/s),Peak Used Speed(KB/s),Recommend Speed(KB/s)",
    "cpu_usage": "Cpu Type,User(%),Sys(%),IoWait(%),Irq(%),Soft(%),Idle(%)",
    "process_cpu_usage": "PID,Name,CPU(%)",
    "sys_mem": (
        "Memory Total(kB),Memory Free(kB),Buffers(kB),Cached(kB),Share Memory(kB),Commit Limit(kB),Committed AS(kB),"
        "Huge Pages Total(pages),"
        "Huge Pages Free(pages)"
    ),
    "process_mem": "PID,Name,Size(pages),Resident(pages),Shared(pages)",
    "memory_record": "Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device",
    "operator_memory": (
        "Name,Size(KB),Allocation Time(us),Duration(us),Allocation Total Allocated(KB),"
        "Allocation Total Reserved(KB),Release Total Allocated(KB),Release Total Reserved(KB),Device"
    ),
    "static_op_mem": "Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)",
    "msprof_tx": (
        "pid,tid,category,event_type,payload_type,payload_value,Start_time(us),End_time(us),message_type,message,"
        "domain,Device Start_time(us),Device End_time(us)"
    ),
}
"""After ``Device_id``."""
_STATES = "Time(%),Time(us),Count,Avg(us),Min(us),Max(us),Waiting(us),Running(us),Pending(us)"
STATES_TASK_TIME = f"{_STATES},Type,API,Task ID,Op Name,Stream ID"
CORES = {
    ("ai_core_utilization", UNIFIED): f"{_BUSY},icache_miss_rate,memory_bound",
    ("ai_core_utilization", A2_A3): "mac_ratio,scalar_ratio,mte1_ratio,mte2_ratio,fixpipe_ratio,icache_miss_rate",
    ("ai_core_utilization", ("950",)): f"{_BUSY},fixpipe_ratio,icache_miss_rate,memory_bound",
    ("ai_vector_core_utilization", A2_A3): f"{_BUSY},icache_miss_rate,memory_bound",
    ("ai_vector_core_utilization", ("950",)): f"{_BUSY},fixpipe_ratio,icache_miss_rate,memory_bound",
}
"""After ``Device_id,Core ID``: PipeUtilization without prefixes and times (cann_msprof.md 1.8, 4.2, 4.4)."""
OP_SUMMARY = {
    False: (
        "Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),"
        f"Task Wait Time(us),Block Num,HF32 Eligible,{_TENSORS}"
    ),
    True: (
        "Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),"
        f"Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,{_TENSORS},Context ID"
    ),
}
"""By whether the chip has the STARS scheduler."""
GRAPH_OP_SUMMARY = (
    OP_SUMMARY[False].replace("Model ID,", "Model Name,Model ID,").replace("Stream ID,", "Stream ID,Infer ID,")
)
"""Older chips, where an iteration of a graph is shown."""

COUNTERS = {
    ("PipeUtilization", A2_A3): (
        "aicore_time(us),aic_total_cycles,aic_mac_time(us),aic_mac_ratio,aic_scalar_time(us),aic_scalar_ratio,"
        "aic_mte1_time(us),aic_mte1_ratio,aic_mte2_time(us),aic_mte2_ratio,aic_fixpipe_time(us),aic_fixpipe_ratio,"
        "aic_icache_miss_rate,aiv_time(us),aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio,aiv_scalar_time(us),"
        "aiv_scalar_ratio,aiv_mte2_time(us),aiv_mte2_ratio,aiv_mte3_time(us),aiv_mte3_ratio,aiv_icache_miss_rate,"
        "cube_utilization(%)"
    ),
    ("ArithmeticUtilization", A2_A3): (
        "aicore_time(us),aic_total_cycles,aic_mac_fp16_ratio,aic_mac_int8_ratio,aic_cube_fops,aiv_time(us),"
        "aiv_total_cycles,aiv_vec_fp32_ratio,aiv_vec_fp16_ratio,aiv_vec_int32_ratio,aiv_vec_misc_ratio,aiv_vector_fops"
    ),
    ("Memory", A2_A3): (
        "aicore_time(us),aic_total_cycles,aic_l1_read_bw(GB/s),aic_l1_write_bw(GB/s),aic_main_mem_read_bw(GB/s),"
        "aic_main_mem_write_bw(GB/s),aic_l2_read_bw(GB/s),aic_l2_write_bw(GB/s),aiv_time(us),aiv_total_cycles,"
        "aiv_ub_read_bw(GB/s),aiv_ub_write_bw(GB/s),aiv_main_mem_read_bw(GB/s),aiv_main_mem_write_bw(GB/s),"
        "aiv_l2_read_bw(GB/s),aiv_l2_write_bw(GB/s)"
    ),
    ("MemoryL0", A2_A3): (
        "aicore_time(us),aic_total_cycles,aic_l0a_read_bw(GB/s),aic_l0a_write_bw(GB/s),aic_l0b_read_bw(GB/s),"
        "aic_l0b_write_bw(GB/s),aic_l0c_read_bw_cube(GB/s),aic_l0c_write_bw_cube(GB/s),aiv_time(us),aiv_total_cycles,"
        "aiv_l0c_read_bw(GB/s),aiv_l0c_write_bw(GB/s)"
    ),
    ("MemoryUB", A2_A3): (
        "aicore_time(us),aic_total_cycles,aic_ub_read_bw_scalar(GB/s),aic_ub_write_bw_scalar(GB/s),aiv_time(us),"
        "aiv_total_cycles,aiv_ub_read_bw_vector(GB/s),aiv_ub_write_bw_vector(GB/s),aiv_ub_read_bw_scalar(GB/s),"
        "aiv_ub_write_bw_scalar(GB/s)"
    ),
    ("Custom:0x8,0xa", A2_A3): (
        "aicore_time(us),aic_total_cycles,aic_r8,aic_ra,aiv_time(us),aiv_total_cycles,aiv_r8,aiv_ra"
    ),
    ("Custom:0x8,0xa", UNIFIED): "aicore_time(us),total_cycles,r8,ra",
    ("ArithmeticUtilization", ("950",)): (
        "aicore_time(us),aic_total_cycles,aic_mac_fp16_ratio,aic_mac_int8_ratio,aic_cube_fops,aiv_time(us),"
        "aiv_total_cycles"
    ),
    ("L2Cache", ("950",)): (
        "aicore_time(us),aic_total_cycles,aic_read_local_l2_hit,aic_read_local_l2_miss,aic_read_local_l2_victim,"
        "aic_write_local_l2_hit,aic_write_local_l2_miss,aic_write_local_l2_victim,aiv_time(us),aiv_total_cycles,"
        "aiv_read_local_l2_hit,aiv_read_local_l2_miss,aiv_read_local_l2_victim,aiv_write_local_l2_hit,"
        "aiv_write_local_l2_miss,aiv_write_local_l2_victim"
    ),
    ("ResourceConflictRatio", A2_A3): (
        "aicore_time(us),aic_total_cycles,aiv_time(us),aiv_total_cycles,aiv_vec_bankgroup_cflt_ratio,"
        "aiv_vec_bank_cflt_ratio,aiv_vec_resc_cflt_ratio"
    ),
    ("L2Cache", A2_A3): (
        "aicore_time(us),aic_total_cycles,aic_write_cache_hit,aic_write_cache_miss_allocate,aic_r0_read_cache_hit,"
        "aic_r0_read_cache_miss_allocate,aic_r1_read_cache_hit,aic_r1_read_cache_miss_allocate,aiv_time(us),"
        "aiv_total_cycles,aiv_write_cache_hit,aiv_write_cache_miss_allocate,aiv_r0_read_cache_hit,"
        "aiv_r0_read_cache_miss_allocate,aiv_r1_read_cache_hit,aiv_r1_read_cache_miss_allocate"
    ),
    ("MemoryAccess", A2_A3): (
        "aicore_time(us),aic_total_cycles,aic_read_main_memory_datas(KB),aic_write_main_memory_datas(KB),"
        "aic_GM_to_L1_datas(KB),aic_L0C_to_L1_datas(KB),aic_L0C_to_GM_datas(KB),aic_GM_to_UB_datas(KB),"
        "aic_UB_to_GM_datas(KB),aiv_time(us),aiv_total_cycles,aiv_read_main_memory_datas(KB),"
        "aiv_write_main_memory_datas(KB),aiv_GM_to_L1_datas(KB),aiv_L0C_to_L1_datas(KB),aiv_L0C_to_GM_datas(KB),"
        "aiv_GM_to_UB_datas(KB),aiv_UB_to_GM_datas(KB)"
    ),
    ("PipeUtilization", UNIFIED): (
        "aicore_time(us),total_cycles,vec_time(us),vec_ratio,mac_time(us),mac_ratio,scalar_time(us),scalar_ratio,"
        "mte1_time(us),mte1_ratio,mte2_time(us),mte2_ratio,mte3_time(us),mte3_ratio,icache_miss_rate,memory_bound,"
        "cube_utilization(%)"
    ),
    ("ArithmeticUtilization", UNIFIED): (
        "aicore_time(us),total_cycles,mac_fp16_ratio,mac_int8_ratio,vec_fp32_ratio,vec_fp16_ratio,vec_int32_ratio,"
        "vec_misc_ratio,cube_fops,vector_fops"
    ),
    ("Memory", UNIFIED[1:]): (
        "aicore_time(us),total_cycles,ub_read_bw(GB/s),ub_write_bw(GB/s),l1_read_bw(GB/s),l1_write_bw(GB/s),"
        "main_mem_read_bw(GB/s),main_mem_write_bw(GB/s)"
    ),
    ("Memory", UNIFIED[:1]): (
        "aicore_time(us),total_cycles,ub_read_bw(GB/s),ub_write_bw(GB/s),l1_read_bw(GB/s),l1_write_bw(GB/s),"
        "l2_read_bw(GB/s),l2_write_bw(GB/s),main_mem_read_bw(GB/s),main_mem_write_bw(GB/s)"
    ),
}

LAYERS = set(
    """application|CANN|CPU Usage|Memory Usage|Network Usage|Disk Usage|OS Runtime API|Ascend Hardware|AI Core Freq
    |Communication|NPU MEM|DDR|Acc PMU|HCCS|NIC|RoCE|PCIe|HBM|Stars Soc Info|Stars Chip Trans|LLC|SIO|QoS|CCU
    |Overlap Analysis|Biu Perf|Ub|Block Detail|Fusion Task|Step Trace|AI Core Utilization""".replace(
        "\n    ", ""
    ).split("|")
)
TABLES = {  # cann_msprof.md 4.6
    "STRING_IDS",
    "SESSION_TIME_INFO",
    "NPU_INFO",
    "RANK_DEVICE_MAP",
    "HOST_INFO",
    "TASK",
    "COMPUTE_TASK_INFO",
    "COMMUNICATION_SCHEDULE_TASK_INFO",
    "COMMUNICATION_TASK_INFO",
    "COMMUNICATION_OP",
    "CANN_API",
    "NPU_MEM",
    "NPU_MODULE_MEM",
    "NPU_OP_MEM",
    "NIC",
    "ROCE",
    "HBM",
    "DDR",
    "LLC",
    "PCIE",
    "HCCS",
    "UB",
    "SIO",
    "NETDEV_STATS",
    "ACC_PMU",
    "SOC_BANDWIDTH_LEVEL",
    "QOS",
    "AICORE_FREQ",
    "TASK_PMU_INFO",
    "SAMPLE_PMU_TIMELINE",
    "SAMPLE_PMU_SUMMARY",
    "MSTX_EVENTS",
    "MEMCPY_INFO",
    "CPU_USAGE",
    "HOST_MEM_USAGE",
    "HOST_DISK_USAGE",
    "HOST_NETWORK_USAGE",
    "OSRT_API",
    "OVERLAP_ANALYSIS",
    "META_DATA",
}
JSON = {"msprof", "step_trace", "msprof_tx", "analyze/communication", "analyze/communication_matrix"}


def test_the_page_is_what_runs_leave_and_the_prediction_agrees(
    checked: tuple[subprocess.CompletedProcess[str], Runs],
) -> None:
    assert checked[0].stderr == ""
    assert checked[0].returncode == 0
    assert tuple(checked[1]) == CHIPS


@pytest.mark.parametrize("chip", CHIPS)
def test_header_lines_are_the_vendors(runs: Runs, chip: str) -> None:
    seen = set()
    for title, run in runs[chip].items():
        for stem, cells in run.get("csv", {}).items():
            header = ",".join(cells)
            expected = {f"Device_id,{HEADERS[stem]}"} if stem in HEADERS else set()
            if stem == "op_summary":
                lead = OP_SUMMARY[chip not in UNIFIED]
                expected = {f"Device_id,{text}" for text in ((lead, GRAPH_OP_SUMMARY) if chip == "310" else (lead,))}
                header = next((text for text in expected if header == text or header.startswith(f"{text},")), header)
            elif stem.endswith("core_utilization"):
                expected = {
                    f"Device_id,Core ID,{text}" for (name, on), text in CORES.items() if name == stem and chip in on
                }
            elif stem == "task_time" and chip == "310":
                expected = {f"Device_id,{STATES_TASK_TIME}"}
            elif stem == "op_statistic" and chip == "310":
                expected.add(f"Device_id,Model Name,{HEADERS[stem]}")
            assert header in expected, (title, stem)
            seen.add(stem)
    wanted = {"op_summary", "api_statistic", "step_trace", "msprof_tx", "operator_memory", "sys_mem"}
    assert {*wanted, "ai_core_utilization"} <= seen


@pytest.mark.parametrize(("group", "chips"), COUNTERS)
def test_counter_columns_are_the_vendors(runs: Runs, group: str, chips: tuple[str, ...]) -> None:
    for chip in chips:
        header = ",".join(runs[chip][f"`aic_metrics={group}`"]["csv"]["op_summary"])
        lead = f"Device_id,{OP_SUMMARY[chip not in UNIFIED]},"
        assert header == lead + COUNTERS[group, chips]


@pytest.mark.parametrize("chip", CHIPS)
def test_layers_tables_and_files_are_the_vendors(runs: Runs, chip: str) -> None:
    for run in runs[chip].values():
        assert set(run.get("layers", ())) <= LAYERS
        assert {name for name in run.get("tables", ()) if not name.startswith("ENUM_")} <= TABLES
        assert set(run.get("json", ())) <= JSON
        assert run.get("txt", []) in ([], ["README"])


@pytest.mark.parametrize(
    ("option", "chip", "files"),
    [
        ("training_trace=on", "910", {"step_trace"}),
        ("aicpu=on", "910", {"aicpu", "dp", "aicpu_mi"}),
        ("aicpu=on", "950", {"aicpu", "aicpu_mi"}),
        ("l2=on", "310P", {"l2_cache"}),
        ("msproftx=on", "910_93 (A3)", {"msprof_tx"}),
        ("task_memory=on", "310", {"static_op_mem", "memory_record", "operator_memory"}),
        ("sys_io_sampling_freq=50", "910B (A2)", {"nic", "roce"}),
        ("sys_interconnection_freq=50", "310P", {"pcie"}),
        ("host_sys_usage=mem", "910B (A2)", {"sys_mem", "process_mem"}),
    ],
)
def test_an_option_leaves_its_own_files(runs: Runs, option: str, chip: str, files: set[str]) -> None:
    assert set(runs[chip][f"`{option}`"]["csv"]) - set(runs[chip]["`output` alone"]["csv"]) == files


def test_refusals_are_those_of_the_option_reader(runs: Runs) -> None:
    (refused,) = runs["310P"]["`sys_io_sampling_freq=50`"]["refused"]
    assert refused.startswith("sys_io_sampling_freq: EK0005 sys_io_sampling_freq is not supported on Ascend310P")
    assert all("refused" in runs[chip]["`task_block=on`"] for chip in CHIPS if chip != "950")
