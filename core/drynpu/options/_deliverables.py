"""Which option leaves which deliverable."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from drynpu.options._request import ProfilingRequest
from drynpu.options._values import Activity, BlockTrace, GraphApi, HostSystem, Level, MetricGroup

__all__ = ["deliverables"]

_Row = tuple[str, Callable[[ProfilingRequest], bool], tuple[str, ...]]


def _device(request: ProfilingRequest) -> bool:
    return Activity.DEVICE in request.activities


def _tasks(request: ProfilingRequest, level: Level) -> bool:
    return _device(request) and request.level >= level


# cann_msprof.md 3. Files exist only where their data exists; PMU columns are columns, not files.
_MSPROF: tuple[_Row, ...] = (
    (
        "level",
        lambda r: _tasks(r, Level.L0),
        ("msprof_*.json", "op_summary_*.csv", "api_statistic_*.csv", "task_time_*.csv"),
    ),
    ("level", lambda r: _tasks(r, Level.L1), ("op_statistic_*.csv", "communication_statistic_*.csv")),
    ("aic_metrics", lambda r: r.aic_metrics is not MetricGroup.NONE, ("op_summary_*.csv (counter columns)",)),
    ("switches.training_trace", lambda r: r.switches.training_trace, ("step_trace_*.json", "step_trace_*.csv")),
    ("switches.runtime_api", lambda r: r.switches.runtime_api, ("api_statistic_*.csv (runtime rows)",)),
    ("switches.acl_api", lambda r: r.switches.acl_api, ("api_statistic_*.csv (AscendCL rows)",)),
    ("switches.graph_api", lambda r: r.switches.graph_api is not GraphApi.OFF, ("api_statistic_*.csv (GE rows)",)),
    (
        "switches.communication",
        lambda r: r.switches.communication,
        ("communication_statistic_*.csv", "api_statistic_*.csv (communication rows)"),
    ),
    ("switches.aicpu", lambda r: r.switches.aicpu, ("aicpu_*.csv", "dp_*.csv", "aicpu_mi_*.csv")),
    ("switches.l2_cache", lambda r: r.switches.l2_cache, ("l2_cache_*.csv", "soc_pmu_*.csv")),
    ("switches.tx", lambda r: r.switches.tx, ("msprof_tx_*.csv", "msprof_tx_*.json")),
    (
        "switches.task_memory",
        lambda r: r.switches.task_memory,
        ("memory_record_*.csv", "operator_memory_*.csv", "static_op_mem_*.csv"),
    ),
    ("switches.task_block", lambda r: r.switches.task_block is not BlockTrace.OFF, ("msprof_*.json (block rows)",)),
    ("switches.instructions", lambda r: r.switches.instructions, ("msprof_*.json (instruction rows)",)),
    (
        "sampling.hardware_memory_hz",
        lambda r: r.sampling.hardware_memory_hz is not None,
        ("hbm_*.csv", "ddr_*.csv", "llc_read_write_*.csv", "npu_mem_*.csv", "npu_module_mem_*.csv"),
    ),
    ("sampling.io_hz", lambda r: r.sampling.io_hz is not None, ("nic_*.csv", "roce_*.csv", "ub_*.csv")),
    (
        "sampling.interconnection_hz",
        lambda r: r.sampling.interconnection_hz is not None,
        ("pcie_*.csv", "hccs_*.csv", "ccu_channel_*.csv"),
    ),
    ("sampling.dvpp_hz", lambda r: r.sampling.dvpp_hz is not None, ("dvpp_*.csv",)),
    (
        "sampling.host_usage",
        lambda r: bool(r.sampling.host_usage),
        ("cpu_usage_*.csv", "process_cpu_usage_*.csv", "sys_mem_*.csv", "process_mem_*.csv"),
    ),
)

_HOST_SYSTEM_FILES = {
    HostSystem.CPU: "host_cpu_usage_*.csv",
    HostSystem.MEMORY: "host_mem_usage_*.csv",
    HostSystem.DISK: "host_disk_usage_*.csv",
    HostSystem.NETWORK: "host_network_usage_*.csv",
    HostSystem.OS_RUNTIME: "os_runtime_statistic_*.csv",
}

# torch_npu_profiler.md 3.6.
_TORCH: tuple[_Row, ...] = (
    ("activities", lambda r: Activity.HOST in r.activities, ("trace_view.json", "operator_details.csv")),
    ("activities", _device, ("trace_view.json",)),
    ("level", lambda r: _tasks(r, Level.L0), ("kernel_details.csv", "step_trace_time.csv", "task_time.csv")),
    (
        "level",
        lambda r: _tasks(r, Level.L1),
        ("op_statistic.csv", "api_statistic.csv", "communication.json", "communication_matrix.json"),
    ),
    ("level", lambda r: _tasks(r, Level.L2), ("data_preprocess.csv",)),
    (
        "aic_metrics",
        lambda r: _tasks(r, Level.L1) and r.aic_metrics is not MetricGroup.NONE,
        ("kernel_details.csv (counter columns)",),
    ),
    (
        "switches.profile_memory",
        lambda r: r.switches.profile_memory,
        ("memory_record.csv", "operator_memory.csv", "npu_module_mem.csv"),
    ),
    ("switches.l2_cache", lambda r: _device(r) and r.switches.l2_cache, ("l2_cache.csv", "soc_pmu.csv")),
    ("switches.tx", lambda r: _device(r) and r.switches.tx, ("trace_view.json (marks)",)),
    ("sampling.io_hz", lambda r: _device(r) and r.sampling.io_hz is not None, ("nic.csv", "roce.csv")),
    (
        "sampling.interconnection_hz",
        lambda r: _device(r) and r.sampling.interconnection_hz is not None,
        ("pcie.csv", "hccs.csv"),
    ),
)


def deliverables(request: ProfilingRequest, path: str, *, torch: bool) -> tuple[str, ...]:
    """
    Return the files that the option at *path* leaves with its effective value; empty when it leaves none.

    *torch* picks ``ASCEND_PROFILER_OUTPUT`` (torch_npu_profiler.md 3.6) over ``mindstudio_profiler_output``
    (cann_msprof.md 3). A file named for several options needs only one of them; none is written empty.
    """
    return tuple(dict.fromkeys(_files(request, path, torch=torch)))


def _files(request: ProfilingRequest, path: str, *, torch: bool) -> Iterator[str]:
    for option, produced, files in _TORCH if torch else _MSPROF:
        if option == path and produced(request):
            yield from files
    if path == "sampling.host_systems":
        for item in request.sampling.host_systems:
            if item in _HOST_SYSTEM_FILES:
                yield "trace_view.json (host rows)" if torch else _HOST_SYSTEM_FILES[item]
